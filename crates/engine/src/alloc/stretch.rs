//! Pages in a row that are cheap to empty, for a large block in a store of small ones.
//!
//! ```text
//! page      | 30 | 31 | 32 | 33 | 34 | 35 | 36 | 37 | ...
//!           | 97 |  0 | 12 |  64 · wide |  8 | run · · ·        KiB in use
//!           +--------- 3 pages, 109 KiB
//!                +---- 4 pages, 76 KiB: neither ends within the wide page
//! ```
//!
//! What evicting and emptying single pages wins lies anywhere, and a large block takes units in a row.
//! A stretch holds none of another large block: for that there is no other place either.
//!
//! It is looked for without locks. What has changed meanwhile makes the emptying dearer, or fail.

use super::Allocator;
use super::candidates::Candidate;
use super::classes::MAGAZINE_MAX;
use super::drain::Drain;
use super::extent::{ALL_STEPS, DRAINING, unit_mask, units_of_steps};
use super::page::State;
use crate::arena::layout::{PAGE_SHIFT, PAGES_PER_EXTENT, UNIT, UNITS_PER_PAGE};
use crate::sync::atomics::Ordering::Relaxed;
use std::collections::VecDeque;

/// Pages looked at for one stretch: those of 4 GiB.
const PAGES_LOOKED_AT: u32 = 64 * 1024;

/// A block that has no place elsewhere counts for so much more. A page of small ones is lost with a thousand of them,
/// in which one client or another has its counters; the same bytes of large ones are a few.
const LOST_BYTES: u32 = 512;

/// What it costs to have a page empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    /// Bytes of the blocks to move, and more for those that would be lost; none where it is free.
    Live(u32),
    /// The second half of a wide page, whose blocks count in the first.
    Second,
    /// It has a part of a large block, or a block in some session's hands, or somebody is at work on it, or it is
    /// not committed.
    Fixed,
}

impl Allocator {
    /// The cheapest so many units in a row that pages alone are in, of those from some page on; a store
    /// of 4 GiB and less is looked through as a whole. `None`: there is none.
    pub fn stretch_candidate(&self, units: u32, from: u32) -> Option<Candidate> {
        let pages = units.div_ceil(UNITS_PER_PAGE);
        let known = self.known_extents() * PAGES_PER_EXTENT;
        let looked_at = known.min(PAGES_LOOKED_AT);
        if looked_at < pages {
            return None;
        }
        // From the middle of a large store around its end: no stretch goes on over that.
        let first = if known > looked_at { from % known } else { 0 };
        let in_hand = self.pages_in_hand(known);
        let cost = |page: u32| match in_hand[page as usize / 64] >> (page % 64) & 1 {
            0 => self.page_cost(page),
            _ => Page::Fixed,
        };
        let mut row = Row::default();
        let mut best: Option<(u64, u32)> = None;
        for page in (first..first + looked_at).map(|page| page % known) {
            if page == 0 {
                row = Row::default();
            }
            row.push(cost(page), pages);
            // Half of a wide page behind the last one would go with it.
            let ends_well = page + 1 == known || self.page_cost(page + 1) != Page::Second;
            if let Some(live) = row.cost(pages).filter(|_| ends_well)
                && best.is_none_or(|(least, _)| live < least)
            {
                best = Some((live, page + 1 - pages));
            }
        }
        best.map(|(live_bytes, first)| Candidate {
            drain: Drain::Stretch { first, pages },
            live_bytes,
            largest_bytes: 0,
            gained_bytes: u64::from(pages * UNITS_PER_PAGE) * UNIT,
        })
    }

    /// A bit for each page that has a block in a magazine: until its session gives that back nobody can empty
    /// the page.
    fn pages_in_hand(&self, known: u32) -> Vec<u64> {
        let mut pages = vec![0; known.div_ceil(64) as usize];
        let data_at = self.arena.layout().data_at;
        self.each_magazine(|class, magazine, count| {
            // Others go on taking and giving meanwhile: what is read may be no block's place any more.
            for number in 1..=u64::from(count).min(MAGAZINE_MAX as u64) {
                let block = u64::from(self.arena.load32(magazine + 4 * number, Relaxed)) << 3;
                let Some(at) = block.checked_sub(data_at) else { continue };
                let page = class.first_page((at >> PAGE_SHIFT) as u32);
                if page < known {
                    pages[page as usize / 64] |= 1 << (page % 64);
                }
            }
        });
        pages
    }

    fn page_cost(&self, page: u32) -> Page {
        let extent = self.extent(page / PAGES_PER_EXTENT);
        if extent.flags & DRAINING != 0 || extent.pending != 0 {
            return Page::Fixed;
        }
        match self.page_class(page) {
            Some((_, State::Draining)) => return Page::Fixed,
            Some((class, _)) => {
                let blocks = class.blocks().saturating_sub(self.page_free(page));
                let elsewhere = self.class_free_blocks(class).saturating_sub(self.page_free(page));
                let lost = blocks.saturating_sub(elsewhere);
                return Page::Live(blocks * class.size() + lost * LOST_BYTES);
            }
            None => {}
        }
        let units = unit_mask(page % PAGES_PER_EXTENT * UNITS_PER_PAGE, UNITS_PER_PAGE);
        if extent.used & units != 0 {
            let is_second = extent.run_starts & units == 0 && self.in_page(page * UNITS_PER_PAGE);
            return if is_second { Page::Second } else { Page::Fixed };
        }
        let is_committed =
            extent.committed == ALL_STEPS || units_of_steps(extent.committed) & units == units;
        if is_committed { Page::Live(0) } else { Page::Fixed }
    }
}

/// The last pages that were looked at.
#[derive(Default)]
struct Row {
    pages: VecDeque<Page>,
    live: u64,
    fixed: u32,
}

impl Row {
    fn push(&mut self, page: Page, most: u32) {
        self.pages.push_back(page);
        self.count(page, 1);
        if self.pages.len() > most as usize
            && let Some(gone) = self.pages.pop_front()
        {
            self.count(gone, -1);
        }
    }

    fn count(&mut self, page: Page, by: i32) {
        match page {
            Page::Live(bytes) => {
                self.live = self.live.wrapping_add_signed(i64::from(bytes) * i64::from(by));
            }
            Page::Second => {}
            Page::Fixed => self.fixed = self.fixed.wrapping_add_signed(by),
        }
    }

    /// Bytes to move for all of them, if they are so many and can be emptied.
    fn cost(&self, pages: u32) -> Option<u64> {
        let is_whole = self.pages.len() == pages as usize
            && self.fixed == 0
            && self.pages.front() != Some(&Page::Second);
        is_whole.then_some(self.live)
    }
}
