//! The bucket: one cache line of ten slots.
//!
//! ```text
//!  0 u64  version u32 | tags 0..3            version: bits 0-1 reserved, bits 2-5 stash line,
//!  8 u64  tags 4..9 (48 bits) | meta 8, 9             bits 6-31 counter
//! 16 u64  meta 0..7
//! 24 u32  reference x 10                     8-byte granules from the start of the arena
//! ```
//! tag 0 = empty slot. meta = frequency:2 | main:1 | has a deadline:1 | age:4.
//!
//! Each word is always accessed at this one width. Tags and version change under the shard's lock
//! only. Meta bytes are also bumped by readers, with a compare-and-swap of the whole word, which a
//! writer's plain store may undo: a lost bump costs nothing.
//!
//! The counter grows when a slot's item is replaced, removed or changed in place, so that who
//! sees it unchanged after reading an item has read that item and no other. Filling an empty slot
//! does not change it: reference first, then tag, and a reader sees the slot or does not.

use crate::arena::Mem;
use crate::index::draft::LineDraft;
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release};

pub(crate) const SLOTS: usize = 10;
pub(crate) const LINE_BYTES: usize = 64;

pub(crate) const META_FREQUENCY: u8 = 0b0011;
pub(crate) const META_MAIN: u8 = 0b0100;
pub(crate) const META_TTL: u8 = 0b1000;
/// The bits of an item's meta byte that a write of it sets anew.
const META_YOUTH: u64 = (META_MAIN | 0xf0) as u64;

const STASH_SHIFT: u32 = 2;
const STASH_MASK: u64 = 0xf << STASH_SHIFT;
const COUNTER_ONE: u64 = 1 << 6;
const VERSION_MASK: u64 = 0xffff_ffff;
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
fn tags_of(bytes: u32) -> u32 {
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

/// A line of a segment, by its byte offset in the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub words: Mem<'a>,
    pub at: usize,
}

impl<'a> Line<'a> {
    #[inline(always)]
    pub fn load(&self) -> LineTags {
        // Pairs with the Release stores below: who sees a tag sees the reference and the item;
        // who sees a version sees all that was done before it.
        let word0 = self.words.u64_in(self.at, 0).load(Acquire);
        let word1 = self.words.u64_in(self.at, 8).load(Acquire);
        LineTags { word0, word1 }
    }

    /// The version, and a bit for each slot whose tag is `tag`. The version is loaded first: a tag that is
    /// seen was there at that version or is newer, as with `load`.
    #[inline(always)]
    pub fn matches(&self, tag: u8) -> (u32, u32) {
        // Acquire as in `load`.
        let version = (self.words.u64_in(self.at, 0).load(Acquire) & VERSION_MASK) as u32;
        (version, self.slots_of(tag))
    }

    /// A bit for each slot whose tag is `tag`.
    #[inline(always)]
    pub fn slots_of(&self, tag: u8) -> u32 {
        #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
        return tags_of(self.words.equal_bytes(self.at, tag));
        #[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
        self.load().matches(tag)
    }

    /// Whether the slot's tag is `tag`.
    #[inline(always)]
    pub fn has_tag(&self, slot: usize, tag: u8) -> bool {
        let byte = 4 + slot;
        // Acquire as in `load`.
        let word = self.words.u64_in(self.at, byte & 8).load(Acquire);
        (word >> (8 * (byte & 7))) as u8 == tag
    }

    #[inline(always)]
    pub fn prefetch(&self) {
        self.words.prefetch(self.at);
    }

    #[inline(always)]
    pub fn version(&self) -> u32 {
        (self.words.u64_in(self.at, 0).load(Relaxed) & VERSION_MASK) as u32
    }

    #[inline(always)]
    pub fn reference(&self, slot: usize) -> u32 {
        // Pairs with the Release in `set_reference`.
        self.words.u32_in(self.at, 24 + 4 * slot).load(Acquire)
    }

    #[inline(always)]
    pub fn meta(&self, slot: usize) -> u8 {
        if slot < 8 {
            (self.words.u64_in(self.at, 16).load(Relaxed) >> (8 * slot)) as u8
        } else {
            (self.words.u64_in(self.at, 8).load(Relaxed) >> (8 * (slot - 2))) as u8
        }
    }

    // ---- under the shard's lock ----

    /// Counts a read.
    #[inline(always)]
    pub fn bump_frequency(&self, slot: usize) {
        let (at, shift) = if slot < 8 { (16, 8 * slot) } else { (8, 8 * (slot - 2)) };
        let word = self.words.u64_in(self.at, at);
        let old = word.load(Relaxed);
        if (old >> shift) & u64::from(META_FREQUENCY) < u64::from(META_FREQUENCY) {
            let _ = word.compare_exchange(old, old + (1 << shift), Relaxed, Relaxed);
        }
    }

    /// Makes the item as young as a new one, and one that has proven itself: somebody has written it again.
    #[inline(always)]
    pub fn renew(&self, slot: usize, generation: u64) {
        let (at, shift) = if slot < 8 { (16, 8 * slot) } else { (8, 8 * (slot - 2)) };
        let word = self.words.u64_in(self.at, at);
        let old = word.load(Relaxed);
        let young = u64::from(META_MAIN | (generation as u8 & 0x0f) << 4);
        if old >> shift & META_YOUTH != young {
            let new = old & !(META_YOUTH << shift) | young << shift;
            // A use that is counted beside this comes first.
            let _ = word.compare_exchange(old, new, Relaxed, Relaxed);
        }
    }

