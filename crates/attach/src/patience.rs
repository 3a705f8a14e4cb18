//! How long to look for a reply before sleeping.
//!
//! A sleep and a wake take tens of microseconds, at both ends; a server that is awake and alone on its
//! core answers in less. But where it needs the very core that the client looks on, or other processes
//! do, looking only keeps them from their work. So a long look is tried; after a moment it offers the core
//! to others each time it looks. Where it finds nothing, or others took the core, it is tried less often.
//!
//! ```text
//!   long look   found nothing, or -> 7 short -> long, in vain -> 15 short -> long, in vain -> 31 short ...
//!               shared the core                                            (at most 1023)
//!   long look   found it          -> long look
//!   short look  once, then sleep
//! ```

use crate::limits::{AWAY_LONG, LOOK_LONG, SPIN};
use std::time::{Duration, Instant};

/// After that many long looks in vain it does not become rarer.
const FAILURES_MAX: u32 = 8;

#[derive(Debug)]
pub struct Patience {
    /// More than one core: on a single one the server needs the client's.
    spins: bool,
    /// Long looks in a row that were in vain.
    failures: u32,
    /// Short looks until the next long one.
    short: u32,
    /// The one that goes on.
    look: Option<Look>,
}

#[derive(Debug)]
struct Look {
    began: Instant,
    /// When this process was last seen to have its core.
    seen: Instant,
    /// Another had the core meanwhile.
    is_crowded: bool,
}

impl Look {
    fn note_now(&mut self) -> Duration {
        let now = Instant::now();
        self.is_crowded |= now - self.seen > AWAY_LONG;
        self.seen = now;
        now - self.began
    }
}

impl Patience {
    pub fn new(cores: usize) -> Patience {
        Patience { spins: cores > 1, failures: 0, short: 0, look: None }
    }

    /// Nothing has come yet: waits for a moment. False: long enough, sleep.
    pub fn look_on(&mut self) -> bool {
        if !self.is_long() {
            self.note(false);
            return false;
        }
        let look = self.look.get_or_insert_with(|| {
            let now = Instant::now();
            Look { began: now, seen: now, is_crowded: false }
        });
        let looked = look.note_now();
        if look.is_crowded || looked >= LOOK_LONG {
            self.look = None;
            self.note(false);
            return false;
        }
        if looked < SPIN {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
        true
    }

    /// What was looked for has come, if anything was.
    pub fn found(&mut self) {
        if let Some(mut look) = self.look.take() {
            look.note_now();
            self.note(!look.is_crowded);
        }
    }

    fn is_long(&self) -> bool {
        self.spins && self.short == 0
    }

    /// A look has found what it was for, or not.
    fn note(&mut self, found: bool) {
        if self.short > 0 {
            self.short -= 1;
        } else if found {
            self.failures = 0;
        } else {
            self.failures = (self.failures + 1).min(FAILURES_MAX);
            self.short = (4 << self.failures) - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What so many looks were: `.` short ones, `L` long ones that end as is said.
    fn looks(patience: &mut Patience, looks: usize, found: bool) -> String {
        let mut kinds = String::new();
        for _ in 0..looks {
            kinds.push(if patience.is_long() { 'L' } else { '.' });
            patience.note(found);
        }
        kinds
    }

    fn long(kinds: &str) -> usize {
        kinds.matches('L').count()
    }

    #[test]
    fn what_is_found_is_looked_for_long() {
        assert_eq!(long(&looks(&mut Patience::new(2), 1000, true)), 1000);
    }

    #[test]
    fn what_is_not_found_is_looked_for_long_ever_more_seldom() {
        let mut patience = Patience::new(2);
        assert_eq!(looks(&mut patience, 8 + 16 + 1, false), "L.......L...............L");
        looks(&mut patience, 31 + 64 + 128 + 256 + 512 + 1024, false);
        assert_eq!(long(&looks(&mut patience, 10 * 1024, false)), 10);
    }

    #[test]
    fn one_long_look_that_finds_something_brings_them_all_back() {
        let mut patience = Patience::new(2);
        looks(&mut patience, 10_000, false);
        looks(&mut patience, 1024, true);
        assert_eq!(long(&looks(&mut patience, 100, true)), 100);
    }

    #[test]
    fn nobody_looks_on_a_single_core() {
        let mut patience = Patience::new(1);
        assert!(!patience.look_on());
        assert!(!patience.look_on());
    }

    /// Two processes that were always answered in time looked on and on by turns, and the others had
    /// the cores when the system took them away, milliseconds later.
    #[test]
    fn who_shares_its_core_sleeps_even_where_its_looks_find_something() {
        let mut patience = Patience::new(2);
        assert!(patience.look_on());
        let look = patience.look.as_mut().unwrap();
        look.seen -= 2 * AWAY_LONG;
        patience.found();
        assert_eq!(looks(&mut patience, 8, false), ".......L");
        // Seen while it looks, too: it does not look on.
        let mut patience = Patience::new(2);
        assert!(patience.look_on());
        patience.look.as_mut().unwrap().seen -= 2 * AWAY_LONG;
        assert!(!patience.look_on());
        assert!(!patience.is_long());
    }
}
