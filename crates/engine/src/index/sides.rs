//! Which half of a segment an item goes to at the next split, as far as that is known without reading the item.
//!
//! ```text
//! word w of the head, u64 at 48 + 8 w      home lines 3 w + 1 to 3 w + 3
//! bits 0..19, 20..39, 40..59               two bits a slot: 0 not known, 2 the low half, 3 the high one
//! bits 60..63                              the segment's doublings; 15: it keeps no sides
//! ```
//! Who inserts a key has its hash, and leaves here the bit of it by which the segment will be split. A split reads the items
//! of which it knows nothing, those of stash lines and those with a deadline, and notes for these the bit of the split after.
//! So of the items of home lines it reads a third: half of them came since the split before, and of the others, those
//! it did not read then (decision 191).
//!
//! Read and written under the shard's lock only. The bits of an empty slot mean nothing.

use super::directory::{DirectoryWord, POSITION_BITS, Span};
use super::segment::{HOME_LINES, Segment};
use crate::index::bucket::SLOTS;
use crate::sync::atomics::Ordering::Relaxed;

pub(crate) const SIDES_AT: usize = 48;
const LINES_A_WORD: usize = 3;
pub(crate) const SIDES_WORDS: usize = HOME_LINES.div_ceil(LINES_A_WORD);
const LINE_BITS: usize = 2 * SLOTS;
const DEPTH_SHIFT: u32 = 60;
const _: () = assert!(LINES_A_WORD * LINE_BITS <= DEPTH_SHIFT as usize);
/// Of a segment that several entries name, which is split between two of these, and of one as deep as no store has them.
const NOT_KEPT: u64 = 15;

/// The bits of a slot.
pub(super) const UNKNOWN: u8 = 0;
const KNOWN: u8 = 2;

/// By which bit of a key's position a segment is split, if by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Depth(u64);

impl Depth {
    #[cfg(test)]
    pub const NONE: Depth = Depth(NOT_KEPT);

    pub fn of(span: Span) -> Depth {
        let doublings = u64::from(span.doublings);
        Depth(if span.count == 1 && doublings < NOT_KEPT { doublings } else { NOT_KEPT })
    }

    /// The side of a key in a segment of this depth.
    #[inline(always)]
    pub fn side_of(self, position: u64, directory: DirectoryWord) -> u8 {
        if self.0 == NOT_KEPT {
            return UNKNOWN;
        }
        // The bit that comes behind those which name the entry.
        let shift = u64::from(POSITION_BITS) - 1 - self.0;
        KNOWN | ((position * u64::from(directory.cells())) >> shift) as u8 & 1
    }
}

/// Which child a known side is: 0 the low one, 1 the high one.
#[inline(always)]
pub(super) fn child_of(side: u8) -> usize {
    usize::from(side & 1)
}

/// Where the bits of a home line are: the offset of their word in the segment, and how far up in it.
#[inline(always)]
fn place_of(home: usize) -> (usize, usize) {
    let line = home - 1;
    (SIDES_AT + 8 * (line / LINES_A_WORD), LINE_BITS * (line % LINES_A_WORD))
}

