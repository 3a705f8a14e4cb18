//! A rate that `dolium lab qos` offers to a store, window by window, until it is known whether it is kept.
//!
//! ```text
//! of 15 windows    . x . . x . . x . . .    kept: eight are under the bound, and the four that are left can change nothing
//!                  x x . x x x . x x x      not kept, likewise
//! ```

use serde::Serialize;

use super::median;
use crate::LabError;
use crate::generator::{self, LoadReport, LoadSpec, Pace};
use crate::workload::RequestPool;

/// What is to be kept, and how closely it is looked for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bound {
    /// Microseconds that the 99th percentile must stay under.
    pub p99_us: f64,
    /// Rates that the second pass of a search tries.
    pub rungs: usize,
}

/// What one window showed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Window {
    /// Infinite where more requests were due and unanswered than a generator may have.
    pub p99_us: f64,
    /// How late the generator itself was, 99th percentile.
    pub client_lag_us: f64,
}

/// One offered rate and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub offered: f64,
    pub kept: bool,
    /// As many as it took to know.
    pub windows: Vec<Window>,
    /// 99th percentile of all requests of all of them.
    pub all_p99_us: f64,
}

impl Step {
    /// Median of the windows' percentiles.
    pub fn p99_us(&self) -> f64 {
        median(self.windows.iter().map(|window| window.p99_us))
    }

    pub(super) fn client_lag_us(&self) -> f64 {
        median(self.windows.iter().map(|window| window.client_lag_us))
    }

    /// Windows that were under the bound.
    pub(super) fn under(&self, bound: &Bound) -> usize {
        self.windows.iter().filter(|window| window.p99_us < bound.p99_us).count()
    }
}

/// A rate that is being asked.
pub(super) struct Offer {
    pub rate: f64,
    pub windows: Vec<Window>,
    all: Option<LoadReport>,
}

impl Offer {
    pub fn at(rate: f64) -> Self {
        Self { rate, windows: Vec::new(), all: None }
    }

    /// Asks for a window.
    pub fn ask(&mut self, load: LoadSpec, pool: &RequestPool) -> Result<(), LabError> {
        let load = LoadSpec { pace: Pace::Open { rate: self.rate }, ..load };
        let report = match generator::run(&load, pool) {
            Err(LabError::Overload { .. }) => {
                self.windows.push(Window { p99_us: f64::INFINITY, client_lag_us: 0.0 });
                return Ok(());
            }
            other => other?,
        };
        let client_lag_us = report.lag.value_at_quantile(0.99) as f64 / 1e3;
        self.windows.push(Window { p99_us: report.latency_us(0.99), client_lag_us });
        match &mut self.all {
            Some(all) => all.absorb(&report),
            None => self.all = Some(report),
        }
        Ok(())
    }

    /// Whether the rate is kept; none while the windows that are left of `rounds` may still say either.
    pub fn outcome(&self, rounds: usize, bound: &Bound) -> Option<bool> {
        let most = rounds / 2 + 1;
        let under = self.windows.iter().filter(|window| window.p99_us < bound.p99_us).count();
        let over = self.windows.len() - under;
        if under >= most {
            Some(true)
        } else if over > rounds - most {
            Some(false)
        } else {
            None
        }
    }

    pub fn step(self, kept: bool) -> Step {
        let all_p99_us = self.all.map_or(f64::INFINITY, |all| all.latency_us(0.99));
        Step { offered: self.rate, kept, windows: self.windows, all_p99_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound = Bound { p99_us: 1_000.0, rungs: 7 };

    /// A rate whose windows were kept or not, in this order, until it was known which.
    fn asked(rounds: usize, windows: &[bool]) -> (usize, Option<bool>) {
        let mut offer = Offer::at(100.0);
        for &is_kept in windows {
            let p99_us = if is_kept { 300.0 } else { 1_000.0 };
            offer.windows.push(Window { p99_us, client_lag_us: 10.0 });
            if let Some(outcome) = offer.outcome(rounds, &BOUND) {
                return (offer.windows.len(), Some(outcome));
            }
        }
        (windows.len(), None)
    }

    #[test]
    fn a_rate_is_kept_if_most_windows_are_and_asked_no_longer_than_until_that_is_known() {
        assert_eq!(asked(5, &[true, true, true]), (3, Some(true)));
        assert_eq!(asked(5, &[true, false, true, false]), (4, None));
        assert_eq!(asked(5, &[true, false, true, false, true]), (5, Some(true)));
        assert_eq!(asked(5, &[true, false, false, false, true]), (4, Some(false)));
        assert_eq!(asked(1, &[true]), (1, Some(true)));
        assert_eq!(asked(1, &[false]), (1, Some(false)));
        // Of an even number half is not most.
        assert_eq!(asked(2, &[true, false]), (2, Some(false)));
        assert_eq!(asked(2, &[true, true]), (2, Some(true)));
    }
}
