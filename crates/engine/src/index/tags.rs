//! What a lookup loads of a line: its version and the tags of its slots, and which of them are a key's.
//!
//! ```text
//! word 0   version u32 | tags 0..3           version: bits 0-1 reserved, bits 2-5 stash line, 6-31 counter
//! word 1   tags 4..9 (48 bits) | meta 8, 9
//! ```
//! Most keys that are not in a slot have another tag than it: their items' memory is not asked for.

use crate::index::bucket::SLOTS;

pub(super) const STASH_SHIFT: u32 = 2;
pub(super) const STASH_MASK: u64 = 0xf << STASH_SHIFT;
pub(super) const VERSION_MASK: u64 = 0xffff_ffff;
const TAGS_IN_WORD1: u64 = 0xffff_ffff_ffff;

/// The tag of a hash: its low byte, never 0.
#[inline(always)]
pub(crate) fn tag_of(hash: u64) -> u8 {
    let tag = hash as u8;
    if tag == 0 { 1 } else { tag }
}

/// The stash line of a line of this version; 0 = none.
#[inline(always)]
pub(crate) fn stash_of(version: u32) -> usize {
    ((u64::from(version) & STASH_MASK) >> STASH_SHIFT) as usize
}

/// Of a bit for each byte of a line's first two words, those that are of tags: of bytes 4 to 13.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn tags_of(bytes: u32) -> u32 {
    bytes >> 4 & ((1 << SLOTS) - 1)
}

/// The two words of a line that a lookup needs, as loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineTags {
    pub word0: u64,
    pub word1: u64,
}

impl LineTags {
    #[inline(always)]
    pub fn version(&self) -> u32 {
        (self.word0 & VERSION_MASK) as u32
    }

    /// The stash line (1 to 4 within the stash) that takes what does not fit here; 0 = none.
    #[inline(always)]
    pub fn stash(&self) -> usize {
        ((self.word0 & STASH_MASK) >> STASH_SHIFT) as usize
    }

    /// The tags without versions and meta bytes: equal if and only if no slot was filled or
    /// emptied in between (given equal versions).
    #[inline(always)]
    pub fn tags_only(&self) -> (u64, u64) {
        (self.word0, self.word1 & TAGS_IN_WORD1)
    }

    /// A bit for each slot whose tag is `tag`, and for no other: what an emptied slot still names
    /// must not be followed.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    pub fn matches(&self, tag: u8) -> u32 {
        // SAFETY: it asks for SSE2, which every processor of this architecture has.
        tags_of(unsafe { equal_bytes(self.word0, self.word1, tag) })
    }

    /// The same without the processor's help.
    #[cfg(any(not(target_arch = "x86_64"), miri, test))]
    pub fn matches_by_words(&self, tag: u8) -> u32 {
        let low = self.word0 >> 32 | self.word1 << 32;
        let high = self.word1 >> 32 & 0xffff;
        let wanted = u64::from(tag) * 0x0101_0101_0101_0101;
        zero_bytes(low ^ wanted) | (zero_bytes(high ^ wanted) & 3) << 8
    }

    #[cfg(any(not(target_arch = "x86_64"), miri))]
    #[inline(always)]
    pub fn matches(&self, tag: u8) -> u32 {
        self.matches_by_words(tag)
    }

    #[inline(always)]
    pub fn tag(&self, slot: usize) -> u8 {
        if slot < 4 {
            (self.word0 >> (32 + 8 * slot)) as u8
        } else {
            (self.word1 >> (8 * (slot - 4))) as u8
        }
    }

    pub fn first_empty(&self) -> Option<usize> {
        let empty = self.matches(0);
        (empty != 0).then(|| empty.trailing_zeros() as usize)
    }

    pub fn used(&self) -> usize {
        SLOTS - self.matches(0).count_ones() as usize
    }

    /// The slots that are filled.
    #[inline(always)]
    pub fn used_slots(&self) -> impl Iterator<Item = usize> {
        let mut used = !self.matches(0) & ((1 << SLOTS) - 1);
        std::iter::from_fn(move || {
            let slot = (used != 0).then(|| used.trailing_zeros() as usize);
            used &= used.wrapping_sub(1);
            slot
        })
    }
}

/// A bit for each of the sixteen bytes that is `byte`.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "sse2")]
#[inline]
fn equal_bytes(word0: u64, word1: u64, byte: u8) -> u32 {
    use core::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let bytes = _mm_set_epi64x(word1 as i64, word0 as i64);
    _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))) as u32
}

/// A bit for each zero byte (bit i for byte i). Exact: the shorter `(word - 0x01..) & !word & 0x80..`
/// borrows from the byte above a zero, and then takes a 1 there for a zero too.
#[cfg(any(not(target_arch = "x86_64"), miri, test))]
#[inline(always)]
fn zero_bytes(word: u64) -> u32 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // No sum of seven bits carries into the next byte: the high bit says that one of them was set.
    let high_bits = !(((word & LOW) + LOW) | word | LOW);
    // Gathers the high bit of each byte into the top byte.
    ((high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_finds_the_slots_with_the_tag_and_no_others() {
        let tags: [u8; SLOTS] = [7, 1, 0, 7, 6, 255, 128, 0, 7, 6];
        let mut line = LineTags { word0: 0x1234_5678, word1: 0xabcd << 48 };
        for (slot, &tag) in tags.iter().enumerate() {
            if slot < 4 {
                line.word0 |= u64::from(tag) << (32 + 8 * slot);
            } else {
                line.word1 |= u64::from(tag) << (8 * (slot - 4));
            }
        }
        for tag in 1..=255u8 {
            let found = line.matches(tag);
            assert_eq!(line.matches_by_words(tag), found, "tag {tag}");
            for (slot, &t) in tags.iter().enumerate() {
                assert_eq!(found & 1 << slot != 0, t == tag, "tag {tag} slot {slot}");
                assert_eq!(line.tag(slot), t);
            }
            assert_eq!(found >> SLOTS, 0);
        }
        assert_eq!(line.first_empty(), Some(2));
        assert_eq!(line.used(), 8);
    }
}
