//! Where a series becomes steady: the point after which the mean of the rest is known best.
//!
//! The rule is White's MSER: cut off so many intervals that the variance of the remaining mean is
//! least. It never cuts off more than half, because then the series never became steady.

/// Intervals that belong to the warm-up, of a series of any figure.
pub fn intervals(series: &[f64]) -> usize {
    let mut best = (f64::INFINITY, 0);
    for cut in 0..=series.len() / 2 {
        let rest: Vec<f64> =
            series[cut..].iter().copied().filter(|value| value.is_finite()).collect();
        if rest.len() < 3 {
            break;
        }
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        let squares: f64 = rest.iter().map(|value| (value - mean).powi(2)).sum();
        let score = squares / (rest.len() as f64).powi(2);
        if score < best.0 * (1.0 - 1e-9) {
            best = (score, cut);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_is_cut_off_and_a_steady_series_is_left_alone() {
        let noise = |n: usize| (n * 7919 % 13) as f64 / 13.0;
        let steady: Vec<f64> = (0..60).map(|n| 100.0 + noise(n)).collect();
        assert!(intervals(&steady) < 10, "{}", intervals(&steady));
        let starting: Vec<f64> = (0..60)
            .map(|n| if n < 12 { 400.0 - 20.0 * n as f64 } else { 100.0 + noise(n) })
            .collect();
        assert!((12..=20).contains(&intervals(&starting)), "{}", intervals(&starting));
        assert_eq!(intervals(&[]), 0);
    }
}
