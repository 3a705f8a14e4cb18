//! Pages of the items of one size.

use super::Allocator;
use super::classes::{BLOCK_MAX, Class, PageKind, run_units};
use super::page::State;
use crate::arena::layout::PAGES_PER_EXTENT;

/// Pages looked at for the next one of a size: those of a gigabyte.
const PAGES_LOOKED_AT: u32 = 16 * 1024;

impl Allocator {
    /// The page of items of this size in which the fewest blocks are in use.
    pub fn emptiest_page(&self, bytes: usize) -> Option<u32> {
        let class = Self::class_of_items(bytes)?;
        let pages = 0..self.known_extents() * PAGES_PER_EXTENT;
        let own = pages.filter(|page| self.page_class(*page).is_some_and(|(of, _)| of == class));
        own.max_by_key(|page| self.page_free(*page))
    }

    /// The next page, from some number on and around the end, of items of this size that nobody empties. Found
    /// without a lock: it may have become another's.
    pub fn next_page(&self, bytes: usize, from: u32) -> Option<u32> {
        let class = Self::class_of_items(bytes)?;
        let known = self.known_extents() * PAGES_PER_EXTENT;
        let serves = |page: &u32| match self.page_class(*page) {
            Some((of, State::Listed | State::Full)) => of == class,
            _ => false,
        };
        let nearest = 0..known.min(PAGES_LOOKED_AT);
        nearest
            .map(|more| ((u64::from(from) + u64::from(more)) % u64::from(known)) as u32)
            .find(serves)
    }

    /// Pages of items in whose place a page for this size can begin once they are empty, or a run of units if it is as
    /// short as a wide page: those of the fewest items first, and of so many at most.
    pub fn pages_of_few(&self, bytes: usize, items: u32, most: usize) -> Vec<u32> {
        let units = Self::class_of_items(bytes).map_or(run_units(bytes), Class::page_units);
        let pages = 0..(self.known_extents() * PAGES_PER_EXTENT).min(PAGES_LOOKED_AT);
        let live = |page: u32| match self.page_class(page) {
            Some((of, State::Listed | State::Full))
                if of.kind() == PageKind::Item && of.page_units() >= units =>
            {
                let live = of.blocks().saturating_sub(self.page_free(page));
                (live <= items).then_some((live, page))
            }
            _ => None,
        };
        let mut pages: Vec<_> = pages.filter_map(live).collect();
        pages.sort_unstable();
        pages.into_iter().map(|(_, page)| page).take(most).collect()
    }

    fn class_of_items(bytes: usize) -> Option<Class> {
        (bytes <= BLOCK_MAX).then(|| Class::of(bytes, PageKind::Item))
    }
}
