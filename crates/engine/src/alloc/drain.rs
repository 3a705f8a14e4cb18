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
use super::class::LISTS;
use super::classes::{Class, PageKind};
use super::extent::{DRAINING, units_of_steps};
use super::heap::Span;
use super::page::State;
use crate::arena::Ref;
use crate::arena::header::DRAIN_AT;
use crate::arena::layout::{
    PAGES_PER_EXTENT, STEP, UNIT, UNITS_PER_EXTENT, UNITS_PER_PAGE, UNITS_PER_STEP,
    UNITS_PER_WIDE_PAGE,
};
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

/// Something worth emptying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub drain: Drain,
    /// Bytes of blocks to move; of a stretch also what is added for those without a place elsewhere.
    pub live_bytes: u64,
    /// Bytes of the largest of them, if it is larger than a page.
    pub largest_bytes: u64,
    /// Bytes that are had by it.
    pub gained_bytes: u64,
}

/// Of the runs that begin in an extent.
struct Longest {
    units: u32,
    beyond: u32,
}

/// Pages of a class among which one is had, where somebody waits.
const PAGES_IN_NEED: usize = 8;
/// Pages of one class looked at for a candidate.
const PAGES_LOOKED_AT: usize = 64;
/// Extents of which the large blocks are looked at for one.
const EXTENTS_LOOKED_AT: usize = 64;

impl Allocator {
    /// The emptiest page of each class whose other pages can take its blocks, cheapest first: of those that
    /// are worth it while nobody waits, a quarter of whose blocks is free.
    pub fn drain_candidates(&self) -> Vec<Candidate> {
        Self::cheapest_first(Class::all().flat_map(|class| self.emptiest_pages(class, 1, 1)))
    }

    /// Where somebody waits for a page: also of those that are nearly full, for where all are about as full
    /// what lies free in them is had in no other way. And some of each class: a page that a sleeping
    /// session has a block of does not empty, and would be tried again and again.
    pub fn drain_candidates_in_need(&self) -> Vec<Candidate> {
        let of_class = |class| self.emptiest_pages(class, 0, PAGES_IN_NEED);
        Self::cheapest_first(Class::all().flat_map(of_class))
    }

    fn cheapest_first(candidates: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
        let mut candidates: Vec<_> = candidates.collect();
        candidates.sort_by_key(|c| c.live_bytes * 1024 / c.gained_bytes);
        candidates
    }

    /// So many pages of a class, of the emptiest list from `first_list` on that has enough.
    fn emptiest_pages(&self, class: Class, first_list: u32, count: usize) -> Vec<Candidate> {
        if self.class_pages(class) < 2 || self.class_free_blocks(class) < class.blocks() {
            return Vec::new();
        }
        let _held = self.class_lock(class);
        let all_free = self.class_free_blocks(class);
        let mut pages: Vec<(u32, u32)> = Vec::new();
        for list in (first_list..LISTS).rev() {
            let mut next = self.list_head(class, list);
            for _ in 0..PAGES_LOOKED_AT {
                let Some(page) = next else { break };
                next = self.list_next(page);
                pages.push((class.blocks() - self.page_free(page), page));
            }
            if pages.len() >= count {
                break;
            }
        }
        pages.sort_unstable();
        // The blocks must fit into the free places of the others.
        let fits = |&(live, page): &(u32, u32)| all_free - self.page_free(page) >= live;
        let candidate = |(live, page)| Candidate {
            drain: Drain::Page(page),
            live_bytes: u64::from(live) * u64::from(class.size()),
            largest_bytes: 0,
            gained_bytes: u64::from(class.page_units()) * UNIT,
        };
        pages.into_iter().take(count).filter(fits).map(candidate).collect()
    }

    /// The extent with the fewest units in use whose contents fit into free units elsewhere, and of which
    /// no block is larger than `largest_max` bytes.
    pub fn drain_extent_candidate(&self, largest_max: u64) -> Option<Candidate> {
        let free_units = (self.free_unit_bytes() / UNIT) as u32;
        let _held = self.heap_lock();
        // Of equal ones the last comes first: what remains gathers at the arena's start.
        let extents = (0..self.known_extents()).rev();
        let used_units = |index: u32| self.extent(index).used.count_ones();
        let mut extents: Vec<_> = extents
            .filter(|index| self.may_empty(*index, free_units))
            .map(|i| (used_units(i), i))
            .collect();
        extents.sort_by_key(|(used, _)| *used);
        // The runs of each are looked at only while it can still be the cheapest: that takes long, and
        // who takes or frees a large block waits meanwhile.
        let mut best: Option<(u32, u32, u32)> = None;
        for (used, index) in extents.into_iter().take(EXTENTS_LOOKED_AT) {
            if best.is_some_and(|(least, ..)| least <= used) {
                break;
            }
            // All of a large block has to be moved, also what lies in the extents behind this one.
            let largest = self.longest_run_from(index);
            let used = used + largest.beyond;
            let is_wanted = self.has_units_for(used, index, free_units)
                && u64::from(largest.units) * UNIT <= largest_max;
            if is_wanted && best.is_none_or(|(least, ..)| used < least) {
                best = Some((used, index, largest.units));
            }
        }
        let (used, index, largest) = best?;
        Some(Candidate {
            drain: Drain::Extent(index),
            live_bytes: u64::from(used) * UNIT,
            largest_bytes: u64::from(largest) * UNIT,
            gained_bytes: u64::from(self.extent(index).committed.count_ones()) * STEP,
        })
    }

    /// Whether an extent has something to move, and nothing that cannot be.
    fn may_empty(&self, index: u32, free_units: u32) -> bool {
        let extent = self.extent(index);
        let used = extent.used.count_ones();
        let has_free = extent.committed.count_ones() * UNITS_PER_STEP > used;
        let is_quiet = extent.pending == 0 && extent.flags & DRAINING == 0;
        // A large block that begins in an earlier extent could not be moved from here.
        let first = index * UNITS_PER_EXTENT;
        let is_own = extent.used & 1 == 0 || extent.run_starts & 1 != 0 || self.in_page(first);
        used > 0 && has_free && is_quiet && is_own && self.has_units_for(used, index, free_units)
    }

    /// Whether there is twice the room elsewhere for so many units of an extent: pages of several units
    /// need it in one piece.
    fn has_units_for(&self, used: u32, index: u32, free_units: u32) -> bool {
        let extent = self.extent(index);
        let committed = extent.committed.count_ones() * UNITS_PER_STEP;
        let own_free = committed.saturating_sub(extent.used.count_ones());
        2 * used <= free_units.saturating_sub(own_free)
    }

    /// The longest run that begins in an extent, and how far the last one goes beyond it.
    fn longest_run_from(&self, extent: u32) -> Longest {
        let mut longest = Longest { units: 0, beyond: 0 };
        let mut starts = self.extent(extent).run_starts;
        while starts != 0 {
            let first = starts.trailing_zeros();
            starts &= starts - 1;
            let units = self.run_length(extent * UNITS_PER_EXTENT + first);
            longest.units = longest.units.max(units);
            longest.beyond = (first + units).saturating_sub(UNITS_PER_EXTENT);
        }
        longest
    }

    /// Whether a unit belongs to a page (and not to a large block).
    pub(super) fn in_page(&self, unit: u32) -> bool {
        let page = unit / UNITS_PER_PAGE;
        let wide = page & !(UNITS_PER_WIDE_PAGE / UNITS_PER_PAGE - 1);
        self.page_class(page).is_some()
            || self.page_class(wide).is_some_and(|(class, _)| class.page_units() > UNITS_PER_PAGE)
    }

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
