//! Memcached's times to live, in seconds as clients write them, against the engine's deadlines.
//!
//! ```text
//!   0               never
//!   1 .. 30 days    from now on
//!   more            seconds since the Unix epoch; if that is over, at once, and if it is too far to be
//!                   told in milliseconds, never
//!   negative        at once
//! ```

use super::McContext;
use crate::limits::DEADLINE_MAX;
use dolium_engine::{Deadline, Found, Millis, NEVER};

/// Longest time that counts from now on, in seconds.
const RELATIVE_SECONDS_MAX: i64 = 30 * 24 * 3600;

/// How long an item shall live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Never,
    Until(Millis),
    /// It is over already: stored, and gone.
    Over,
}

impl Life {
    pub(crate) fn new(exptime: i64, now: Millis) -> Life {
        let at = match exptime {
            0 => return Life::Never,
            1..=RELATIVE_SECONDS_MAX => now + exptime as u64 * 1000,
            // What lies behind the last millisecond that can be told is never: PTTL would tell of it as
            // long past.
            _ if exptime > 0 => match (exptime as u64).checked_mul(1000) {
                Some(at) if at <= DEADLINE_MAX => at,
                _ => return Life::Never,
            },
            _ => return Life::Over,
        };
        if at <= now { Life::Over } else { Life::Until(at) }
    }

    /// `None` for an item that is over.
    pub(crate) fn deadline(self) -> Option<Millis> {
        match self {
            Life::Never => Some(NEVER),
            Life::Until(at) => Some(at),
            Life::Over => None,
        }
    }

    /// As for a store; `None` for an item that is over.
    pub(crate) fn of_put(self) -> Option<Deadline> {
        match self {
            Life::Never => Some(Deadline::Never),
            Life::Until(at) => Some(Deadline::At(at)),
            Life::Over => None,
        }
    }
}

impl McContext<'_> {
    pub(crate) fn life(&self, exptime: i64) -> Life {
        Life::new(exptime, self.now)
    }

    /// Seconds left to an item, begun ones counted whole; `None`: it never expires.
    pub(crate) fn seconds_left(&self, found: &Found) -> Option<u64> {
        seconds_until(found.deadline, self.now)
    }
}

pub(crate) fn seconds_until(deadline: Millis, now: Millis) -> Option<u64> {
    (deadline != NEVER).then(|| deadline.saturating_sub(now).div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_700_000_000_123;

    #[test]
    fn times_are_read_as_memcached_reads_them() {
        assert_eq!(Life::new(0, NOW), Life::Never);
        assert_eq!(Life::new(1, NOW), Life::Until(NOW + 1000));
        assert_eq!(Life::new(2_592_000, NOW), Life::Until(NOW + 2_592_000_000));
        // One second more than 30 days is a moment in January 1970.
        assert_eq!(Life::new(2_592_001, NOW), Life::Over);
        assert_eq!(Life::new(1_700_000_001, NOW), Life::Until(1_700_000_001_000));
        assert_eq!(Life::new(1_700_000_000, NOW), Life::Over);
        assert_eq!(Life::new(-1, NOW), Life::Over);
        assert_eq!(Life::new(i64::MIN, NOW), Life::Over);
        assert_eq!(Life::new(i64::MAX, NOW), Life::Never);
    }

    /// `set k 0 9300000000000000 1` was stored with a deadline above 2^63, and PTTL said that it was hugely
    /// negative.
    #[test]
    fn a_deadline_that_no_signed_number_holds_is_never() {
        let last = 9_223_372_036_854_775;
        assert_eq!(Life::new(last, NOW), Life::Until(9_223_372_036_854_775_000));
        assert_eq!(Life::new(last + 1, NOW), Life::Never);
        assert_eq!(Life::new(9_300_000_000_000_000, NOW), Life::Never);
    }

    #[test]
    fn a_begun_second_counts() {
        assert_eq!(seconds_until(NEVER, NOW), None);
        assert_eq!(seconds_until(NOW + 100_000, NOW), Some(100));
        assert_eq!(seconds_until(NOW + 99_001, NOW), Some(100));
        assert_eq!(seconds_until(NOW + 99_000, NOW), Some(99));
        assert_eq!(seconds_until(NOW - 1, NOW), Some(0));
    }
}
