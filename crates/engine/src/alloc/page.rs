//! A page of blocks of one class: its descriptor and its bitmap, both away from the page.
//!
//! ```text
//! PAGE 32 B    0 class u16 + state u8 u32 | 4 free blocks u32 | 8 next u32 | 12 previous u32
//!              16 where to look for a free bit u32 | 20 pad
//! BITMAP       bit set = the block is in use or in somebody's magazine
//! ```
//!
//! Links are page numbers plus one, 0 for none. All words are read and written under the lock of
//! the page's class, hence relaxed; only the first word may be read without it, as a hint.

use super::Allocator;
use super::classes::Class;
use crate::sync::atomics::Ordering::Relaxed;

/// What is 0 there is not a page, or not the first 64 KiB of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// In its class' lists.
    Listed = 1,
    /// No free block: in no list.
    Full = 2,
    /// Being emptied: in no list.
    Draining = 3,
}

impl Allocator {
    #[inline]
    pub(super) fn page_get(&self, page: u32, field: u64) -> u32 {
        self.arena.load32(self.arena.layout().page_desc(page) + field, Relaxed)
    }

    #[inline]
    pub(super) fn page_set(&self, page: u32, field: u64, value: u32) {
        self.arena.u32_at(self.arena.layout().page_desc(page) + field).store(value, Relaxed);
    }

    /// The class and state of a page; `None` for what is not the start of one.
    #[inline]
    pub(super) fn page_class(&self, page: u32) -> Option<(Class, State)> {
        let word = self.page_get(page, 0);
        let state = match word >> 16 {
            1 => State::Listed,
            2 => State::Full,
            3 => State::Draining,
            _ => return None,
        };
        Some((Class::from_index(word & 0xffff)?, state))
    }

    #[inline]
    pub(super) fn page_set_class(&self, page: u32, class: Class, state: State) {
        self.page_set(page, 0, class.index() as u32 | (state as u32) << 16);
    }

    #[inline]
    pub(super) fn page_free(&self, page: u32) -> u32 {
        self.page_get(page, FREE)
    }

    /// Makes a fresh page of a class: all blocks free, in no list.
    pub(super) fn page_init(&self, page: u32, class: Class) {
        let bitmap = self.arena.layout().page_bitmap(page);
        for word in 0..class.blocks().div_ceil(64) as u64 {
            self.arena.u64_at(bitmap + word * 8).store(0, Relaxed);
        }
        self.page_set(page, FREE, class.blocks());
        self.page_set(page, NEXT, 0);
        self.page_set(page, PREVIOUS, 0);
        self.page_set(page, HINT, 0);
        self.page_set_class(page, class, State::Full);
    }

    /// Takes up to `out.len()` free blocks of a page; the number taken.
    pub(super) fn page_take(&self, page: u32, class: Class, out: &mut [u32]) -> usize {
        let layout = self.arena.layout();
        let bitmap = layout.page_bitmap(page);
        let start = layout.page_start(page);
        let words = class.blocks().div_ceil(64);
        let wanted = out.len().min(self.page_free(page) as usize);
        let mut word = self.page_get(page, HINT);
        let mut taken = 0;
        while taken < wanted && word < words {
            let bits = self.arena.u64_at(bitmap + word as u64 * 8);
            let in_use = bits.load(Relaxed);
            let valid = class.blocks() - word * 64;
            let mut free = !in_use & if valid < 64 { (1 << valid) - 1 } else { u64::MAX };
            let mut now = in_use;
            while free != 0 && taken < wanted {
                let bit = free.trailing_zeros();
                free &= free - 1;
                now |= 1 << bit;
                let offset = start + (word * 64 + bit) as u64 * class.size() as u64;
                out[taken] = (offset >> 3) as u32;
                taken += 1;
            }
            bits.store(now, Relaxed);
            if free == 0 {
                word += 1;
            }
        }
        self.page_set(page, HINT, word);
        self.page_set(page, FREE, self.page_free(page) - taken as u32);
        taken
    }

    /// Clears the bit of one block. False: it was clear, or no block begins there.
    pub(super) fn page_give(&self, page: u32, class: Class, offset: u64) -> bool {
        let layout = self.arena.layout();
        let Some(block) = class.block_at(offset - layout.page_start(page)) else { return false };
        let bits = self.arena.u64_at(layout.page_bitmap(page) + (block / 64) as u64 * 8);
        let old = bits.load(Relaxed);
        let bit = 1 << (block % 64);
        if old & bit == 0 {
            return false;
        }
        bits.store(old & !bit, Relaxed);
        if block / 64 < self.page_get(page, HINT) {
            self.page_set(page, HINT, block / 64);
        }
        self.page_set(page, FREE, self.page_free(page) + 1);
        true
    }

    /// Calls `visit` with the offset of every block in use.
    pub(super) fn page_blocks(&self, page: u32, class: Class, mut visit: impl FnMut(u64)) {
        let layout = self.arena.layout();
        for word in 0..class.blocks().div_ceil(64) {
            let mut bits = self.arena.load64(layout.page_bitmap(page) + word as u64 * 8, Relaxed);
            while bits != 0 {
                let block = word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                visit(layout.page_start(page) + block as u64 * class.size() as u64);
            }
        }
    }
}

pub(super) const FREE: u64 = 4;
pub(super) const NEXT: u64 = 8;
pub(super) const PREVIOUS: u64 = 12;
const HINT: u64 = 16;
