//! What is counted, each thing once, in the counting session's own words of the arena.
//!
//! A counter has one writer and never goes back, so that anybody may read the sums at any time,
//! an attached process included. CONFIG RESETSTAT therefore resets nothing here: it remembers
//! where the sums stood.

use crate::alloc::statistics::counters_sum;
use crate::arena::Words;
use crate::engine::Engine;
use crate::reader::Reader;
use crate::session::Session;

/// A counter's place in a session's statistics. Places from [`Counter::SERVER_FIRST`] on are for
/// whoever owns the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    Hits = 0,
    Misses,
    ContendedReads,
    Changes,
    Expired,
    Evicted,
    Splits,
    Moved,
    MovedAbove,
    /// Changes of elements beyond the changes of keys, and changes of keys that are none of elements.
    ElementsBeyond,
    ChangesBeside,
}

impl Counter {
    /// The first of the places that the engine leaves to the server.
    pub const SERVER_FIRST: usize = 32;
}

/// Sums over all sessions, ended ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub hits: u64,
    pub misses: u64,
    /// Optimistic reads that gave up and took the lock.
    pub contended_reads: u64,
    pub changes: u64,
    pub expired: u64,
    pub evicted: u64,
    /// Segments split.
    pub splits: u64,
    /// Items moved by compaction.
    pub moved: u64,
    /// Of these, those above the size that [`Engine::count_moves_above`] was told.
    pub moved_above: u64,
}

impl Statistics {
    fn of(words: &Words) -> Statistics {
        let sum = |counter: Counter| counters_sum(words, counter as usize);
        Statistics {
            hits: sum(Counter::Hits),
            misses: sum(Counter::Misses),
            contended_reads: sum(Counter::ContendedReads),
            changes: sum(Counter::Changes),
            expired: sum(Counter::Expired),
            evicted: sum(Counter::Evicted),
            splits: sum(Counter::Splits),
            moved: sum(Counter::Moved),
            moved_above: sum(Counter::MovedAbove),
        }
    }

    /// What came since `before`.
    fn since(self, before: Statistics) -> Statistics {
        Statistics {
            hits: self.hits - before.hits,
            misses: self.misses - before.misses,
            contended_reads: self.contended_reads - before.contended_reads,
            changes: self.changes - before.changes,
            expired: self.expired - before.expired,
            evicted: self.evicted - before.evicted,
            splits: self.splits - before.splits,
            moved: self.moved - before.moved,
            moved_above: self.moved_above - before.moved_above,
        }
    }
}

impl Engine {
    /// Sums since the last reset.
    pub fn statistics(&self) -> Statistics {
        let before = *self.statistics_reset_at().lock().expect("no holder panics");
        Statistics::of(self.arena()).since(before)
    }

    /// Changes as whoever sent the commands counts them: those of three elements by one command are three,
    /// though its key has changed once; what is renamed is one, though two keys have changed; and nobody
    /// has expired or evicted keys. A reset leaves it.
    pub fn elements_changed(&self) -> u64 {
        let sum = |counter: Counter| counters_sum(self.arena(), counter as usize);
        let changes = sum(Counter::Changes) + sum(Counter::ElementsBeyond);
        // They are read one after the other while others count.
        changes.saturating_sub(
            sum(Counter::ChangesBeside) + sum(Counter::Expired) + sum(Counter::Evicted),
        )
    }

    pub fn reset_statistics(&self) {
        let mut before = self.statistics_reset_at().lock().expect("no holder panics");
        *before = Statistics::of(self.arena());
    }
}

impl Reader {
    /// Sums since the server began, whether it still runs or not.
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self.arena())
    }

    /// One counter of the server's own, from [`Counter::SERVER_FIRST`] on.
    pub fn server_counter(&self, place: usize) -> u64 {
        counters_sum(self.arena(), place)
    }
}

impl Session {
    /// Adds to one of the server's own counters, from [`Counter::SERVER_FIRST`] on.
    #[inline]
    pub fn count_for_server(&self, place: usize, more: u64) {
        debug_assert!(place >= Counter::SERVER_FIRST);
        self.slot().count(place, more);
    }

    /// Says how many elements so many changes of keys were, where that is not the same number.
    #[inline]
    pub fn count_elements(&self, elements: usize, changes: usize) {
        if elements > changes {
            self.count(Counter::ElementsBeyond, (elements - changes) as u64);
        } else if elements < changes {
            self.count(Counter::ChangesBeside, (changes - elements) as u64);
        }
    }

    /// Counts a duration in one of the latency histograms.
    #[inline]
    pub fn record_latency(&self, histogram: usize, nanos: u64) {
        self.slot().record(histogram, nanos);
    }

    #[inline(always)]
    pub(crate) fn count(&self, counter: Counter, more: u64) {
        self.slot().count(counter as usize, more);
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

    pub(crate) fn count_moved(&self, bytes: usize) {
        self.count(Counter::Moved, 1);
        if bytes as u64 > self.engine().moves_counted_above() {
            self.count(Counter::MovedAbove, 1);
        }
    }

    pub(crate) fn count_split(&self) {
        self.count(Counter::Splits, 1);
    }
}
