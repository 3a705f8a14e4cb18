//! Free units in a row: how many begin in which extent, and the search for a place for a run.
//!
//! ```text
//! REACHES   u8 x 16,384 extents   the most free committed units in a row that begin in the extent,
//!                                 those of the next extent included, 255 at most
//! ```
//!
//! Who stores a large value in place of another looks for a place each time, and the lowest is to
//! be found. In a gigabyte of values of 100 kB every extent has a few units left over, and a search
//! through the descriptors read half of them, 17 KiB, for each value. The reaches of a gigabyte are
//! nine lines.
//!
//! Every word here is read and written under the heap's lock, hence relaxed.

use super::Allocator;
use super::extent::Summary;
use super::heap::Span;
use crate::arena::layout::{REACHES_AT, UNITS_PER_EXTENT};
use crate::sync::atomics::Ordering::Relaxed;

/// Longer runs may go on beyond the next extent: their search goes through the descriptors from
/// the first extent that this many units reach.
const REACH_MAX: u32 = UNITS_PER_EXTENT;

/// One in each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Which units count as free.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Free {
    Committed,
    /// And those that nobody has committed yet.
    Obtainable,
    /// And those that are being committed ahead of need.
    Soon,
}

/// The most set bits in a row.
fn longest_run(free: u128) -> u32 {
    // Bit i of `runs[k]`: 2^k set bits from bit i on.
    let mut runs = [free; 8];
    for k in 1..8 {
        runs[k] = runs[k - 1] & runs[k - 1] >> (1 << (k - 1));
    }
    if runs[7] != 0 {
        return UNITS_PER_EXTENT;
    }
    // Bit i of `starts`: `length` set bits from bit i on.
    let (mut starts, mut length) = (u128::MAX, 0);
    for k in (0..7).rev() {
        let longer = starts & runs[k] >> length;
        if longer != 0 {
            starts = longer;
            length += 1 << k;
        }
    }
    length
}

/// The most free units in a row that begin in an extent, of its free units and the next one's.
fn reach(free: u128, next: u128) -> u32 {
    let at_end = free.leading_ones();
    let over_end = if at_end > 0 { at_end + next.trailing_ones() } else { 0 };
    longest_run(free).max(over_end).min(u8::MAX as u32)
}

fn reach_word(extent: u32) -> u64 {
    REACHES_AT + (extent as u64 & !7)
}

impl Allocator {
    /// What the reach of an extent should be.
    pub(super) fn true_reach(&self, index: u32) -> u32 {
        let free = self.extent(index).available();
        let is_last = index + 1 >= self.known_extents();
        // Nothing goes on where the last unit is taken: the next descriptor need not be looked at.
        let ends_here = free.leading_ones() == 0;
        let next = if is_last || ends_here { 0 } else { self.extent(index + 1).available() };
        reach(free, next)
    }

    pub(super) fn known_reach(&self, index: u32) -> u32 {
        let word = self.arena.load64(reach_word(index), Relaxed);
        (word >> (index % 8 * 8)) as u32 & 0xff
    }

    fn set_reach(&self, index: u32, reach: u32) {
        let word = self.arena.u64_at(reach_word(index));
        let shift = index % 8 * 8;
        let others = word.load(Relaxed) & !(0xff << shift);
        word.store(others | (reach as u64) << shift, Relaxed);
    }

    /// The free units of an extent have changed: so has its reach, and perhaps that of the extent
    /// before it.
    pub(super) fn note_free_units(&self, index: u32, before: u128, after: u128) {
        self.set_reach(index, self.true_reach(index));
        if index > 0 && before.trailing_ones() != after.trailing_ones() {
            self.set_reach(index - 1, self.true_reach(index - 1));
        }
    }

