//! Whether one store's figure differs from another's, in words.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::bootstrap::Estimate;
use super::{midmean, ranks};
use crate::output;

/// A difference is told only where chance alone would make one in fewer than this share of runs.
const ERROR_SHARE: f64 = 0.05;
/// Rounds below which no test can tell chance from a difference at that share.
const ROUNDS_LEAST: usize = 6;

/// Two starts of one program differ by this share, by where its memory came to lie. Turns are
/// many enough to see that; a difference no larger is none.
const STARTS_DIFFER: f64 = 0.005;

/// Two runs of one program that were measured against the same reference differ by this share: the
/// machine's moods do not slow the reference exactly as they slow a store.
const RUNS_DIFFER: f64 = 0.03;

/// What the machine's loop of fixed work does not tell of its speed may be as much again.
const DRIFT_MARGIN: f64 = 2.0;

/// Whether the interval reaches into what the machine's own change of speed explains.
fn within(ratio: &Estimate, drift: f64) -> bool {
    let most = 1.0 + DRIFT_MARGIN * drift;
    drift > 0.0 && ratio.low <= most && ratio.high >= 1.0 / most
}

/// What can be said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Larger, and not by chance.
    More,
    Less,
    /// Chance alone explains it.
    NoDifference,
    /// The machine's own speed changed by more than the figures differ.
    Swallowed,
    /// Too few rounds to tell.
    TooFew,
}

/// A ratio, and what it is worth.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Judgement {
    pub ratio: Estimate,
    /// Chance of such a difference if there is none.
    pub chance: f64,
    pub verdict: Verdict,
}

impl Judgement {
    /// Of rounds that took turns. `among` comparisons are looked at together, so each must be the
    /// clearer.
    pub fn paired(above: &[f64], below: &[f64], among: usize) -> Self {
        let ratios: Vec<f64> = above.iter().zip(below).map(|(a, b)| a / b).collect();
        Self::rounds(&ratios, false, among)
    }

    /// Of rounds that consist of many short turns. The ratio of a round is taken over the pairs of
    /// its turns; rounds, not turns, are what is counted, because turns of one round share whatever
    /// its processes have in common.
    pub fn turns<'a>(
        rounds: impl IntoIterator<Item = (&'a [f64], &'a [f64])>,
        among: usize,
    ) -> Self {
        let ratios: Vec<f64> = rounds.into_iter().map(|(a, b)| round_ratio(a, b)).collect();
        Self::rounds(&ratios, true, among)
    }

    /// Of the ratios of rounds, one each; a round that has none is not a number. `in_turns`: they are of
    /// many short turns, which see more than two starts of one program are worth.
    pub fn rounds(ratios: &[f64], in_turns: bool, among: usize) -> Self {
        let ratios: Vec<f64> = ratios.iter().copied().filter(|ratio| !ratio.is_nan()).collect();
        let ratio = Estimate::of(&ratios);
        let allowed = if in_turns { STARTS_DIFFER } else { 0.0 };
        let chance = towards_one(ratio.value, allowed).map_or(1.0, |factor| {
            ranks::signed_rank(&ratios.iter().map(|ratio| ratio * factor).collect::<Vec<_>>())
        });
        Self::of(ratio, chance, ratios.len(), among, 0.0)
    }

    /// Of rounds of one run that were no pairs, such as those of programs that came after the servers.
    /// As few as cannot be told from chance in pairs are not believed here either.
    pub fn apart(above: &[f64], below: &[f64], among: usize, drift: f64) -> Self {
        let judged = Self::unpaired(above, below, among, drift);
        if above.len().min(below.len()) < ROUNDS_LEAST {
            return Self { verdict: Verdict::TooFew, ..judged };
        }
        judged
    }

    /// Of runs at different times whose rounds are ratios to one reference that took turns with
    /// both: what the machine did to all of them is not in these.
    pub fn referred(above: &[f64], below: &[f64], among: usize) -> Self {
        let ratio = Estimate::of_unpaired(above, below);
        let chance = towards_one(ratio.value, RUNS_DIFFER).map_or(1.0, |factor| {
            ranks::rank_sum(&above.iter().map(|one| one * factor).collect::<Vec<_>>(), below)
        });
        Self::of(ratio, chance, above.len().min(below.len()), among, 0.0)
    }

    /// Of runs at different times. `drift` is the share by which the machine's speed differed.
    pub fn unpaired(above: &[f64], below: &[f64], among: usize, drift: f64) -> Self {
        let ratio = Estimate::of_unpaired(above, below);
        let chance = ranks::rank_sum(above, below);
        Self::of(ratio, chance, above.len().min(below.len()), among, drift)
    }

    fn of(ratio: Estimate, chance: f64, rounds: usize, among: usize, drift: f64) -> Self {
        let clear = chance * among.max(1) as f64 <= ERROR_SHARE;
        // Few rounds that look at many things at once can never be clear enough for all.
        let could = ROUNDS_LEAST + (among.max(1) as f64).log2().ceil() as usize;
        let verdict = if ratio.value.is_nan() || (rounds < ROUNDS_LEAST && drift == 0.0) {
            Verdict::TooFew
        } else if !clear {
            if rounds < could && (ratio.low > 1.0 || ratio.high < 1.0) {
                Verdict::TooFew
            } else {
                Verdict::NoDifference
            }
        } else if within(&ratio, drift) {
            Verdict::Swallowed
        } else if ratio.value > 1.0 {
            Verdict::More
        } else {
            Verdict::Less
        };
        Self { ratio, chance, verdict }
    }
}

