//! How steady the machine is: a loop of fixed work, timed again and again before and after a run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::median;
use crate::workload::value::mix;

/// One turn of the loop takes some tens of microseconds: long beside the clock, short beside a
/// time slice.
const STEPS: u64 = 20_000;

/// The machine's speed over a short while.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Noise {
    /// Median nanoseconds of a turn.
    pub turn_ns: f64,
    /// Share by which one turn in ten was slower than the median.
    pub slow_tenth: f64,
    /// Share of the time in which the program did not run at all.
    pub away: f64,
}

impl Noise {
    /// Measures for `time` on the core that the caller runs on.
    pub fn measure(time: Duration) -> Self {
        let mut turns = Vec::new();
        let begun = Instant::now();
        let mut state = 1u64;
        while begun.elapsed() < time {
            let turn = Instant::now();
            for _ in 0..STEPS {
                state = black_box(mix(state));
            }
            turns.push(turn.elapsed().as_nanos() as f64);
        }
        let middle = median(turns.iter().copied());
        turns.sort_by(f64::total_cmp);
        let tenth = turns.get(turns.len() * 9 / 10).copied().unwrap_or(middle);
        // A turn of more than twice the median was interrupted: by other programs or by the host.
        let lost: f64 = turns.iter().filter(|turn| **turn > 2.0 * middle).map(|t| t - middle).sum();
        let away = lost / begun.elapsed().as_nanos().max(1) as f64;
        Self { turn_ns: middle, slow_tenth: tenth / middle - 1.0, away }
    }

    /// Share by which the speed differed from that of `other`.
    pub fn drift(&self, other: &Self) -> f64 {
        (self.turn_ns / other.turn_ns - 1.0).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_does_work_and_drift_is_symmetric_enough() {
        let noise = Noise::measure(Duration::from_millis(20));
        assert!(noise.turn_ns > 1_000.0, "{noise:?}");
        let slower = Noise { turn_ns: noise.turn_ns * 1.1, ..noise };
        assert!((slower.drift(&noise) - 0.1).abs() < 1e-9);
    }
}
