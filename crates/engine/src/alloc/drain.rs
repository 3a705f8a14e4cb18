//! Emptying a page or an extent, so that its memory can serve another size.
//!
//! The allocator marks what shall empty and takes no new blocks from it; who knows what the blocks
//! are (the index) moves them:
//!
//! ```text
//! begin_drain ── no new blocks from there, magazines are asked to give theirs back
//! drain_blocks ─ for each block: find its owner, allocate, copy, publish, free
//! end_drain ──── true: it is empty and its memory is free for any use; false: something stayed,
//!                and it serves as before
//! ```
//!
//! A block is listed also while it lies free in somebody's magazine: the mover must find that its
//! owner really names this block before it moves it.

use super::Allocator;
use super::classes::PageKind;
use super::extent::{DRAINING, units_of_steps};
use super::heap::Span;
use super::page::State;
use crate::arena::Ref;
use crate::arena::header::DRAIN_AT;
use crate::arena::layout::{PAGES_PER_EXTENT, UNITS_PER_EXTENT, UNITS_PER_PAGE};
use crate::sync::atomics::Ordering::Relaxed;
use std::ops::Range;

/// What can be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// A page, by its number.
    Page(u32),
    /// An extent, by its number.
    Extent(u32),
    /// Pages in a row, by the number of the first.
    Stretch { first: u32, pages: u32 },
}

impl Allocator {
    /// Begins to empty something. False: it is not there, or is being emptied already. Each `true`
    /// must be followed by an [`Allocator::end_drain`].
    pub fn begin_drain(&self, drain: Drain) -> bool {
        let begun = match drain {
            Drain::Page(page) => self.begin_page(page),
            Drain::Extent(extent) => {
                self.close_extents(extent..extent + 1) && {
                    Self::pages_of(extent).for_each(|page| _ = self.begin_page(page));
                    true
                }
            }
            Drain::Stretch { first, pages } => {
                self.close_extents(Self::extents_of(first, pages)) && {
                    (first..first + pages).for_each(|page| _ = self.begin_page(page));
                    true
                }
            }
        };
        if begun {
            // Relaxed: sessions that see it late make the emptying slower, not wrong.
            self.arena.u32_at(DRAIN_AT).fetch_add(1, Relaxed);
            self.request_flush();
        }
        begun
    }

    fn begin_page(&self, page: u32) -> bool {
        if page >= self.known_extents() * PAGES_PER_EXTENT {
            return false;
        }
        let Some((class, _)) = self.page_class(page) else { return false };
        let _held = self.class_lock(class);
        // The page may have become another's before the lock was ours.
        match self.page_class(page) {
            Some((now, State::Listed)) if now == class => {
                self.list_remove(class, page, self.page_free(page));
            }
            Some((now, State::Full)) if now == class => {}
            _ => return false,
        }
        if self.page_free(page) == class.blocks() {
            self.dissolve(class, page);
        } else {
            self.page_set_class(page, class, State::Draining);
        }
        true
    }

    /// From now on nothing new begins in these extents. False: somebody is emptying one of them.
    fn close_extents(&self, extents: Range<u32>) -> bool {
        let _held = self.heap_lock();
        let is_open = |extent: u32| self.extent(extent).flags & DRAINING == 0;
        if extents.end > self.known_extents() || !extents.clone().all(is_open) {
            return false;
        }
        extents.for_each(|extent| self.edit_extent(extent, |e| e.flags |= DRAINING));
        true
    }

    fn open_extents(&self, extents: Range<u32>) {
        extents.for_each(|extent| self.edit_extent(extent, |e| e.flags &= !DRAINING));
    }

    /// The extents that pages in a row lie in.
    fn extents_of(first: u32, pages: u32) -> Range<u32> {
        first / PAGES_PER_EXTENT..(first + pages).div_ceil(PAGES_PER_EXTENT)
    }

    fn pages_of(extent: u32) -> Range<u32> {
        extent * PAGES_PER_EXTENT..(extent + 1) * PAGES_PER_EXTENT
    }

    /// Calls `visit` with every block in what is being emptied; `None` as kind for a large block.
    /// No lock is held meanwhile: a block may have been freed, and even be in use anew, by then.
    pub fn drain_blocks(&self, drain: Drain, mut visit: impl FnMut(Ref, Option<PageKind>)) {
        match drain {
            Drain::Page(page) => self.for_each_block(page, |at, kind| visit(at, Some(kind))),
            Drain::Stretch { first, pages } => {
                for page in first..first + pages {
                    self.for_each_block(page, |at, kind| visit(at, Some(kind)));
                }
            }
            Drain::Extent(extent) => {
                for page in Self::pages_of(extent) {
                    self.for_each_block(page, |at, kind| visit(at, Some(kind)));
                }
                let mut starts = {
                    let _held = self.heap_lock();
                    let extent = self.extent(extent);
                    // A run whose memory is being committed has no block yet that could be read.
                    extent.run_starts & !units_of_steps(extent.pending)
                };
                while starts != 0 {
                    let unit = extent * UNITS_PER_EXTENT + starts.trailing_zeros();
                    starts &= starts - 1;
                    if let Some(at) = Ref::from_offset(self.arena.layout().unit_start(unit)) {
                        visit(at, None);
                    }
                }
            }
        }
    }

    /// Calls `visit` with every block of a page that is in use or in a magazine.
    pub fn for_each_block(&self, page: u32, mut visit: impl FnMut(Ref, PageKind)) {
        let Some((class, _)) = self.page_class(page) else { return };
        let mut blocks = Vec::new();
        {
            let _held = self.class_lock(class);
            if self.page_class(page).is_some_and(|(now, _)| now == class) {
                self.page_blocks(page, class, |offset| blocks.extend(Ref::from_offset(offset)));
            }
        }
        for block in blocks {
            visit(block, class.kind());
        }
    }

    /// Ends what `begin_drain` began. True: it is empty, and its memory is free for any use.
    pub fn end_drain(&self, drain: Drain) -> bool {
        let freed = match drain {
            // Who empties the extent may have let it serve again, full as it is.
            Drain::Page(page) => self.end_page(page) && self.page_class(page).is_none(),
            Drain::Extent(extent) => {
                for page in Self::pages_of(extent) {
                    self.end_page(page);
                }
                let _held = self.heap_lock();
                self.open_extents(extent..extent + 1);
                self.extent(extent).used == 0
            }
            Drain::Stretch { first, pages } => {
                for page in first..first + pages {
                    self.end_page(page);
                }
                let _held = self.heap_lock();
                self.open_extents(Self::extents_of(first, pages));
                let units = Span { first: first * UNITS_PER_PAGE, units: pages * UNITS_PER_PAGE };
                units.parts().all(|(extent, units)| self.extent(extent).used & units == 0)
            }
        };
        self.arena.u32_at(DRAIN_AT).fetch_sub(1, Relaxed);
        freed
    }

    /// A page that emptied meanwhile was given back then, and may be anything by now.
    fn end_page(&self, page: u32) -> bool {
        let Some((class, State::Draining)) = self.page_class(page) else { return true };
        let _held = self.class_lock(class);
        if self.page_class(page) != Some((class, State::Draining)) {
            return true;
        }
        if self.page_free(page) > 0 {
            self.list_insert(class, page);
        } else {
            self.page_set_class(page, class, State::Full);
        }
        false
    }
}
