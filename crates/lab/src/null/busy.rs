//! Work that does nothing: a server that is slower by a known time a request, against which it is
//! shown that such a difference is found.

use std::hint::black_box;
use std::time::Instant;

use crate::workload::value::mix;

/// Steps by which the machine's speed is taken: some tens of microseconds each time.
const STEPS: u32 = 20_000;
const TIMES: usize = 50;

/// So many steps a request.
#[derive(Clone, Copy)]
pub(super) struct Busy(f64);

impl Busy {
    /// Takes the machine's speed, unless there is nothing to do.
    pub fn new(nanoseconds: f64) -> Self {
        if nanoseconds <= 0.0 {
            return Self(0.0);
        }
        let step = (0..TIMES).map(|_| {
            let begun = Instant::now();
            steps(STEPS);
            begun.elapsed().as_nanos() as f64 / f64::from(STEPS)
        });
        // The fastest of them was not interrupted.
        Self(nanoseconds / step.fold(f64::INFINITY, f64::min))
    }

    /// The work of so many requests.
    #[inline]
    pub fn work(self, requests: usize) {
        if self.0 > 0.0 {
            steps((self.0 * requests as f64).round() as u32);
        }
    }
}

fn steps(count: u32) {
    let mut state = 1u64;
    for _ in 0..count {
        state = black_box(mix(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_about_as_long_as_it_was_told() {
        let busy = Busy::new(1_000.0);
        let best = (0..50)
            .map(|_| {
                let begun = Instant::now();
                busy.work(100);
                begun.elapsed().as_nanos()
            })
            .min();
        // Only the lower bound is the loop's own; a machine that is taken away makes it longer.
        assert!(best.unwrap() > 50_000, "{best:?} ns");
        assert_eq!(Busy::new(0.0).0, 0.0);
    }
}
