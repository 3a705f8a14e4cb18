//! What is worth emptying: the pages and extents of which the least has to be moved for what is gained.
//!
//! Emptying itself is in `drain.rs`.

use super::Allocator;
use super::class::LISTS;
use super::classes::Class;
use super::drain::Drain;
use super::extent::DRAINING;
use crate::arena::layout::{
    STEP, UNIT, UNITS_PER_EXTENT, UNITS_PER_PAGE, UNITS_PER_STEP, UNITS_PER_WIDE_PAGE,
};

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
}
