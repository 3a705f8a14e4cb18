//! How long to look into a ring before sleeping: a client for its reply, a server for the next request.
//!
//! A sleep and a wake take tens of microseconds, at both ends; who is awake and alone on its
//! core answers in less. But where the other side needs the very core that this one looks on, or other processes
//! do, looking only keeps them from their work. So a long look is tried; after a moment it offers the core
//! to others each time it looks. Where it finds nothing, or others took the core, it is tried less often.
//!
//! ```text
//!   long look   found nothing, or -> 7 short -> long, in vain -> 15 short -> long, in vain -> 31 short ...
//!               shared the core                                            (at most 1023)
//!   long look   found it          -> long look
//!   short look  once, then sleep
//! ```

use std::time::Duration;

/// So much of a look without a system call; then the core is offered to others between two.
const SPIN: Duration = Duration::from_micros(3);
/// Who was away from its core for longer shares it with others.
const AWAY_LONG: Duration = Duration::from_micros(5);

/// After that many long looks in vain it does not become rarer.
const FAILURES_MAX: u32 = 8;

#[derive(Debug)]
pub struct Patience {
    /// More than one core: on a single one the other side needs this one's.
    spins: bool,
    /// How long a long look is.
    long: Duration,
    /// Long looks in a row that were in vain.
    failures: u32,
    /// Short looks until the next long one.
    short: u32,
    /// The one that goes on.
    look: Option<Look>,
}

/// Times are those of the caller's clock, from whatever moment on.
#[derive(Debug)]
struct Look {
    began: Duration,
    /// When this process was last seen to have its core.
    seen: Duration,
    /// Another had the core meanwhile.
    is_crowded: bool,
}

impl Look {
    /// How long it goes on.
    fn note_now(&mut self, now: Duration) -> Duration {
        self.is_crowded |= now.saturating_sub(self.seen) > AWAY_LONG;
        self.seen = now;
        now.saturating_sub(self.began)
    }
}

impl Patience {
    /// `spins`: the other end can run meanwhile (`has_several_cores`). `long`: what a sleep and a wake take.
    pub fn new(spins: bool, long: Duration) -> Patience {
        Patience { spins, long, failures: 0, short: 0, look: None }
    }

    /// Nothing has come yet: waits for a moment. False: long enough, sleep.
    pub fn look_on(&mut self, now: Duration) -> bool {
        if !self.is_long() {
            self.note(false);
            return false;
        }
        let look = self.look.get_or_insert(Look { began: now, seen: now, is_crowded: false });
        let looked = look.note_now(now);
        if look.is_crowded || looked >= self.long {
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
    pub fn found(&mut self, now: impl FnOnce() -> Duration) {
        if let Some(mut look) = self.look.take() {
            look.note_now(now());
            self.note(!look.is_crowded);
        }
    }

    /// There is something else to do: the look that goes on was neither for nothing nor in vain.
    pub fn leave(&mut self) {
        self.look = None;
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

    const LONG: Duration = Duration::from_micros(64);
    const AT: Duration = Duration::from_secs(1);

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
        assert_eq!(long(&looks(&mut Patience::new(true, LONG), 1000, true)), 1000);
    }

    #[test]
    fn what_is_not_found_is_looked_for_long_ever_more_seldom() {
        let mut patience = Patience::new(true, LONG);
        assert_eq!(looks(&mut patience, 8 + 16 + 1, false), "L.......L...............L");
        looks(&mut patience, 31 + 64 + 128 + 256 + 512 + 1024, false);
        assert_eq!(long(&looks(&mut patience, 10 * 1024, false)), 10);
    }

    #[test]
    fn one_long_look_that_finds_something_brings_them_all_back() {
        let mut patience = Patience::new(true, LONG);
        looks(&mut patience, 10_000, false);
        looks(&mut patience, 1024, true);
        assert_eq!(long(&looks(&mut patience, 100, true)), 100);
    }

    #[test]
    fn nobody_looks_on_a_single_core() {
        let mut patience = Patience::new(false, LONG);
        assert!(!patience.look_on(AT));
        assert!(!patience.look_on(AT));
    }

    /// Two processes that were always answered in time looked on and on by turns, and the others had
    /// the cores when the system took them away, milliseconds later.
    #[test]
    fn who_shares_its_core_sleeps_even_where_its_looks_find_something() {
        let mut patience = Patience::new(true, LONG);
        assert!(patience.look_on(AT));
        patience.found(|| AT + 2 * AWAY_LONG);
        assert_eq!(looks(&mut patience, 8, false), ".......L");
        // Seen while it looks, too: it does not look on.
        let mut patience = Patience::new(true, LONG);
        assert!(patience.look_on(AT));
        assert!(!patience.look_on(AT + 2 * AWAY_LONG));
        assert!(!patience.is_long());
    }
}
