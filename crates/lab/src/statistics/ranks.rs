//! Tests by ranks, which assume nothing of how a figure is distributed.
//!
//! They are exact: the share of all arrangements that are at least as uneven is counted, not
//! approximated, so that with few rounds they never cry wolf more often than they say.

/// Share by which the same step, up and down, may differ as its logarithm is taken.
const ALIKE: f64 = 1e-9;

/// Chance that paired rounds without any difference give log ratios at least as one-sided as
/// these (Wilcoxon's signed rank test, two-sided). A ratio of zero or without end is the largest of
/// steps. Steps of one size share the mean of their ranks, so that the order in which they came decides
/// nothing; ranks are therefore counted in halves.
pub fn signed_rank(ratios: &[f64]) -> f64 {
    let mut steps: Vec<f64> = ratios
        .iter()
        .map(|ratio| ratio.ln())
        .filter(|step| !step.is_nan() && *step != 0.0)
        .collect();
    let count = steps.len();
    if count == 0 {
        return 1.0;
    }
    steps.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks: Vec<usize> = steps
        .chunk_by(|a, b| b.abs() <= a.abs() * (1.0 + ALIKE))
        .scan(0, |before, alike| {
            let first = *before + 1;
            *before += alike.len();
            Some(vec![first + *before; alike.len()])
        })
        .flatten()
        .collect();
    let up: usize =
        steps.iter().zip(&ranks).filter(|(step, _)| **step > 0.0).map(|(_, rank)| rank).sum();
    let most = count * (count + 1);
    let less = up.min(most - up);
    // ways[s]: subsets of the ranks whose sum is s, as a share of all subsets.
    let mut ways = vec![0.0f64; most + 1];
    ways[0] = 1.0;
    for &rank in &ranks {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { ways[sum - rank] } else { 0.0 };
            ways[sum] = (ways[sum] + with) / 2.0;
        }
    }
    (2.0 * ways[..=less].iter().sum::<f64>()).min(1.0)
}

/// Chance that two sets of rounds from one source lie at least as far apart as these (the rank
/// sum test of Mann and Whitney, two-sided).
pub fn rank_sum(above: &[f64], below: &[f64]) -> f64 {
    let (n, m) = (above.len(), below.len());
    if n == 0 || m == 0 {
        return 1.0;
    }
    let wins: f64 = above
        .iter()
        .flat_map(|a| {
            below.iter().map(move |b| {
                if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                }
            })
        })
        .sum();
    // Half a win more is the nearest that arrangements without ties have; half a win less would be rarer
    // than what was found.
    let least = wins.min((n * m) as f64 - wins).ceil() as usize;
    // counts[u]: arrangements of n among n + m with u wins, by the usual recurrence on shares.
    let most = n * m;
    let mut table = vec![vec![vec![0.0f64; most + 1]; m + 1]; n + 1];
    for i in 0..=n {
        for j in 0..=m {
            for u in 0..=i * j {
                table[i][j][u] = if i == 0 || j == 0 {
                    1.0
                } else {
                    let (from_a, from_b) = (i as f64 / (i + j) as f64, j as f64 / (i + j) as f64);
                    let a = if u >= j { table[i - 1][j][u - j] } else { 0.0 };
                    from_a * a + from_b * table[i][j - 1][u]
                };
            }
        }
    }
    (2.0 * table[n][m][..=least].iter().sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_rounds_on_one_side_are_the_fewest_that_count() {
        assert!((signed_rank(&[1.1; 5].map(|r: f64| r)) - 0.0625).abs() < 1e-9);
        assert!((signed_rank(&[1.1, 1.2, 1.3, 1.05, 1.01, 1.4]) - 0.031_25).abs() < 1e-9);
        assert_eq!(signed_rank(&[]), 1.0);
    }

    #[test]
    fn ranks_weigh_the_large_steps() {
        // One small step the wrong way of eight: 2 subsets of 256 have a sum below 2, twice that.
        let ratios = [1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 0.99];
        assert!((signed_rank(&ratios) - 4.0 / 256.0).abs() < 1e-9);
    }

    /// Eight rounds of one size, one of them the other way, were 0.0156 or 0.195 by which came first.
    #[test]
    fn steps_of_one_size_have_one_rank_whichever_came_first() {
        for down in 0..8 {
            let mut ratios = [1.1; 8];
            ratios[down] = 1.0 / 1.1;
            // Of 256 subsets of eight equal ranks 9 have one or none of them, twice that.
            assert!((signed_rank(&ratios) - 18.0 / 256.0).abs() < 1e-9, "{down}");
        }
        // What stood still is no larger in one round than in another.
        let endless = [0.0, f64::INFINITY, f64::INFINITY, 1.1];
        assert_eq!(signed_rank(&endless), signed_rank(&[f64::INFINITY, f64::INFINITY, 0.0, 1.1]));
    }

    #[test]
    fn a_tie_between_sets_makes_them_no_more_different() {
        // 4.5 wins of 16: by 5 it is 0.4857, by 4 it would be 0.3429.
        let chance = rank_sum(&[1.0, 2.0, 3.0, 8.0], &[3.0, 5.0, 6.0, 7.0]);
        assert!((chance - 34.0 / 70.0).abs() < 1e-9, "{chance}");
    }

    #[test]
    fn separate_sets_are_told_apart_and_mixed_ones_are_not() {
        let low: Vec<f64> = (0..5).map(f64::from).collect();
        let high: Vec<f64> = (10..15).map(f64::from).collect();
        // 2 of the 252 arrangements are as far apart.
        assert!((rank_sum(&high, &low) - 2.0 / 252.0).abs() < 1e-9);
        assert!(rank_sum(&[1.0, 3.0, 5.0, 7.0], &[2.0, 4.0, 6.0, 8.0]) > 0.5);
    }
}
