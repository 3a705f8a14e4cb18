//! Counters and histograms in session slots: stored by their session, read by anybody.
//!
//! ```text
//! HISTOGRAM 256 x u64   0 below 64 ns | 1 .. 240: 8 per doubling from 64 ns to 68 s | 241 above
//!                       242 sum of nanoseconds | 243 largest | 244 .. 255 unused
//! ```
//!
//! A counter has one writer, so it needs no read-modify-write; `Relaxed` because it orders
//! nothing. Slots keep their figures when their session ends: sums only ever grow.

use super::SessionSlot;
use super::session::{
    COMMITTED_AT, COUNTERS, COUNTERS_AT, HISTOGRAM_BYTES, HISTOGRAMS, HISTOGRAMS_AT,
};
use crate::arena::{Mem, Words};
use crate::sync::atomics::Ordering::Relaxed;

/// Places of a histogram that count.
pub const BUCKETS: usize = 242;
const SUM: u64 = 242;
const LARGEST: u64 = 243;
const FIRST_OCTAVE: u32 = 6;
const OCTAVES: u32 = 30;
const SUB_SHIFT: u32 = 3;

const _: () = assert!(BUCKETS as u32 == (OCTAVES << SUB_SHIFT) + 2);
const _: () = assert!((LARGEST + 1) * 8 <= HISTOGRAM_BYTES);

/// The place that counts a duration.
#[inline]
pub fn bucket_of(nanos: u64) -> usize {
    if nanos < 1 << FIRST_OCTAVE {
        return 0;
    }
    let octave = nanos.ilog2();
    let sub = nanos >> (octave - SUB_SHIFT) & ((1 << SUB_SHIFT) - 1);
    let place = (((octave - FIRST_OCTAVE) << SUB_SHIFT) as usize) + sub as usize + 1;
    place.min(BUCKETS - 1)
}

/// The shortest duration that a place counts.
pub fn bucket_start(place: usize) -> u64 {
    if place == 0 {
        return 0;
    }
    let i = place as u32 - 1;
    let octave = FIRST_OCTAVE + (i >> SUB_SHIFT);
    let sub = (i & ((1 << SUB_SHIFT) - 1)) as u64;
    (1 << octave) + (sub << (octave - SUB_SHIFT))
}

impl SessionSlot {
    #[inline(always)]
    fn add(&self, at: u64, more: u64) {
        let word = self.arena.u64_at(self.at + at);
        word.store(word.load(Relaxed).wrapping_add(more), Relaxed);
    }

    /// Adds to a counter, 0 to `COUNTERS - 1`.
    #[inline(always)]
    pub fn count(&self, counter: usize, more: u64) {
        assert!(counter < COUNTERS);
        self.add(COUNTERS_AT + counter as u64 * 8, more);
    }

    /// The same, by whoever has the arena's words at hand.
    #[inline(always)]
    pub(crate) fn count_in(&self, mem: Mem<'_>, counter: usize, more: u64) {
        assert!(counter < COUNTERS);
        let word = mem.u64_in(self.at as usize, COUNTERS_AT as usize + counter * 8);
        word.store(word.load(Relaxed).wrapping_add(more), Relaxed);
    }

    /// Counts a duration in a histogram, 0 to `HISTOGRAMS - 1`.
    #[inline]
    pub fn record(&self, histogram: usize, nanos: u64) {
        assert!(histogram < HISTOGRAMS);
        let at = HISTOGRAMS_AT + histogram as u64 * HISTOGRAM_BYTES;
        self.add(at + bucket_of(nanos) as u64 * 8, 1);
        self.add(at + SUM * 8, nanos);
        let largest = self.arena.u64_at(self.at + at + LARGEST * 8);
        if largest.load(Relaxed) < nanos {
            largest.store(nanos, Relaxed);
        }
    }
}

/// Calls `visit` with the offset of every slot that was ever in use.
fn each_slot(words: &Words, mut visit: impl FnMut(u64)) {
    // Relaxed: a slot that appears meanwhile is counted next time.
    let mut slots = words.load64(COMMITTED_AT, Relaxed);
    while slots != 0 {
        visit(words.layout().session(slots.trailing_zeros()));
        slots &= slots - 1;
    }
}

/// A counter summed over all sessions there have been. Works on an attached arena as well.
pub fn counters_sum(words: &Words, counter: usize) -> u64 {
    assert!(counter < COUNTERS);
    let mut sum = 0u64;
    each_slot(words, |slot| {
        sum = sum.wrapping_add(words.load64(slot + COUNTERS_AT + counter as u64 * 8, Relaxed));
    });
    sum
}

/// A histogram summed over all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    pub counts: Vec<u64>,
    pub sum_nanos: u64,
    pub largest_nanos: u64,
}

impl Histogram {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// A duration that at least this share (0 to 1) of all did not exceed, to one eighth of a
    /// doubling.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return bucket_start(place + 1).min(self.largest_nanos);
            }
        }
        self.largest_nanos
    }
}

/// A histogram summed over all sessions there have been. Works on an attached arena as well.
pub fn histogram_sum(words: &Words, histogram: usize) -> Histogram {
    assert!(histogram < HISTOGRAMS);
    let mut sum = Histogram { counts: vec![0; BUCKETS], sum_nanos: 0, largest_nanos: 0 };
    each_slot(words, |slot| {
        let at = slot + HISTOGRAMS_AT + histogram as u64 * HISTOGRAM_BYTES;
        for (place, count) in sum.counts.iter_mut().enumerate() {
            *count += words.load64(at + place as u64 * 8, Relaxed);
        }
        sum.sum_nanos = sum.sum_nanos.wrapping_add(words.load64(at + SUM * 8, Relaxed));
        sum.largest_nanos = sum.largest_nanos.max(words.load64(at + LARGEST * 8, Relaxed));
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_counted_where_it_belongs() {
        for nanos in (0..100_000).chain((17..36).flat_map(|e| [(1 << e) - 1, 1 << e])) {
            let place = bucket_of(nanos);
            assert!(bucket_start(place) <= nanos, "{nanos}");
            assert!(nanos < bucket_start(place + 1), "{nanos}");
        }
        assert_eq!(bucket_of((1 << 36) - 1), 240);
        assert_eq!(bucket_of(1 << 36), 241);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }
}
