//! What describes extents: how far it is committed, and what more of it takes.
//!
//! ```text
//! EXTENTS    64 B an extent                     one system page for 64 of them
//! PAGES      32 B x 32 an extent                one for 4
//! BITMAPS    512 B x 32 an extent               4 for each
//!            |<----- known ----->|<- next ->|
//! ```
//!
//! They are in the account of committed memory like all else. Known extents are those that have descriptors.
//! Every word here is read and written under the heap's lock, hence relaxed.

use super::Allocator;
use super::extent::{COLLAPSING, DRAINING, SUMMARY_ORDER, summary_word};
use crate::arena::Arena;
use crate::arena::header::KNOWN_EXTENTS_AT;
use crate::arena::layout::{
    EXTENT_DESC_BYTES, EXTENTS_AT, PAGE_BITMAP_BYTES, PAGE_DESC_BYTES, PAGES_PER_EXTENT,
    SYSTEM_PAGE,
};
use crate::sync::atomics::Ordering::Relaxed;

impl Allocator {
    /// Makes descriptors for the extents below `extents`. False: beyond the limit.
    pub(super) fn know_extents(&self, extents: u32) -> bool {
        while self.known_extents() < extents {
            let next = self.known_extents();
            if !self.side_arrays().into_iter().all(|array| array.extend(&self.arena, next)) {
                return false;
            }
            self.arena.u32_at(KNOWN_EXTENTS_AT).store(next + 1, Relaxed);
            self.edit_extent(next, |_| {});
        }
        true
    }

    /// Bytes that the descriptors of the extents below `extents` take beside those that there are.
    pub(super) fn described_bytes(&self, extents: u32) -> u64 {
        let known = self.known_extents();
        let bytes = |array: SideArray| array.end(extents.max(known)) - array.end(known);
        self.side_arrays().into_iter().map(bytes).sum()
    }

    /// What describes extents: their descriptors, those of their pages, and the pages' bitmaps.
    fn side_arrays(&self) -> [SideArray; 3] {
        let layout = self.arena.layout();
        let pages = PAGES_PER_EXTENT as u64;
        let array = |at, bytes_per_extent| SideArray { at, bytes_per_extent };
        [
            array(EXTENTS_AT, EXTENT_DESC_BYTES),
            array(layout.pages_at, pages * PAGE_DESC_BYTES),
            array(layout.bitmaps_at, pages * PAGE_BITMAP_BYTES),
        ]
    }

    fn clear_summaries(&self, index: u32) {
        for summary in SUMMARY_ORDER {
            let word = self.arena.u64_at(summary_word(summary, index));
            word.store(word.load(Relaxed) & !(1 << (index % 64)), Relaxed);
        }
    }

    /// Forgets extents at the arena's end of which nothing is committed, and gives back what
    /// describes them: 17 KiB each. Returns the bytes given back.
    pub(super) fn forget_extents(&self) -> u64 {
        let mut bytes = 0;
        let _held = self.heap_lock();
        while let Some(last) = self.known_extents().checked_sub(1) {
            let extent = self.extent(last);
            let idle = extent.used == 0 && extent.committed == 0 && extent.pending == 0;
            if !idle || extent.flags & (DRAINING | COLLAPSING) != 0 {
                break;
            }
            self.arena.u32_at(KNOWN_EXTENTS_AT).store(last, Relaxed);
            self.clear_summaries(last);
            let arrays = self.side_arrays().into_iter();
            bytes += arrays.map(|array| array.shrink(&self.arena, last)).sum::<u64>();
        }
        bytes
    }
}

/// Something with a place for each extent, committed by whole system pages.
#[derive(Clone, Copy)]
struct SideArray {
    at: u64,
    bytes_per_extent: u64,
}

impl SideArray {
    /// Where what is committed for so many extents ends.
    fn end(self, extents: u32) -> u64 {
        (self.at + u64::from(extents) * self.bytes_per_extent).next_multiple_of(SYSTEM_PAGE)
    }

    /// Commits the system pages that extent `next` is the first to need. A retry
    /// after a refusal may charge a page twice in the account; that errs on the safe side.
    fn extend(self, arena: &Arena, next: u32) -> bool {
        let from = self.end(next);
        arena.commit_fixed(from, self.end(next + 1) - from)
    }

    /// The reverse. Returns the bytes given back.
    fn shrink(self, arena: &Arena, last: u32) -> u64 {
        let (from, to) = (self.end(last), self.end(last + 1));
        if to == from || arena.release(from, to - from).is_err() {
            return 0;
        }
        arena.discharge(to - from);
        to - from
    }
}
