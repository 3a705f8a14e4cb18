//! LATENCY HISTOGRAM and INFO latencystats, from the buckets that threads count in.

use crate::server::Server;
use dolium_commands::redis::row::Row;

impl Server {
    /// Calls and cumulative buckets, those that add nothing left out (as Redis shows them).
    pub(super) fn histogram_of(&self, row: &'static Row) -> Option<(u64, Vec<(u64, u64)>)> {
        let calls = self.statistics.row(row).calls;
        if calls == 0 {
            return None;
        }
        let buckets = self.statistics.histogram(row);
        let mut points = Vec::new();
        let mut sum = 0;
        for (i, n) in buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            sum += n;
            // What was sampled is scaled up and may overshoot the exact number of calls.
            points.push((1u64 << i, sum.min(calls)));
        }
        if let Some(last) = points.last_mut() {
            last.1 = calls;
        }
        Some((calls, points))
    }

    /// The duration in microseconds that `percent` of the calls stayed within.
    pub(super) fn percentile(&self, row: &Row, percent: f64) -> f64 {
        let buckets = self.statistics.histogram(row);
        let total: u64 = buckets.iter().sum();
        let rank = (total as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut sum = 0;
        for (i, n) in buckets.iter().enumerate() {
            sum += n;
            if sum >= rank {
                return (1u64 << i) as f64;
            }
        }
        0.0
    }
}