/// What brings a ratio nearer to one by `share`; none if it is that near.
fn towards_one(ratio: f64, share: f64) -> Option<f64> {
    if ratio > 1.0 + share {
        Some(1.0 / (1.0 + share))
    } else if ratio < 1.0 / (1.0 + share) {
        Some(1.0 + share)
    } else {
        None
    }
}

/// The ratio of a round: the mean of the middle half of its turns' log ratios. A turn in which one side
/// stood still is the worst of them, not none; one in which both did says nothing.
pub fn round_ratio(above: &[f64], below: &[f64]) -> f64 {
    let logs = above.iter().zip(below).map(|(a, b)| (a / b).ln());
    midmean(logs.filter(|log| !log.is_nan())).exp()
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Estimate { value, low, high } = self.ratio;
        let [value, low, high] = [value, low, high].map(|ratio| output::number(ratio, 3));
        write!(f, "{value} x ({low} to {high})")?;
        match self.verdict {
            Verdict::More | Verdict::Less => Ok(()),
            Verdict::NoDifference => f.write_str(", no difference"),
            Verdict::Swallowed => f.write_str(", swallowed by the machine's noise"),
            Verdict::TooFew => f.write_str(", too few rounds to tell"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    /// Rounds on a machine whose speed wanders and whose single rounds scatter by two percent.
    fn rounds(random: &mut SmallRng, slower: f64) -> (Vec<f64>, Vec<f64>) {
        const ROUNDS: usize = 10;
        let mut speed = 1.0;
        let noise = |random: &mut SmallRng| {
            (0..4).map(|_| random.random_range(-0.01..0.01)).sum::<f64>() + 1.0
        };
        (0..ROUNDS)
            .map(|_| {
                speed *= 1.0 + random.random_range(-0.1..0.1);
                (speed * slower * noise(random), speed * noise(random))
            })
            .unzip()
    }

    #[test]
    fn the_same_store_twice_differs_in_no_more_than_one_run_of_twenty() {
        let mut random = SmallRng::seed_from_u64(11);
        let wrong = (0..2_000)
            .filter(|_| {
                let (a, b) = rounds(&mut random, 1.0);
                matches!(Judgement::paired(&a, &b, 1).verdict, Verdict::More | Verdict::Less)
            })
            .count();
        assert!(wrong <= 120, "{wrong} of 2000");
    }

    #[test]
    fn three_percent_are_found_with_the_usual_rounds() {
        let mut random = SmallRng::seed_from_u64(12);
        let found = (0..500)
            .filter(|_| {
                let (a, b) = rounds(&mut random, 1.03);
                Judgement::paired(&a, &b, 1).verdict == Verdict::More
            })
            .count();
        assert!(found >= 475, "{found} of 500");
    }

    /// Rounds of turns on a machine whose speed wanders by a tenth from turn to turn, and where one
    /// turn in ten meets something bad; each start of a server is a little better or worse.
    fn turns(random: &mut SmallRng, slower: f64) -> Judgement {
        let rounds: Vec<(Vec<f64>, Vec<f64>)> = (0..10)
            .map(|_| {
                let start = 1.0 + random.random_range(-0.01..0.01);
                let mut speed = 1.0;
                let mut turn = |cost: f64| {
                    speed *= 1.0 + random.random_range(-0.05..0.05);
                    let bad = if random.random_bool(0.1) { 1.4 } else { 1.0 };
                    cost * speed * bad
                };
                (0..20).map(|_| (turn(slower * start), turn(1.0))).unzip()
            })
            .collect();
        let rounds = rounds.iter().map(|(a, b)| (a.as_slice(), b.as_slice()));
        Judgement::turns(rounds, 1)
    }

    #[test]
    fn turns_find_three_percent_where_rounds_scatter_by_more() {
        let mut random = SmallRng::seed_from_u64(13);
        let mut count = |slower: f64, verdict: Verdict| {
            (0..300).filter(|_| turns(&mut random, slower).verdict == verdict).count()
        };
        let (found, right) = (count(1.03, Verdict::More), count(1.0, Verdict::NoDifference));
        assert!(found >= 285 && right >= 285, "{found} and {right} of 300");
    }

    /// Of 19 pairs of runs of one server 5 were told apart when only one percent was allowed for.
    #[test]
    fn two_runs_may_differ_by_what_slows_their_reference_otherwise() {
        let run = |cost: f64| -> Vec<f64> {
            (0..10).map(|n| cost * (1.0 + f64::from(n) / 1000.0)).collect()
        };
        let verdict = |cost: f64| Judgement::referred(&run(cost), &run(1.0), 1).verdict;
        assert_eq!([0.975, 1.025].map(verdict), [Verdict::NoDifference; 2]);
        assert_eq!([0.94, 1.05].map(verdict), [Verdict::Less, Verdict::More]);
    }

    #[test]
    fn a_turn_that_stood_still_is_the_worst_one_and_no_round_moves_to_anothers_place() {
        let steady = [100.0; 8];
        let mut standing = [102.0; 8];
        assert!((round_ratio(&standing, &steady) - 1.02).abs() < 1e-9);
        // Of the eight the middle four are left; one that stands takes the place of a good one.
        standing[..3].copy_from_slice(&[0.0, 90.0, 90.0]);
        let mean = (((0.9f64).ln() + 3.0 * (1.02f64).ln()) / 4.0).exp();
        assert!((round_ratio(&standing, &steady) - mean).abs() < 1e-9);
        standing[..3].copy_from_slice(&[0.0; 3]);
        assert_eq!(round_ratio(&standing, &steady), 0.0);
        assert_eq!(round_ratio(&steady, &standing), f64::INFINITY);
        assert!(round_ratio(&[0.0], &[0.0]).is_nan());
        // Six rounds in which the other had nothing are as clear as any six.
        let judged = Judgement::rounds(&[f64::INFINITY; 6], false, 1);
        assert_eq!((judged.ratio.value, judged.verdict), (f64::INFINITY, Verdict::More));
        let gap = [1.1, f64::NAN, 1.1, 1.1, 1.1, 1.1];
        assert_eq!(Judgement::rounds(&gap, false, 1).verdict, Verdict::TooFew);
    }

    #[test]
    fn rounds_that_were_no_pairs_are_judged_by_ranks_and_few_are_too_few() {
        let (above, below) = ([1.3; 6], [1.0, 1.1, 0.9, 1.0, 1.05, 0.95]);
        assert_eq!(Judgement::apart(&above, &below, 1, 0.01).verdict, Verdict::More);
        assert_eq!(Judgement::apart(&above[..5], &below[..5], 1, 0.01).verdict, Verdict::TooFew);
    }

    #[test]
    fn what_the_machine_did_is_not_called_the_stores() {
        let slow: Vec<f64> = (0..10).map(|n| 1.10 + f64::from(n) / 1000.0).collect();
        let fast: Vec<f64> = (0..10).map(|n| 1.00 + f64::from(n) / 1000.0).collect();
        assert_eq!(Judgement::unpaired(&slow, &fast, 1, 0.02).verdict, Verdict::More);
        assert_eq!(Judgement::unpaired(&slow, &fast, 1, 0.15).verdict, Verdict::Swallowed);
        assert_eq!(Judgement::paired(&slow[..3], &fast[..3], 1).verdict, Verdict::TooFew);
    }
}
