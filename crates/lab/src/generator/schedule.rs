//! When the requests of an open loop are due.

use super::Pace;
use super::worker::Shared;

/// Due times of one thread's share of an open loop: send n is due when the area under the rate
/// reaches n. The threads' due times interleave evenly.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    begin: u64,
    /// Part of an interval by which this thread comes after the first.
    offset: f64,
    /// Sends a nanosecond at the beginning, and how many it grows by each nanosecond.
    rate: f64,
    growth: f64,
}

impl Schedule {
    /// The schedule of thread `number`; none in a closed loop.
    pub fn of(shared: &Shared<'_>, number: usize, threads: usize) -> Option<Self> {
        let (from, to) = match shared.spec.pace {
            Pace::Closed => return None,
            Pace::Open { rate } => (rate, rate),
            Pace::Ramp { from, to } => (from, to),
        };
        let sends = |rate: f64| rate / 1e9 / (shared.spec.pipeline * threads) as f64;
        let span = shared.window.1.saturating_sub(shared.begin).max(1);
        Some(Self {
            begin: shared.begin,
            offset: number as f64 / threads as f64,
            rate: sends(from),
            growth: (sends(to) - sends(from)) / span as f64,
        })
    }

    /// When send `number` is due.
    #[inline]
    pub fn due(&self, number: u64) -> u64 {
        let area = number as f64 + self.offset;
        let after = if self.growth == 0.0 {
            area / self.rate
        } else {
            // Past its end a falling ramp has no rate left, so nothing more is ever due.
            let root = self.rate * self.rate + 2.0 * self.growth * area;
            if root < 0.0 {
                return u64::MAX;
            }
            (root.sqrt() - self.rate) / self.growth
        };
        // At a tiny rate that is after the end of all time, which has no number.
        self.begin.saturating_add(after as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_a_tiny_rate_is_due_at_the_end_of_all_time_and_not_before_the_beginning() {
        let rate = 1e-30 / 1e9;
        let slow = Schedule { begin: 500_000, offset: 0.0, rate, growth: 0.0 };
        assert_eq!(slow.due(0), 500_000);
        assert_eq!(slow.due(1), u64::MAX);
    }
}
