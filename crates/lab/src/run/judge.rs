//! How a figure of one store stands to another's: over one setting, or over several together.
//!
//! ```text
//!              setting 1   setting 2   setting 3
//! round 1         1.10        1.30        1.20      -> 1.20     one number a round, the median of its
//! round 2         1.05        none        1.25      -> 1.15     settings; these are what is judged
//! ```
//!
//! Settings of one round share its processes and its minutes: as rounds of their own they would make
//! a difference out of one repetition. Stores that took turns are pairs; programs that ran after the
//! servers are not, and are judged by ranks of their rounds.

use crate::statistics::{Judgement, Noise, median, round_ratio};

use super::choice::is_program;
use super::results::{Point, Results};

/// Figures of which a turn has none, kept as zero, if nobody was answered in it.
const WAITS: [&str; 3] = ["mean", "p50", "p99"];

/// The ratio of a round that consists of turns. Where nobody was answered, everybody waits without end.
pub fn round(figure: &str, one: &[f64], other: &[f64]) -> f64 {
    if !WAITS.contains(&figure) {
        return round_ratio(one, other);
    }
    let ends = |turns: &[f64]| -> Vec<f64> {
        turns.iter().map(|&us| if us == 0.0 { f64::INFINITY } else { us }).collect()
    };
    round_ratio(&ends(one), &ends(other))
}

/// The ratio of each round at one setting, in its place, and whether it is over turns. Not a number
/// where one of the two lacks the round or the figure.
fn ratios(one: &Point, other: &Point, figure: &str) -> (Vec<f64>, bool) {
    match (one.turns(figure), other.turns(figure)) {
        (Some(one), Some(other)) => {
            (one.into_iter().zip(other).map(|(a, b)| round(figure, a, b)).collect(), true)
        }
        _ => {
            let (one, other) = (one.by_round(figure), other.by_round(figure));
            (one.into_iter().zip(other).map(|(a, b)| a / b).collect(), false)
        }
    }
}

/// One number a round: the median of its settings that have one.
fn by_round(settings: &[Vec<f64>]) -> Vec<f64> {
    let rounds = settings.iter().map(Vec::len).max().unwrap_or(0);
    let of = |round: usize| {
        let all = settings.iter().filter_map(|one| one.get(round).copied());
        median(all.filter(|ratio| !ratio.is_nan()))
    };
    (0..rounds).map(of).collect()
}

impl Results {
    /// How a figure of one point stands to that of another store at the same settings. `among`
    /// comparisons are looked at together.
    pub fn judge(&self, one: &Point, other: &Point, figure: &str, among: usize) -> Judgement {
        self.judge_all(&[(one, other)], figure, among)
    }

    /// The same over several settings together, each point beside its own.
    pub fn judge_all(&self, pairs: &[(&Point, &Point)], figure: &str, among: usize) -> Judgement {
        if pairs.iter().any(|(one, other)| is_program(&one.store) || is_program(&other.store)) {
            return self.judge_apart(pairs, figure, among);
        }
        let ratios: Vec<(Vec<f64>, bool)> =
            pairs.iter().map(|(one, other)| ratios(one, other, figure)).collect();
        let in_turns = !ratios.is_empty() && ratios.iter().all(|(_, in_turns)| *in_turns);
        let settings: Vec<Vec<f64>> = ratios.into_iter().map(|(rounds, _)| rounds).collect();
        Judgement::rounds(&by_round(&settings), in_turns, among)
    }