    /// The first extent in which at least so many free units in a row begin, or `REACH_MAX` where it
    /// is asked for more.
    fn find_reach(&self, units: u32) -> Option<u32> {
        // A byte of at least `least` has its high bit set, or gets it when this is added to the
        // other seven.
        let least = units.min(REACH_MAX) as u64;
        let added = ONES * (128 - least);
        let high = ONES << 7;
        (0..self.known_extents()).step_by(8).find_map(|first| {
            let word = self.arena.load64(reach_word(first), Relaxed);
            let found = (((word & !high) + added) | word) & high;
            (found != 0).then(|| first + found.trailing_zeros() / 8)
        })
    }

    /// The lowest `units` free units in a row.
    pub(super) fn find_run(&self, units: u32, free: Free) -> Option<Span> {
        let known = self.known_extents();
        let limit = self.arena.layout().extents;
        let end = if free == Free::Committed { known } else { limit };
        let mut first = 0;
        let mut length = 0;
        let mut extent = match free {
            Free::Committed => self.find_reach(units)?,
            _ => 0,
        };
        while extent < end {
            let free = if extent >= known {
                u128::MAX
            } else if free == Free::Obtainable {
                self.extent(extent).obtainable()
            } else if free == Free::Soon {
                self.extent(extent).obtainable_soon()
            } else {
                // Committed and free: the summary skips what is full.
                match self.find_extent(Summary::AnyFree, extent) {
                    Some(next) if next == extent => self.extent(extent).available(),
                    Some(next) => {
                        length = 0;
                        extent = next;
                        continue;
                    }
                    None => return None,
                }
            };
            let base = extent * UNITS_PER_EXTENT;
            let mut rest = free;
            let mut at = 0;
            loop {
                // `rest` is `free` shifted right by `at`; a run that goes on from before has
                // `length` units already.
                let ones = (!rest).trailing_zeros().min(UNITS_PER_EXTENT - at);
                if length == 0 {
                    first = base + at;
                }
                length += ones;
                if length >= units {
                    return Some(Span { first, units });
                }
                at += ones;
                if at >= UNITS_PER_EXTENT {
                    break;
                }
                length = 0;
                rest = if ones < 128 { rest >> ones } else { 0 };
                let zeros = rest.trailing_zeros().min(UNITS_PER_EXTENT - at);
                at += zeros;
                if at >= UNITS_PER_EXTENT {
                    break;
                }
                rest >>= zeros;
            }
            extent += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_is_that_of_a_count_bit_by_bit() {
        let slow = |free: u128| {
            let (mut most, mut length) = (0, 0);
            for bit in 0..128 {
                length = if free >> bit & 1 != 0 { length + 1 } else { 0 };
                most = most.max(length);
            }
            most
        };
        let mut seed = 0x9e37_79b9_7f4a_7c15_u128;
        for free in [0, 1, u128::MAX, u128::MAX - 1, u128::MAX >> 1, 0xff << 60, 1 << 127] {
            assert_eq!(longest_run(free), slow(free), "{free:#x}");
        }
        for round in 0..4_000 {
            seed = seed.wrapping_mul(0xda94_2042_e4dd_58b5).wrapping_add(1);
            // Sparse, even and dense: a run of any length comes up.
            let free = match round % 4 {
                0 => seed & seed.rotate_left(64),
                1 => seed,
                2 => seed | seed.rotate_left(64),
                _ => (u128::MAX << (seed % 128)) >> ((seed >> 64) % 128),
            };
            assert_eq!(longest_run(free), slow(free), "{free:#x}");
        }
    }

    #[test]
    fn a_reach_goes_on_into_the_next_extent_and_ends_at_255() {
        assert_eq!(reach(0, u128::MAX), 0);
        assert_eq!(reach(0b111 << 125, 0b1111), 7);
        assert_eq!(reach(0b111 << 125 | 0xfff, 0b1111), 12);
        assert_eq!(reach(u128::MAX, 0), 128);
        assert_eq!(reach(u128::MAX, u128::MAX), 255);
    }
}
