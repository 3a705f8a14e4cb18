//! What is counted, each thing once, in the counting session's own words.

use crate::session::Session;

/// A counter's place in a session's statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    Hits = 0,
    Misses,
    ReadsOfSeveral,
    ContendedReads,
    Changes,
    Expired,
    Evicted,
    Splits,
}

impl Session {
    #[inline(always)]
    pub(crate) fn count(&self, counter: Counter, more: u64) {
        let _ = (counter, more);
    }

    #[inline(always)]
    pub(crate) fn count_change(&self) {
        self.count(Counter::Changes, 1);
    }

    pub(crate) fn count_expired(&self) {
        self.count(Counter::Expired, 1);
    }

    pub(crate) fn count_evicted(&self) {
        self.count(Counter::Evicted, 1);
    }

    pub(crate) fn count_split(&self) {
        self.count(Counter::Splits, 1);
    }
}
