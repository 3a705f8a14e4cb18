//! What happened when: operations and latencies in even intervals from the first request on.
//!
//! One histogram is filled and emptied again and again; what is kept of an interval are the pairs
//! (latency, count) that occurred, a few hundred at most.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::histogram;

/// Latencies in nanoseconds and how often each occurred, ascending.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(pub Vec<(u64, u64)>);

impl Counts {
    /// What a histogram holds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let recorded = histogram.iter_recorded();
        Self(recorded.map(|step| (step.value_iterated_to(), step.count_at_value())).collect())
    }

    /// Both together.
    pub fn merge(&mut self, other: &Self) {
        let mut all = std::collections::BTreeMap::new();
        for &(value, count) in self.0.iter().chain(&other.0) {
            *all.entry(value).or_insert(0) += count;
        }
        self.0 = all.into_iter().collect();
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&(_, count)| count).sum()
    }

    /// Mean in microseconds; not a number of nothing.
    pub fn mean_us(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|&(value, count)| value as f64 * count as f64).sum();
        sum / self.total() as f64 / 1e3
    }

    /// Microseconds that `share` of them did not exceed; not a number of nothing.
    pub fn quantile_us(&self, share: f64) -> f64 {
        let wanted = (share * self.total() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for &(value, count) in &self.0 {
            seen += count;
            if seen >= wanted {
                return value as f64 / 1e3;
            }
        }
        f64::NAN
    }
}

/// One interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Seconds from the first request to the start of it.
    pub at: f64,
    pub operations: u64,
    pub latency: Counts,
}

/// Fills intervals of one thread.
pub(super) struct Recorder {
    width: u64,
    /// End of the interval that is being filled, in nanoseconds of the run's clock.
    end: u64,
    now: Histogram<u64>,
    operations: u64,
    done: Vec<Interval>,
    origin: u64,
}

impl Recorder {
    /// Intervals of `width` nanoseconds from `origin` on.
    pub fn new(origin: u64, width: u64) -> Self {
        Self {
            width,
            end: origin + width,
            now: histogram(),
            operations: 0,
            done: Vec::new(),
            origin,
        }
    }

    /// `count` operations were answered at `at` after `latency`.
    #[inline]
    pub fn record(&mut self, at: u64, latency: u64, count: u64) {
        if at >= self.end {
            self.turn(at);
        }
        self.operations += count;
        self.now.saturating_record_n(latency, count);
    }

    #[cold]
    fn turn(&mut self, at: u64) {
        while at >= self.end {
            let latency = Counts::of(&self.now);
            let start = self.end - self.width - self.origin;
            self.done.push(Interval {
                at: start as f64 / 1e9,
                operations: self.operations,
                latency,
            });
            self.now.reset();
            self.operations = 0;
            self.end += self.width;
        }
    }

    /// All intervals; the last one may be shorter than the others.
    pub fn finish(mut self) -> Vec<Interval> {
        self.turn(self.end);
        self.done
    }
}

/// Adds one thread's intervals to those of the others.
pub(super) fn merge(all: &mut Vec<Interval>, more: Vec<Interval>) {
    for (number, interval) in more.into_iter().enumerate() {
        match all.get_mut(number) {
            None => all.push(interval),
            Some(mine) => {
                mine.operations += interval.operations;
                mine.latency.merge(&interval.latency);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_what_happened_in_them_and_quiet_ones_are_kept() {
        let mut recorder = Recorder::new(1_000, 100);
        recorder.record(1_010, 5_000, 2);
        recorder.record(1_099, 7_000, 1);
        recorder.record(1_320, 9_000, 4);
        let intervals = recorder.finish();
        let operations: Vec<u64> = intervals.iter().map(|interval| interval.operations).collect();
        assert_eq!(operations, [3, 0, 0, 4]);
        assert_eq!(intervals[0].latency.total(), 3);
        assert!((intervals[0].latency.quantile_us(1.0) - 7.0).abs() < 0.1);
        assert!(intervals[1].latency.quantile_us(0.5).is_nan());
    }

    #[test]
    fn merged_counts_are_one_distribution() {
        let mut one = Counts(vec![(1_000, 1), (3_000, 1)]);
        one.merge(&Counts(vec![(2_000, 1), (3_000, 1)]));
        assert_eq!(one.0, [(1_000, 1), (2_000, 1), (3_000, 2)]);
        assert_eq!(one.quantile_us(0.5), 2.0);
        assert_eq!(one.mean_us(), 2.25);
    }
}
