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
//! Each word is always accessed at this one width, and changes under the shard's lock only: a reader whose
//! use is to be counted tries that lock for it. So a change is a load and a store.
//!
//! The counter grows when a slot's item is replaced, removed or changed in place, so that who
//! sees it unchanged after reading an item has read that item and no other. Filling an empty slot
//! does not change it: reference first, then tag, and a reader sees the slot or does not.

use crate::arena::Mem;
use crate::index::draft::LineDraft;
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
use crate::index::tags::tags_of;
use crate::index::tags::{LineTags, STASH_MASK, STASH_SHIFT, VERSION_MASK};
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release};

pub(crate) const SLOTS: usize = 10;
pub(crate) const LINE_BYTES: usize = 64;

pub(crate) const META_FREQUENCY: u8 = 0b0011;
pub(crate) const META_MAIN: u8 = 0b0100;
pub(crate) const META_TTL: u8 = 0b1000;
/// The bits of an item's meta byte that a write of it sets anew.
const META_YOUTH: u8 = META_MAIN | 0xf0;

const COUNTER_ONE: u64 = 1 << 6;

/// Where a slot's meta byte is: the offset of its word, and how far up in it. Calculated, since no processor can
/// foresee which of the two words it will be.
#[inline(always)]
fn meta_place(slot: usize) -> (usize, usize) {
    let byte = 16 + slot - 10 * (slot >> 3);
    (byte & !7, 8 * (byte & 7))
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
        let (at, shift) = meta_place(slot);
        (self.words.u64_in(self.at, at).load(Relaxed) >> shift) as u8
    }

    /// The meta bytes of all slots.
    #[inline(always)]
    pub fn meta_of_all(&self) -> impl Fn(usize) -> u8 {
        let words = [16, 8].map(|at| self.words.u64_in(self.at, at).load(Relaxed));
        move |slot| if slot < 8 { words[0] >> (8 * slot) } else { words[1] >> (8 * slot - 16) } as u8
    }

    // ---- under the shard's lock ----

    /// Counts a read.
    #[inline(always)]
    pub fn bump_frequency(&self, slot: usize) {
        let meta = self.meta(slot);
        if meta & META_FREQUENCY < META_FREQUENCY {
            self.set_meta(slot, meta + 1);
        }
    }

    /// Makes the item as young as a new one, and one that has proven itself: somebody has written it again.
    #[inline(always)]
    pub fn renew(&self, slot: usize, generation: u64) {
        let meta = self.meta(slot);
        let young = META_MAIN | (generation as u8 & 0x0f) << 4;
        if meta & META_YOUTH != young {
            self.set_meta(slot, meta & !META_YOUTH | young);
        }
    }

    #[inline(always)]
    pub fn set_meta(&self, slot: usize, meta: u8) {
        let (at, shift) = meta_place(slot);
        self.set_byte(at, shift, meta);
    }

    /// Release, whichever byte it is: there may be tags in the word, and who sees one in the word that is stored
    /// here sees what was done before the tag was. Pairs with the Acquire in `load`, `has_tag` and `slots_of`.
    #[inline(always)]
    fn set_byte(&self, at: usize, shift: usize, byte: u8) {
        let word = self.words.u64_in(self.at, at);
        let old = word.load(Relaxed);
        word.store(old & !(0xff << shift) | u64::from(byte) << shift, Release);
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
        let byte = 4 + slot;
        self.set_byte(byte & 8, 8 * (byte & 7), tag);
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
        let LineDraft { used, stash, tags, meta, references, .. } = draft;
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
    use std::sync::Arc;

    /// A line whose slots are all filled: the tag and the meta byte of a slot are these two and its number.
    fn full_line(engine: &Arc<Engine>, tag: u8, meta: u8) -> Line<'_> {
        let session = engine.session().unwrap();
        let at = session.take_index(SEGMENT_BYTES).unwrap() as usize * 8;
        let line = Line { words: engine.mem(), at };
        line.reset(u32::MAX);
        for slot in 0..SLOTS {
            line.fill(slot, tag + slot as u8, meta + slot as u8, 1);
        }
        line
    }

    #[test]
    fn a_slots_tag_is_told_by_its_own_byte() {
        let options = EngineOptions { shards: 16, ..EngineOptions::default() };
        let engine = Engine::create(options).unwrap();
        let line = full_line(&engine, 0xa0, 0xf0);
        for slot in 0..SLOTS {
            for tag in 0..=255 {
                let is_its_own = tag == 0xa0 + slot as u8;
                assert_eq!(line.has_tag(slot, tag), is_its_own, "slot {slot} tag {tag}");
            }
        }
    }

    /// Meta bytes lie in two words, beside tags in one of them.
    #[test]
    fn bytes_of_a_slot_change_and_no_others() {
        let options = EngineOptions { shards: 16, ..EngineOptions::default() };
        let engine = Engine::create(options).unwrap();
        let line = full_line(&engine, 0x20, 0x40);
        let mut wanted: Vec<(u8, u8)> = (0..10).map(|slot| (0x20 + slot, 0x40 + slot)).collect();
        let as_wanted = |wanted: &[(u8, u8)], version: u32| {
            let tags = line.load();
            let found: Vec<_> = (0..SLOTS).map(|slot| (tags.tag(slot), line.meta(slot))).collect();
            assert_eq!((&found[..], tags.version()), (wanted, version));
        };
        let version = line.version();
        for slot in 0..SLOTS {
            as_wanted(&wanted, version);
            line.set_meta(slot, 0x81);
            wanted[slot].1 = 0x81;
            as_wanted(&wanted, version);
            for frequency in [0x82, 0x83, 0x83] {
                line.bump_frequency(slot);
                wanted[slot].1 = frequency;
                as_wanted(&wanted, version);
            }
            line.renew(slot, 0x1b);
            wanted[slot].1 = 0xb3 | META_MAIN;
            as_wanted(&wanted, version);
            line.set_tag(slot, 0xff);
            wanted[slot].0 = 0xff;
        }
        let before = line.version();
        line.clear(9);
        wanted[9].0 = 0;
        as_wanted(&wanted, before.wrapping_add(COUNTER_ONE as u32));
    }
}
