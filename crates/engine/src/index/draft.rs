//! A segment that is put together in plain memory, and then written a line at a time.
//!
//! In a segment that others see, a slot takes a compare-and-swap for its meta byte and mostly one for its tag,
//! beside which readers count uses. What a split makes nobody sees before the directory names it
//! (decision 139).

use crate::index::bucket::SLOTS;
use crate::index::segment::{HOME_LINES, LINES, NO_DUE, Segment};
use crate::verbs::Millis;

/// A slot of the segment that is split.
#[derive(Clone, Copy, Default)]
pub(super) struct Slot {
    pub reference: u32,
    pub tag: u8,
    pub meta: u8,
    /// The line where it stood.
    pub line: u8,
}

/// A line, slot by slot from the first on.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineDraft {
    pub used: u8,
    pub stash: u8,
    pub tags: [u8; SLOTS],
    pub meta: [u8; SLOTS],
    pub references: [u32; SLOTS],
}

impl LineDraft {
    const EMPTY: LineDraft =
        LineDraft { used: 0, stash: 0, tags: [0; SLOTS], meta: [0; SLOTS], references: [0; SLOTS] };

    fn is_full(&self) -> bool {
        usize::from(self.used) == SLOTS
    }

    /// Takes the next slot, of which there has to be one.
    #[inline(always)]
    fn push(&mut self, slot: &Slot) {
        let at = usize::from(self.used);
        self.used += 1;
        (self.tags[at], self.meta[at], self.references[at]) = (slot.tag, slot.meta, slot.reference);
    }
}

pub(super) struct SegmentDraft {
    lines: [LineDraft; LINES],
    ttl_items: i64,
    next_due: Millis,
}

impl SegmentDraft {
    pub const fn new() -> SegmentDraft {
        SegmentDraft { lines: [LineDraft::EMPTY; LINES], ttl_items: 0, next_due: NO_DUE }
    }

    /// Takes an item with this home line. Those of home lines come before those of stash lines.
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

    /// Fills a fresh segment that nobody sees yet.
    pub fn write_to(&self, segment: Segment<'_>) {
        for (number, line) in self.lines.iter().enumerate().skip(1) {
            segment.line(number).begin_with(line);
        }
        segment.add_ttl_items(self.ttl_items);
        segment.set_next_due(self.next_due);
    }
}