    /// Of stores that took no turns. Each setting is a multiple of what the other has there in the
    /// middle, so that settings can be put together.
    fn judge_apart(&self, pairs: &[(&Point, &Point)], figure: &str, among: usize) -> Judgement {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (one, other) in pairs {
            let middles = [other, one].map(|point| median(point.rounds(figure)));
            let unit = middles.into_iter().find(|middle| *middle > 0.0).unwrap_or(1.0);
            let scaled = |point: &Point| -> Vec<f64> {
                point.by_round(figure).into_iter().map(|value| value / unit).collect()
            };
            above.push(scaled(one));
            below.push(scaled(other));
        }
        let known = |settings: &[Vec<f64>]| -> Vec<f64> {
            by_round(settings).into_iter().filter(|number| !number.is_nan()).collect()
        };
        let drift = match self.noise.as_slice() {
            [before, after] => Noise::drift(after, before),
            _ => 0.0,
        };
        Judgement::apart(&known(&above), &known(&below), among, drift)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::experiment::{Length, Setting, catalogue};
    use crate::run::results::Visit;
    use crate::statistics::Verdict;

    /// A store's rates: for each setting those of its rounds, where a round has one.
    pub fn points(store: &str, rates: &[&[Option<f64>]]) -> Vec<Point> {
        let visit = |rate: &Option<f64>| {
            let mut visit = Visit::default();
            visit.put("rate", rate.unwrap_or(f64::NAN));
            visit
        };
        let point = |(number, rounds): (usize, &&[Option<f64>])| Point {
            store: store.into(),
            settings: vec![("connections".into(), Setting::Number(number as f64))],
            visits: rounds.iter().map(visit).collect(),
        };
        rates.iter().enumerate().map(point).collect()
    }

    fn results(points: Vec<Point>) -> Results {
        let experiment = catalogue::find("pavlik16-fig1").unwrap().at(Length::Quick, 1.0);
        Results { points, ..Results::bare(experiment, Length::Quick) }
    }

    fn judged(
        one: &str,
        other: &str,
        ones: &[&[Option<f64>]],
        others: &[&[Option<f64>]],
    ) -> Judgement {
        let results = results([points(one, ones), points(other, others)].concat());
        let (one, other) = results.points.split_at(ones.len());
        let pairs: Vec<(&Point, &Point)> = one.iter().zip(other).collect();
        results.judge_all(&pairs, "rate", 1)
    }

    /// Seven settings of one repetition were called seven rounds, and told a difference.
    #[test]
    fn settings_are_no_rounds() {
        let (fast, slow): (&[_], &[_]) = (&[Some(1.2)], &[Some(1.0)]);
        let one_round = judged("dolium", "redis", &[fast; 7], &[slow; 7]);
        assert_eq!(one_round.verdict, Verdict::TooFew);
        assert!((one_round.ratio.value - 1.2).abs() < 1e-9);
        let (fast, slow): (&[_], &[_]) = (&[Some(1.2); 6], &[Some(1.0); 6]);
        assert_eq!(judged("dolium", "redis", &[fast; 7], &[slow; 7]).verdict, Verdict::More);
    }

    /// A figure that round 2 of one store lacks put its round 3 beside the other's round 2.
    #[test]
    fn a_round_without_the_figure_leaves_the_others_in_their_places() {
        let speeds = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(Some);
        let mut gap = speeds;
        gap[1] = None;
        let judged = judged("dolium", "redis", &[&gap], &[&speeds]);
        assert_eq!((judged.ratio.low, judged.ratio.high), (1.0, 1.0));
    }

    /// EMS runs after the servers: its third round is nobody's pair.
    #[test]
    fn programs_are_judged_apart() {
        let mine: [Option<f64>; 6] = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5].map(Some);
        let theirs: [Option<f64>; 6] = [0.9, 1.0, 1.1, 1.2, 1.3, 1.4].map(Some);
        let among = |other| judged("dolium", other, &[&mine], &[&theirs]).verdict;
        assert_eq!((among("redis"), among("ems")), (Verdict::More, Verdict::NoDifference));
        let five = judged("dolium-attached", "ems", &[&mine[..5]; 7], &[&theirs[..5]; 7]);
        assert_eq!(five.verdict, Verdict::TooFew);
        let none = judged("dolium-attached", "ems", &[&mine], &[&[Some(0.0); 6]]);
        assert_eq!((none.ratio.value, none.verdict), (f64::INFINITY, Verdict::More));
    }

    #[test]
    fn a_turn_in_which_nobody_was_answered_is_the_longest_wait() {
        let (standing, steady) = ([0.0, 0.0, 5.0, 5.0], [5.0; 4]);
        assert_eq!(round("p99", &standing, &steady), f64::INFINITY);
        assert_eq!(round("rate", &standing, &steady), 0.0);
    }
}
