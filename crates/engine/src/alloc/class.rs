//! The pages of one class: lists by fullness, and blocks out of and into them in groups.
//!
//! ```text
//! CLASS 128 B   0 lock u32 | 4 heads of four lists u32 x 4 | 20 pages u32 | 24 free blocks u32
//!               28 empty pages u32 | 32 the lock's "asleep" u32 | 36 pad
//! ```
//!
//! List 0 holds the pages with less than a quarter of their blocks free, list 3 those with three
//! quarters or more. Blocks are taken from the fullest pages, so that the emptier ones have a
//! chance to become empty. One empty page is kept; more go back to the page heap.
//!
//! Order of locks: a class, then the heap. No two classes at once.

use super::Allocator;
use super::classes::Class;
use super::page::{NEXT, PREVIOUS, State};
use crate::arena::header::FAULTS_AT;
use crate::arena::layout::{CLASS_CTL_BYTES, CLASSES_AT, UNITS_PER_PAGE};
use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::lock::{Held, Lock};

pub(super) const LISTS: u32 = 4;
const HEADS: u64 = 4;
const PAGES: u64 = 20;
const FREE_BLOCKS: u64 = 24;
const EMPTY_PAGES: u64 = 28;
const ASLEEP: u64 = 32;
/// Empty pages that a class keeps, so that one block to and fro does not cost a page each time.
const EMPTY_PAGES_KEPT: u32 = 1;

impl Allocator {
    #[inline]
    fn class_at(class: Class) -> u64 {
        CLASSES_AT + class.index() as u64 * CLASS_CTL_BYTES
    }

