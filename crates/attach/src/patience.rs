//! How long to look for a reply before sleeping.
//!
//! A sleep and a wake take tens of microseconds, at both ends; a server that is awake and alone on its
//! core answers in less. But where it needs the very core that the client spins on, or has much else to
//! do, spinning only keeps it from its work. So a long look is tried, and after each that found
//! nothing it is tried less often: where none finds anything, for one request in sixty-four.
//!
//! ```text
//!   long look   found nothing -> 1 short -> long, nothing -> 3 short -> long, nothing -> 7 short ...
//!   long look   found it      -> long look
//! ```

use crate::limits::{SPIN_LONG, SPIN_SHORT};
use std::time::Duration;

/// After that many long looks in vain it does not become rarer.
const FAILURES_MAX: u32 = 6;

#[derive(Debug)]
pub struct Patience {
    /// More than one core: on a single one the server needs the client's.
    spins: bool,
    /// Long looks in a row that found nothing.
    failures: u32,
    /// Short looks until the next long one.
    short: u32,
}

impl Patience {
    pub fn new(cores: usize) -> Patience {
        Patience { spins: cores > 1, failures: 0, short: 0 }
    }

    /// How long to look for something that is expected now.
    pub fn next(&self) -> Duration {
        match self.short {
            _ if !self.spins => Duration::ZERO,
            0 => SPIN_LONG,
            _ => SPIN_SHORT,
        }
    }

    /// A look has found what it was for, or not.
    pub fn note(&mut self, found: bool) {
        if self.short > 0 {
            self.short -= 1;
        } else if found {
            self.failures = 0;
        } else {
            self.failures = (self.failures + 1).min(FAILURES_MAX);
            self.short = (1 << self.failures) - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many looks were long ones.
    fn long(patience: &mut Patience, looks: u32, found: bool) -> u32 {
        let mut long = 0;
        for _ in 0..looks {
            long += u32::from(patience.next() == SPIN_LONG);
            patience.note(found);
        }
        long
    }

    #[test]
    fn what_is_found_is_looked_for_long() {
        assert_eq!(long(&mut Patience::new(2), 1000, true), 1000);
    }

    #[test]
    fn what_is_not_found_is_looked_for_long_ever_more_seldom() {
        let mut patience = Patience::new(2);
        // After 1, 3, 7, 15, 31 and 63 short looks.
        assert_eq!(long(&mut patience, 1 + 2 + 4 + 8 + 16 + 32 + 64, false), 7);
        assert_eq!(long(&mut patience, 6400, false), 100);
    }

    #[test]
    fn one_long_look_that_finds_something_brings_them_all_back() {
        let mut patience = Patience::new(2);
        long(&mut patience, 10_000, false);
        long(&mut patience, 64, true);
        assert_eq!(long(&mut patience, 100, true), 100);
    }

    #[test]
    fn nobody_looks_on_a_single_core() {
        let mut patience = Patience::new(1);
        assert_eq!(patience.next(), Duration::ZERO);
        patience.note(false);
        assert_eq!(patience.next(), Duration::ZERO);
    }
}
