//! Counts of what clients asked for, as `stats` reports them.
//!
//! Each thread counts in a tally of its own, so counting is an ordinary addition; whoever reports
//! adds the tallies up and may be a few requests late.

use std::sync::atomic::{AtomicU64, Ordering};

/// One thing that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    Get,
    GetHit,
    GetMiss,
    Set,
    Flush,
    Touch,
    TouchHit,
    TouchMiss,
    DeleteHit,
    DeleteMiss,
    IncrHit,
    IncrMiss,
    DecrHit,
    DecrMiss,
    CasHit,
    CasMiss,
    CasBad,
    Meta,
    TooLarge,
    NoMemory,
    Auth,
    AuthError,
    /// Misses of keys that had expired, or that `flush_all` took.
    GetExpired,
    GetFlushed,
    /// Attempts to store that stored nothing.
    NotStored,
    /// Items that something else than a store made: counting, or `N` of `mg` and `ma`.
    Made,
}

/// Number of things counted.
const COUNTS: usize = Count::Made as usize + 1;

/// One thread's counts. Only that thread adds.
#[derive(Debug)]
pub struct Tally {
    counts: [AtomicU64; COUNTS],
}

impl Default for Tally {
    fn default() -> Self {
        Tally { counts: [const { AtomicU64::new(0) }; COUNTS] }
    }
}

impl Tally {
    /// Relaxed: a number for people, which nothing is concluded from.
    #[inline]
    pub fn add(&self, count: Count) {
        let cell = &self.counts[count as usize];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Zeroes it; an addition that its thread makes at this moment may survive.
    pub fn reset(&self) {
        for cell in &self.counts {
            cell.store(0, Ordering::Relaxed);
        }
    }
}

/// The sum of tallies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    sums: [u64; COUNTS],
}

impl Totals {
    pub fn add(&mut self, tally: &Tally) {
        for (sum, cell) in self.sums.iter_mut().zip(&tally.counts) {
            *sum = sum.wrapping_add(cell.load(Ordering::Relaxed));
        }
    }

    pub fn of(&self, count: Count) -> u64 {
        self.sums[count as usize]
    }
}