impl Segment<'_> {
    /// Asks for what [`note_side`](Segment::note_side) will change.
    #[inline(always)]
    pub fn prefetch_sides(&self, home: usize) {
        self.words.prefetch(self.at + place_of(home).0);
    }

    /// Notes the side of a key that a slot has been given to, under the shard's lock. Of stash lines none is kept: where
    /// its home line is, would have to be read from the item all the same.
    #[inline(always)]
    pub fn note_side(&self, line: usize, slot: usize, position: u64, directory: DirectoryWord) {
        if line > HOME_LINES {
            return;
        }
        let (at, shift) = place_of(line);
        let word = self.words.u64_in(self.at, at);
        let old = word.load(Relaxed);
        let side = u64::from(Depth(old >> DEPTH_SHIFT).side_of(position, directory));
        let shift = shift + 2 * slot;
        word.store(old & !(3 << shift) | side << shift, Relaxed);
    }

    /// The sides of a line's slots, from the low bits on.
    #[inline(always)]
    pub fn sides(&self, line: usize) -> u32 {
        if line > HOME_LINES {
            return 0;
        }
        let (at, shift) = place_of(line);
        (self.words.u64_in(self.at, at).load(Relaxed) >> shift) as u32 & ((1 << LINE_BITS) - 1)
    }

    /// Whether nothing wrong is known of the side of a key in this slot.
    pub fn side_is_of(
        &self,
        (line, slot): (usize, usize),
        position: u64,
        directory: DirectoryWord,
    ) -> bool {
        let side = (self.sides(line) >> (2 * slot)) as u8 & 3;
        side == UNKNOWN || side == Depth::of(self.span()).side_of(position, directory)
    }

    pub fn has_depth_of_its_span(&self) -> bool {
        let word = |number: usize| self.words.u64_in(self.at, SIDES_AT + 8 * number).load(Relaxed);
        (0..SIDES_WORDS).all(|number| Depth(word(number) >> DEPTH_SHIFT) == Depth::of(self.span()))
    }

    /// Sets the sides of all home lines, by their numbers from 1 on.
    pub(super) fn begin_sides(&self, depth: Depth, of_line: impl Fn(usize) -> u32) {
        for number in 0..SIDES_WORDS {
            let first = 1 + LINES_A_WORD * number;
            let lines = first..(first + LINES_A_WORD).min(HOME_LINES + 1);
            let sides = lines.fold(0, |sides, line| {
                sides | u64::from(of_line(line)) << (LINE_BITS * (line - first))
            });
            let word = self.words.u64_in(self.at, SIDES_AT + 8 * number);
            word.store(sides | depth.0 << DEPTH_SHIFT, Relaxed);
        }
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use crate::index::segment::{Owner, SEGMENT_BYTES};
    use crate::verbs::{Db, Put, Value};
    use std::sync::Arc;

    fn engine() -> Arc<Engine> {
        Engine::create(EngineOptions { shards: 16, ..EngineOptions::default() }).unwrap()
    }

    #[test]
    fn a_side_is_the_half_whose_entries_name_the_key_after_the_split() {
        let mut position = 0x9e37_79b9_u64;
        for cells in 8..16 {
            let directory = DirectoryWord(0).next(1, cells, 16);
            for doublings in 0..16 {
                position = position.wrapping_mul(0x5851_f42d_4c95_7f2d) % (1 << POSITION_BITS);
                let first = ((position * u64::from(cells)) >> (POSITION_BITS - doublings)) as u32;
                let span = Span { doublings, first, count: 1 };
                let side = Depth::of(span).side_of(position, directory);
                let is_high = span.halves()[1].is_at_or_behind(position, directory);
                let wanted = if doublings < 15 { KNOWN | u8::from(is_high) } else { UNKNOWN };
                assert_eq!(side, wanted, "{cells} cells, {span:?}");
                assert!(side == UNKNOWN || child_of(side) == usize::from(is_high));
            }
            let several = Span { doublings: 0, first: 0, count: 2 };
            assert_eq!(Depth::of(several).side_of(position, directory), UNKNOWN);
        }
    }

    #[test]
    fn a_side_is_kept_in_its_own_bits_beside_what_the_head_has() {
        let engine = engine();
        let session = engine.session().unwrap();
        let at = session.take_index(SEGMENT_BYTES).unwrap() as usize * 8;
        let segment = Segment { words: engine.mem(), at };
        let span = Span { doublings: 3, first: 5, count: 1 };
        segment.reset(Owner { root: 0, shard: 0, span }, 1);
        segment.set_cut(7, 9);
        let directory = DirectoryWord(0).next(1, 8, 3);
        let mut wanted = [0_u32; HOME_LINES + 1];
        for round in 0..3 {
            for (line, wanted) in wanted.iter_mut().enumerate().skip(1) {
                for slot in 0..SLOTS {
                    let is_high = (line * 7 + slot * 3 + round) % 5 < 2;
                    // The fourth bit below the cells'.
                    let position = u64::from(is_high) << (POSITION_BITS - 7);
                    segment.note_side(line, slot, position, directory);
                    *wanted &= !(3 << (2 * slot));
                    *wanted |= u32::from(KNOWN | u8::from(is_high)) << (2 * slot);
                    assert_eq!(segment.sides(line), *wanted);
                }
            }
            (1..=HOME_LINES).for_each(|line| assert_eq!(segment.sides(line), wanted[line]));
        }
        segment.note_side(HOME_LINES + 1, 0, 0, directory);
        assert_eq!(segment.sides(HOME_LINES + 1), 0);
        assert!(segment.has_depth_of_its_span());
        assert_eq!((segment.cut_number(), segment.cut_lines(), segment.ttl_items()), (7, 9, 0));
        assert_eq!((0..SLOTS).map(|slot| segment.line(1).load().tag(slot)).max(), Some(0));
    }

    /// All sides in a store that grows are right, and most are known: what is read of a segment that is split
    /// is what stands in stash lines and a third of the rest.
    #[test]
    fn most_sides_are_known_in_a_store_that_has_grown() {
        let engine = engine();
        let session = engine.session().unwrap();
        for number in 0..200_000 {
            let name = number.to_string();
            let key = engine.key(name.as_bytes());
            let put = Put::plain(Value::Bytes(b"x"));
            session.write(Db(0), &key, 1).put(Db(0), &key, &put).unwrap();
        }
        engine.verify().unwrap();
        let (mut known, mut all, mut first_known) = (0, 0, None);
        for number in 0..engine.view().shard_count() {
            let shard = engine.view().shard_at(engine.view().root_of(Db(0)), number);
            for index in 0..shard.directory().entries() {
                let segment = shard.segment(shard.directory(), index);
                for line in 1..=HOME_LINES {
                    let tags = segment.line(line).load();
                    for slot in (0..SLOTS).filter(|slot| tags.tag(*slot) != 0) {
                        all += 1;
                        if segment.sides(line) >> (2 * slot) & 2 != 0 {
                            known += 1;
                            first_known.get_or_insert((segment, line, slot));
                        }
                    }
                }
            }
        }
        assert!(known * 10 > all * 5 && known < all, "{known} of {all}");
        // And what is wrong is found.
        let (segment, line, slot) = first_known.expect("a side that is known");
        let (at, shift) = place_of(line);
        let word = engine.mem().u64_in(segment.at, at);
        word.store(word.load(Relaxed) ^ 1 << (shift + 2 * slot), Relaxed);
        let error = engine.verify().unwrap_err();
        assert!(error.contains(": X7 "), "{error}");
    }
}
