//! The allocator's invariants, by number, and the walk that checks them.
//!
//! * A1 A page in a list has free blocks, is in the list of its fullness, and both its neighbours
//!   agree. The class' count of free blocks and of empty pages is the sum over its lists.
//! * A2 A page's bitmap has as many clear bits as the page has free blocks, and none beyond them.
//! * A3 A class has as many pages as there are descriptors that say so.
//! * A4 The units of a page are used, begin no run, and belong to no other page.
//! * A5 Every used unit lies in a page or in a run that begins; the runs' units add up.
//! * A6 Used units are committed. The count of free units, the summaries and the reaches are what
//!   the extents say; committed bytes are at least those of the committed steps.
//! * A7 A block in a magazine is one of its class, is marked in use, and is in no other magazine.
//!
//! All classes and the heap are locked meanwhile, but a session's own magazine takes no lock, and
//! a page between heap and class is in neither: the caller sees to it that no session is at work.

use super::Allocator;
use super::classes::{CLASSES, Class, MAGAZINE_MAX};
use super::extent::{Summary, summary_word, units_of_steps};
use super::page::State;
use super::session::{CLAIMED_AT, magazine_at};
use crate::arena::header::{FREE_UNITS_AT, RUN_UNITS_AT};
use crate::arena::layout::{PAGE_SHIFT, PAGES_PER_EXTENT, STEP, UNITS_PER_EXTENT, UNITS_PER_PAGE};
use crate::sync::atomics::Ordering::Relaxed;
use std::collections::HashSet;

pub(super) type Check = Result<(), String>;

pub(super) fn ensure(holds: bool, broken: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(broken()) }
}

impl Allocator {
    /// Checks A1 to A7; the first that is broken, in words.
    pub fn verify_alloc(&self) -> Check {
        let _classes: Vec<_> = Class::all().map(|class| self.class_lock(class)).collect();
        let _heap = self.heap_lock();
        for class in Class::all() {
            self.verify_lists(class)?;
        }
        let in_pages = self.verify_pages()?;
        self.verify_extents(&in_pages)?;
        self.verify_magazines()
    }

    fn verify_lists(&self, class: Class) -> Check {
        let size = class.size();
        let (mut free, mut empty) = (0u64, 0);
        for list in 0..4 {
            let (mut before, mut next) = (None, self.list_head(class, list));
            let mut steps = 0;
            while let Some(page) = next {
                let blocks = self.page_free(page);
                ensure(self.page_class(page) == Some((class, State::Listed)), || {
                    format!("A1: page {page} is in a list of blocks of {size} B but not of these")
                })?;
                ensure(blocks > 0 && Self::list_of(class, blocks) == list, || {
                    format!("A1: page {page} with {blocks} free blocks of {size} B in list {list}")
                })?;
                ensure(self.list_previous(page) == before, || {
                    format!("A1: page {page} and the one before it disagree")
                })?;
                free += blocks as u64;
                empty += (blocks == class.blocks()) as u32;
                steps += 1;
                ensure(steps <= self.class_pages(class), || {
                    format!("A1: a list of blocks of {size} B goes in circles")
                })?;
                (before, next) = (Some(page), self.list_next(page));
            }
        }
        let (said, said_empty) = (self.class_free_blocks(class), self.class_empty_pages(class));
        ensure(free == said as u64 && empty == said_empty, || {
            format!(
                "A1: blocks of {size} B: {free} free in {empty} empty and other pages, but the \
                 class says {said} and {said_empty}"
            )
        })
    }

    /// Checks every page; the units that lie in pages, per extent.
    fn verify_pages(&self) -> Result<Vec<u128>, String> {
        let known = self.known_extents();
        let mut in_pages = vec![0u128; known as usize];
        let mut pages = [0u32; CLASSES];
        for page in 0..known * PAGES_PER_EXTENT {
            let Some((class, state)) = self.page_class(page) else { continue };
            pages[class.index()] += 1;
            let mut live = 0;
            self.page_blocks(page, class, |_| live += 1);
            let free = self.page_free(page);
            ensure(live + free == class.blocks(), || {
                format!("A2: page {page}: {live} bits and {free} free of {}", class.blocks())
            })?;
            ensure(state != State::Full || free == 0, || {
                format!("A1: page {page} has {free} free blocks and is in no list")
            })?;
            let first = page * UNITS_PER_PAGE % UNITS_PER_EXTENT;
            let units = super::extent::unit_mask(first, class.page_units());
            let extent = page / PAGES_PER_EXTENT;
            let covered = &mut in_pages[extent as usize];
            ensure(class.first_page(page) == page && *covered & units == 0, || {
                format!("A4: page {page} overlaps another")
            })?;
            *covered |= units;
            let e = self.extent(extent);
            ensure(e.used & units == units && e.run_starts & units == 0, || {
                format!("A4: page {page} lies in units that are free or a large block's")
            })?;
        }
        for class in Class::all() {
            let (found, said) = (pages[class.index()], self.class_pages(class));
            ensure(found == said, || {
                format!("A3: {found} pages of blocks of {} B, not {said}", class.size())
            })?;
        }
        Ok(in_pages)
    }