    pub fn set_meta(&self, slot: usize, meta: u8) {
        let (at, shift) = if slot < 8 { (16, 8 * slot) } else { (8, 8 * (slot - 2)) };
        let word = self.words.u64_in(self.at, at);
        // A reader may bump another meta byte of this word at the same time, hence the loop.
        let mut old = word.load(Relaxed);
        loop {
            let new = old & !(0xff << shift) | u64::from(meta) << shift;
            match word.compare_exchange(old, new, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    pub fn set_reference(&self, slot: usize, reference: u32) {
        // Pairs with the Acquire in `reference`: who sees it sees the item's bytes.
        self.words.u32_in(self.at, 24 + 4 * slot).store(reference, Release);
    }

    /// Says to readers that something in this line is no longer what they may have seen.
    #[inline(always)]
    pub fn bump_version(&self) {
        let word = self.words.u64_in(self.at, 0);
        let old = word.load(Relaxed);
        let version = (old as u32).wrapping_add(COUNTER_ONE as u32);
        // The counter is in the upper bits, so that wrapping does not touch the lower six.
        word.store(old & !VERSION_MASK | u64::from(version), Release);
    }

    pub fn set_stash(&self, stash: usize) {
        let word = self.words.u64_in(self.at, 0);
        let old = word.load(Relaxed);
        word.store(old & !STASH_MASK | (stash as u64) << STASH_SHIFT, Release);
        self.bump_version();
    }

    /// Makes a filled slot visible, or empties one (tag 0, followed by `bump_version`).
    pub fn set_tag(&self, slot: usize, tag: u8) {
        if slot < 4 {
            let word = self.words.u64_in(self.at, 0);
            let shift = 32 + 8 * slot;
            let old = word.load(Relaxed);
            word.store(old & !(0xff << shift) | u64::from(tag) << shift, Release);
            return;
        }
        let word = self.words.u64_in(self.at, 8);
        let shift = 8 * (slot - 4);
        let mut old = word.load(Relaxed);
        loop {
            // Two meta bytes share this word: see `set_meta`.
            let new = old & !(0xff << shift) | u64::from(tag) << shift;
            match word.compare_exchange(old, new, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Puts an item into an empty slot.
    pub fn fill(&self, slot: usize, tag: u8, meta: u8, reference: u32) {
        self.set_reference(slot, reference);
        self.set_meta(slot, meta);
        self.set_tag(slot, tag);
    }

    /// Empties a slot; the item's block may be freed afterwards.
    pub fn clear(&self, slot: usize) {
        self.set_tag(slot, 0);
        self.bump_version();
    }

    /// A fresh line, with a version that no reader of the memory's former use can have seen, whosever it was.
    pub fn reset(&self, version_seed: u32) {
        let version = u64::from(version_seed.wrapping_mul(COUNTER_ONE as u32));
        self.words.u64_in(self.at, 8).store(0, Relaxed);
        self.words.u64_in(self.at, 16).store(0, Relaxed);
        self.words.u64_in(self.at, 0).store(version, Release);
    }

    /// Fills a fresh line that nobody is led to yet. Somebody may see it nevertheless: who was on the way
    /// to it when its block was a segment before, of the same entry of the directory, which will name it
    /// again. He has found it empty, and must not take that for the truth when he looks whether the version is still
    /// the same: so it is another one, and it is stored last.
    pub(super) fn begin_with(&self, draft: &LineDraft) {
        let LineDraft { used, stash, tags, meta, references } = draft;
        for (slot, &reference) in references[..usize::from(*used)].iter().enumerate() {
            self.words.u32_in(self.at, 24 + 4 * slot).store(reference, Relaxed);
        }
        let word = |bytes: [u8; 8]| u64::from_le_bytes(bytes);
        let [t0, t1, t2, t3, t4, t5, t6, t7, t8, t9] = *tags;
        let [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = *meta;
        let meta0 = word([m0, m1, m2, m3, m4, m5, m6, m7]);
        self.words.u64_in(self.at, 16).store(meta0, Relaxed);
        self.words.u64_in(self.at, 8).store(word([t4, t5, t6, t7, t8, t9, m8, m9]), Relaxed);
        // The stash bits of a fresh line are 0, and so are its tags.
        let version =
            (self.version() | u32::from(*stash) << STASH_SHIFT).wrapping_add(COUNTER_ONE as u32);
        let tags0 = word([0, 0, 0, 0, t0, t1, t2, t3]);
        // Pairs with the Acquire in `load`: who sees this version sees all of the line.
        self.words.u64_in(self.at, 0).store(tags0 | u64::from(version), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use crate::index::segment::SEGMENT_BYTES;

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

    #[test]
    fn a_slots_tag_is_told_by_its_own_byte() {
        let options = EngineOptions { shards: 16, ..EngineOptions::default() };
        let engine = Engine::create(options).unwrap();
        let session = engine.session().unwrap();
        let at = session.take_index(SEGMENT_BYTES).unwrap() as usize * 8;
        let line = Line { words: engine.mem(), at };
        line.reset(u32::MAX);
        for slot in 0..SLOTS {
            line.fill(slot, 0xa0 + slot as u8, 0xff, 1);
        }
        for slot in 0..SLOTS {
            for tag in 0..=255 {
                let is_its_own = tag == 0xa0 + slot as u8;
                assert_eq!(line.has_tag(slot, tag), is_its_own, "slot {slot} tag {tag}");
            }
        }
    }
}
