//! A segment that is put together in plain memory, and then written a line at a time.
//!
//! In a segment that others see, each slot takes its stores, in their order. To what a split makes, or a move, nobody
//! is led before the directory names it: a line is a few stores of whole words there (decision 139).

use crate::index::bucket::SLOTS;
use crate::index::segment::{HOME_LINES, LINES, NO_DUE, Segment};
use crate::index::sides::Depth;
use crate::verbs::Millis;

/// A slot of the segment that is split or moved.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub reference: u32,
    pub tag: u8,
    pub meta: u8,
    /// The line where it stood.
    pub line: u8,
    /// To which half it goes at the next split (`sides.rs`).
    pub side: u8,
}

impl Slot {
    pub const NONE: Slot = Slot { reference: 0, tag: 0, meta: 0, line: 0, side: 0 };
}

/// A line, slot by slot from the first on.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineDraft {
    pub used: u8,
    pub stash: u8,
    pub tags: [u8; SLOTS],
    pub meta: [u8; SLOTS],
    pub references: [u32; SLOTS],
    /// Two bits a slot.
    pub sides: u32,
}

impl LineDraft {
    const EMPTY: LineDraft = LineDraft {
        used: 0,
        stash: 0,
        tags: [0; SLOTS],
        meta: [0; SLOTS],
        references: [0; SLOTS],
        sides: 0,
    };

    fn is_full(&self) -> bool {
        usize::from(self.used) == SLOTS
    }

    /// Takes the next slot, of which there has to be one.
    #[inline(always)]
    fn push(&mut self, slot: &Slot) {
        let at = usize::from(self.used);
        self.used += 1;
        (self.tags[at], self.meta[at], self.references[at]) = (slot.tag, slot.meta, slot.reference);
        self.sides |= u32::from(slot.side) << (2 * at);
    }
}

/// Visits all slots of a segment, line by line, and tells whether they have an item: which ones do is not to be
/// foreseen, and who does the same in either case waits for no guess.
#[inline(always)]
pub(super) fn gather(segment: Segment<'_>, mut visit: impl FnMut(Slot, bool)) {
    for number in 1..LINES {
        let line = segment.line(number);
        let (tags, meta) = (line.load(), line.meta_of_all());
        let sides = segment.sides(number);
        for slot in 0..SLOTS {
            let tag = tags.tag(slot);
            let side = (sides >> (2 * slot)) as u8 & 3;
            let reference = line.reference(slot);
            visit(Slot { reference, tag, meta: meta(slot), line: number as u8, side }, tag != 0);
        }
    }
}

pub(super) struct SegmentDraft {
    lines: [LineDraft; LINES],
    depth: Depth,
    ttl_items: i64,
    next_due: Millis,
}

impl SegmentDraft {
    pub const fn new(depth: Depth) -> SegmentDraft {
        SegmentDraft { lines: [LineDraft::EMPTY; LINES], depth, ttl_items: 0, next_due: NO_DUE }
    }

    /// All of a segment, each item in its line.
    pub fn of(segment: Segment<'_>) -> SegmentDraft {
        let mut draft = SegmentDraft::new(Depth::of(segment.span()));
        gather(segment, |slot, is_used| {
            if is_used {
                draft.lines[usize::from(slot.line)].push(&slot);
            }
        });
        for line in 1..=HOME_LINES {
            draft.lines[line].stash = segment.line(line).load().stash() as u8;
        }
        draft.ttl_items = segment.ttl_items() as i64;
        draft.next_due = segment.next_due();
        draft
    }

    /// Takes an item with this home line. Those of home lines come before those of stash lines. Its side is that of the
    /// split of this segment.
    #[inline(always)]
    pub fn take(&mut self, slot: &Slot, home: usize) {
        let mut line = home;
        if self.lines[home].is_full() {
            // As the parent's was, which had this stash line: in the child no other item goes there than
            // in the parent.
            line = usize::from(slot.line);
            debug_assert!(line > HOME_LINES, "a home line had more items than slots");
            self.lines[home].stash = (line - HOME_LINES) as u8;
        }
        self.lines[line].push(slot);
    }

    /// One of the items has this deadline.
    pub fn note_deadline(&mut self, deadline: Millis) {
        self.ttl_items += 1;
        self.next_due = self.next_due.min(deadline);
    }

    /// Fills a fresh segment that nobody is led to yet.
    pub fn write_to(&self, segment: Segment<'_>) {
        for (number, line) in self.lines.iter().enumerate().skip(1) {
            segment.line(number).begin_with(line);
        }
        segment.begin_sides(self.depth, |line| self.lines[line].sides);
        segment.add_ttl_items(self.ttl_items);
        segment.set_next_due(self.next_due);
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use crate::index::directory::Span;
    use crate::index::segment::{Owner, SEGMENT_BYTES};

    /// A reader who found a line fresh and empty, on the way to what its block was before, once took the filled
    /// line's version for the one that he had seen, and said that its keys are not there.
    #[test]
    fn who_saw_a_line_before_it_was_filled_sees_another_version_afterwards() {
        let engine =
            Engine::create(EngineOptions { shards: 16, ..EngineOptions::default() }).unwrap();
        let session = engine.session().unwrap();
        let at = session.take_index(SEGMENT_BYTES).unwrap() as usize * 8;
        let segment = Segment { words: engine.mem(), at };
        segment.reset(Owner { root: 0, shard: 0, span: Span::whole(8) }, u32::MAX);
        let fresh: Vec<u32> = (1..=3).map(|line| segment.line(line).version()).collect();
        let mut draft = SegmentDraft::new(Depth::NONE);
        for number in 0..=SLOTS as u8 {
            let line = HOME_LINES as u8 + 2;
            let reference = 100 + u32::from(number);
            let slot = Slot { reference, tag: 7, meta: number, line, side: 0 };
            draft.take(&slot, 2);
        }
        draft.write_to(segment);
        for (line, before) in (1..=3).zip(fresh) {
            assert_ne!(segment.line(line).version(), before, "line {line}");
        }
        let full = segment.line(2);
        assert_eq!((full.load().used(), full.load().stash()), (SLOTS, 2));
        let slots = (0..SLOTS).map(|slot| (full.reference(slot), full.meta(slot)));
        assert!(slots.eq((0..SLOTS as u32).map(|slot| (100 + slot, slot as u8))));
        // A copy is the same, line by line, and another version as well.
        let copy = Segment {
            words: engine.mem(),
            at: session.take_index(SEGMENT_BYTES).unwrap() as usize * 8,
        };
        copy.reset(Owner { root: 0, shard: 0, span: Span::whole(8) }, 5);
        let before = copy.line(2).version();
        SegmentDraft::of(segment).write_to(copy);
        assert_ne!(copy.line(2).version(), before);
        assert_eq!((copy.line(2).load().used(), copy.line(2).load().stash()), (SLOTS, 2));
    }
}