    pub(super) fn class_lock(&self, class: Class) -> Held<'_> {
        let at = Self::class_at(class);
        let (word, asleep) = (self.arena.u32_at(at), self.arena.u32_at(at + ASLEEP));
        Lock { word, asleep }.hold()
    }

    #[inline]
    fn class_get(&self, class: Class, field: u64) -> u32 {
        self.arena.load32(Self::class_at(class) + field, Relaxed)
    }

    #[inline]
    fn class_add(&self, class: Class, field: u64, change: i64) {
        let word = self.arena.u32_at(Self::class_at(class) + field);
        word.store((word.load(Relaxed) as i64 + change) as u32, Relaxed);
    }

    pub(super) fn class_pages(&self, class: Class) -> u32 {
        self.class_get(class, PAGES)
    }

    /// Free blocks in listed pages.
    pub(super) fn class_free_blocks(&self, class: Class) -> u32 {
        self.class_get(class, FREE_BLOCKS)
    }

    pub(super) fn class_empty_pages(&self, class: Class) -> u32 {
        self.class_get(class, EMPTY_PAGES)
    }

    /// The first page of a list, and the next one of a page.
    pub(super) fn list_head(&self, class: Class, list: u32) -> Option<u32> {
        self.class_get(class, HEADS + 4 * list as u64).checked_sub(1)
    }

    pub(super) fn list_next(&self, page: u32) -> Option<u32> {
        self.page_get(page, NEXT).checked_sub(1)
    }

    pub(super) fn list_previous(&self, page: u32) -> Option<u32> {
        self.page_get(page, PREVIOUS).checked_sub(1)
    }

    pub(super) fn list_of(class: Class, free: u32) -> u32 {
        (free * LISTS / class.blocks()).min(LISTS - 1)
    }

    /// Puts a page with free blocks into the list of its fullness.
    pub(super) fn list_insert(&self, class: Class, page: u32) {
        let free = self.page_free(page);
        let list = Self::list_of(class, free);
        let head = self.arena.u32_at(Self::class_at(class) + HEADS + 4 * list as u64);
        let old = head.load(Relaxed);
        self.page_set(page, PREVIOUS, 0);
        self.page_set(page, NEXT, old);
        if old != 0 {
            self.page_set(old - 1, PREVIOUS, page + 1);
        }
        head.store(page + 1, Relaxed);
        self.page_set_class(page, class, State::Listed);
        self.class_add(class, FREE_BLOCKS, free as i64);
        if free == class.blocks() {
            self.class_add(class, EMPTY_PAGES, 1);
        }
    }

    /// Takes a page out of the list that `free` blocks had put it into.
    pub(super) fn list_remove(&self, class: Class, page: u32, free: u32) {
        let (next, previous) = (self.page_get(page, NEXT), self.page_get(page, PREVIOUS));
        if previous == 0 {
            let list = Self::list_of(class, free);
            let head = self.arena.u32_at(Self::class_at(class) + HEADS + 4 * list as u64);
            debug_assert_eq!(head.load(Relaxed), page + 1);
            head.store(next, Relaxed);
        } else {
            self.page_set(previous - 1, NEXT, next);
        }
        if next != 0 {
            self.page_set(next - 1, PREVIOUS, previous);
        }
        self.page_set_class(page, class, State::Full);
        self.class_add(class, FREE_BLOCKS, -(free as i64));
        if free == class.blocks() {
            self.class_add(class, EMPTY_PAGES, -1);
        }
    }

    /// Moves a listed page whose free blocks changed from `before`.
    fn relist(&self, class: Class, page: u32, before: u32) {
        let after = self.page_free(page);
        let same = Self::list_of(class, before) == Self::list_of(class, after);
        if same && after != 0 && after != class.blocks() && before != class.blocks() {
            self.class_add(class, FREE_BLOCKS, after as i64 - before as i64);
            return;
        }
        self.list_remove(class, page, before);
        if after != 0 {
            self.list_insert(class, page);
        }
    }

    /// Takes at least one and up to `out.len()` blocks of a class. 0: no memory.
    pub(super) fn take_blocks(&self, class: Class, out: &mut [u32]) -> usize {
        for _ in 0..3 {
            {
                let _held = self.class_lock(class);
                let taken = self.take_listed(class, out);
                if taken > 0 {
                    return taken;
                }
            }
            // The heap may have to ask the system for memory: not under the class' lock.
            let page = match self.take_page(class.page_units()) {
                Some(unit) => unit / UNITS_PER_PAGE,
                None => {
                    if self.trim() == 0 {
                        return 0;
                    }
                    continue;
                }
            };
            let _held = self.class_lock(class);
            self.page_init(page, class);
            self.class_add(class, PAGES, 1);
            let taken = self.page_take(page, class, out);
            if self.page_free(page) > 0 {
                self.list_insert(class, page);
            }
            return taken;
        }
        0
    }

    fn take_listed(&self, class: Class, out: &mut [u32]) -> usize {
        let mut taken = 0;
        while taken < out.len() {
            let Some(page) = (0..LISTS).find_map(|list| self.list_head(class, list)) else { break };
            let before = self.page_free(page);
            taken += self.page_take(page, class, &mut out[taken..]);
            self.relist(class, page, before);
        }
        taken
    }

    /// Takes free blocks into the bitmaps of their pages.
    pub(super) fn give_back(&self, class: Class, blocks: &[u32]) {
        if blocks.is_empty() {
            return;
        }
        let layout = self.arena.layout();
        // Both side arrays of all pages on their way before the lock is held.
        for block in blocks {
            let page = class.first_page(layout.page_of((*block as u64) << 3));
            self.arena.prefetch(layout.page_desc(page));
            self.arena.prefetch(layout.page_bitmap(page));
        }
        let mut faults = 0;
        {
            let _held = self.class_lock(class);
            for block in blocks {
                faults += !self.give_one(class, (*block as u64) << 3) as u64;
            }
        }
        if faults > 0 {
            self.arena.u64_at(FAULTS_AT).fetch_add(faults, Relaxed);
            debug_assert_eq!(faults, 0, "blocks freed twice, or with another block's size");
        }
    }

    /// Under the class' lock. False: not a block in use of this class.
    fn give_one(&self, class: Class, offset: u64) -> bool {
        let page = class.first_page(self.arena.layout().page_of(offset));
        let state = match self.page_class(page) {
            Some((of, state)) if of == class => state,
            _ => return false,
        };
        let before = self.page_free(page);
        if !self.page_give(page, class, offset) {
            return false;
        }
        let empty = before + 1 == class.blocks();
        match state {
            State::Draining if empty => self.dissolve(class, page),
            State::Draining => {}
            State::Listed => self.relist(class, page, before),
            State::Full => self.list_insert(class, page),
        }
        if state != State::Draining
            && empty
            && self.class_get(class, EMPTY_PAGES) > EMPTY_PAGES_KEPT
        {
            self.list_remove(class, page, class.blocks());
            self.dissolve(class, page);
        }
        true
    }

    /// Gives an empty page that is in no list back to the heap. Under the class' lock.
    pub(super) fn dissolve(&self, class: Class, page: u32) {
        self.page_set(page, 0, 0);
        self.class_add(class, PAGES, -1);
        self.give_page(page * UNITS_PER_PAGE, class.page_units());
    }

    /// Gives the empty pages that classes keep back to the heap; how many.
    pub(super) fn trim(&self) -> u32 {
        let mut pages = 0;
        for class in Class::all() {
            if self.class_get(class, EMPTY_PAGES) == 0 {
                continue;
            }
            let _held = self.class_lock(class);
            let mut next = self.list_head(class, LISTS - 1);
            while let Some(page) = next {
                next = self.list_next(page);
                if self.page_free(page) == class.blocks() {
                    self.list_remove(class, page, class.blocks());
                    self.dissolve(class, page);
                    pages += 1;
                }
            }
        }
        pages
    }
}