    fn verify_extents(&self, in_pages: &[u128]) -> Check {
        let (mut free, mut run_units, mut steps) = (0, 0, 0);
        let mut in_run = false;
        for index in 0..self.known_extents() {
            let e = self.extent(index);
            let pages = in_pages[index as usize];
            for unit in 0..UNITS_PER_EXTENT {
                let bit = 1u128 << unit;
                let begins = e.run_starts & bit != 0;
                let large = e.used & bit != 0 && pages & bit == 0;
                ensure(large || !begins, || {
                    format!("A5: a large block begins in unit {unit} of extent {index}, unused")
                })?;
                in_run = large && (in_run || begins);
                ensure(in_run == large, || {
                    format!("A5: unit {unit} of extent {index} is used by nobody")
                })?;
                run_units += large as u64;
            }
            ensure(e.used & !units_of_steps(e.committed) == 0, || {
                format!("A6: extent {index} uses memory that is not committed")
            })?;
            free += e.available().count_ones() as u64;
            steps += e.committed.count_ones() as u64;
            let summaries =
                [Summary::Narrow, Summary::Wide, Summary::Uncommitted, Summary::AnyFree];
            for (summary, answer) in summaries.into_iter().zip(e.answers()) {
                let word = self.arena.load64(summary_word(summary, index), Relaxed);
                ensure((word >> (index % 64) & 1 != 0) == answer, || {
                    format!("A6: summary {summary:?} is wrong about extent {index}")
                })?;
            }
            let (said, reach) = (self.known_reach(index), self.true_reach(index));
            ensure(said == reach, || {
                format!("A6: {reach} free units in a row begin in extent {index}, not {said}")
            })?;
        }
        let said = self.arena.load64(FREE_UNITS_AT, Relaxed);
        ensure(free == said, || format!("A6: {free} units are free, not {said}"))?;
        let said = self.arena.load64(RUN_UNITS_AT, Relaxed);
        ensure(run_units == said, || format!("A5: {run_units} units in large blocks, not {said}"))?;
        let committed = self.arena.committed();
        ensure(committed >= steps * STEP, || {
            format!("A6: {committed} B committed are less than {steps} steps")
        })
    }

    fn verify_magazines(&self) -> Check {
        let mut seen = HashSet::new();
        let mut outcome = Ok(());
        self.each_magazine(|class, magazine, count| {
            let mut check = || {
                ensure(count as usize <= MAGAZINE_MAX.min(class.magazine_capacity()), || {
                    format!("A7: a magazine has {count} blocks of {} B", class.size())
                })?;
                (1..=count as u64).try_for_each(|i| {
                    let block = self.arena.load32(magazine + 4 * i, Relaxed);
                    ensure(self.is_in_use(class, (block as u64) << 3), || {
                        format!("A7: a magazine holds block {block:#x}, which is not in use")
                    })?;
                    ensure(seen.insert(block), || {
                        format!("A7: block {block:#x} is in two magazines")
                    })
                })
            };
            outcome = std::mem::replace(&mut outcome, Ok(())).and_then(|()| check());
        });
        outcome
    }

    /// Calls `visit` with every session's magazines: the class, the magazine's place, its blocks.
    pub(super) fn each_magazine(&self, mut visit: impl FnMut(Class, u64, u32)) {
        let mut claimed = self.arena.load64(CLAIMED_AT, Relaxed);
        while claimed != 0 {
            let slot = self.arena.layout().session(claimed.trailing_zeros());
            claimed &= claimed - 1;
            for class in Class::all() {
                let magazine = slot + magazine_at(class);
                visit(class, magazine, self.arena.load32(magazine, Relaxed));
            }
        }
    }

    /// Whether a block of this class begins at an offset and is marked in use.
    pub(super) fn is_in_use(&self, class: Class, offset: u64) -> bool {
        let layout = self.arena.layout();
        if offset < layout.data_at || offset >= layout.len {
            return false;
        }
        let page = class.first_page(((offset - layout.data_at) >> PAGE_SHIFT) as u32);
        if page >= self.known_extents() * PAGES_PER_EXTENT
            || self.page_class(page).is_none_or(|(of, _)| of != class)
        {
            return false;
        }
        let Some(block) = class.block_at(offset - layout.page_start(page)) else { return false };
        let word = layout.page_bitmap(page) + (block as u64 / 64) * 8;
        self.arena.load64(word, Relaxed) >> (block % 64) & 1 != 0
    }
}
