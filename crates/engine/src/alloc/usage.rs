//! What the arena's memory is used for, and whether there is room for more.
//!
//! The figures are read without locks while others work, so they are exact only when nobody does.

use super::Allocator;
use super::classes::{CLASSES, Class, PageKind, run_units};
use super::extent::Summary;
use super::session::{CLAIMED_AT, magazine_at};
use crate::arena::header::RUN_UNITS_AT;
use crate::arena::layout::{EXTENT, STEP, UNIT, UNITS_PER_PAGE};

use crate::sync::atomics::Ordering::Relaxed;

/// The pages of one size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassUsage {
    pub kind: PageKind,
    /// Bytes of a block.
    pub size: u32,
    pub pages: u32,
    /// Blocks that these pages have room for.
    pub blocks: u64,
    /// Blocks in use; those in magazines are free.
    pub live: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// All that the arena has taken from the system.
    pub committed: u64,
    /// Bytes of blocks in use, the index's and large ones included.
    pub live_bytes: u64,
    /// Of these, the index's.
    pub index_bytes: u64,
    /// Of these, blocks above 32 KiB.
    pub large_bytes: u64,
    /// Committed and in no page or run.
    pub free_bytes: u64,
    /// Free blocks held by sessions.
    pub magazine_bytes: u64,
    pub classes: Vec<ClassUsage>,
}

impl Usage {
    /// Committed memory that is not blocks: headers, session slots, descriptors, bitmaps.
    pub fn fixed_bytes(&self) -> u64 {
        let pages: u64 = self.classes.iter().map(|class| class.page_bytes()).sum();
        self.committed.saturating_sub(pages + self.large_bytes + self.free_bytes)
    }

    /// Bytes of all blocks there are, in use or free: without what pages cannot use at their end.
    pub fn block_bytes(&self) -> u64 {
        let blocks = self.classes.iter().map(|class| class.blocks * u64::from(class.size));
        blocks.sum::<u64>() + self.large_bytes
    }
}

impl ClassUsage {
    /// Bytes of the pages, what they cannot use at their end included.
    pub fn page_bytes(&self) -> u64 {
        Class::of(self.size as usize, self.kind).page_units() as u64 * UNIT * self.pages as u64
    }
}

impl Allocator {
    pub fn usage(&self) -> Usage {
        let mut in_magazines = [0u64; CLASSES];
        let mut claimed = self.arena.load64(CLAIMED_AT, Relaxed);
        while claimed != 0 {
            let slot = self.arena.layout().session(claimed.trailing_zeros());
            claimed &= claimed - 1;
            for class in Class::all() {
                let count = self.arena.load32(slot + magazine_at(class), Relaxed);
                in_magazines[class.index()] += count as u64;
            }
        }
        let mut usage = Usage {
            committed: self.arena.committed(),
            live_bytes: 0,
            index_bytes: 0,
            large_bytes: self.arena.load64(RUN_UNITS_AT, Relaxed) * UNIT,
            free_bytes: self.free_unit_bytes(),
            magazine_bytes: 0,
            classes: Vec::new(),
        };
        usage.live_bytes = usage.large_bytes;
        for class in Class::all() {
            let pages = self.class_pages(class);
            if pages == 0 {
                continue;
            }
            let (size, kind) = (class.size(), class.kind());
            let blocks = pages as u64 * class.blocks() as u64;
            let free = self.class_free_blocks(class) as u64 + in_magazines[class.index()];
            let live = blocks.saturating_sub(free);
            usage.magazine_bytes += in_magazines[class.index()] * size as u64;
            usage.live_bytes += live * size as u64;
            if kind == PageKind::Index {
                usage.index_bytes += live * size as u64;
            }
            usage.classes.push(ClassUsage { kind, size, pages, blocks, live });
        }
        usage
    }

    /// Bytes of blocks too large for a page.
    pub fn large_bytes(&self) -> u64 {
        self.arena.load64(RUN_UNITS_AT, Relaxed) * UNIT
    }

    /// Bytes of which new pages and large blocks can be made: what may still be committed, and
    /// what is committed but in no page.
    #[inline]
    pub fn free_bytes(&self) -> u64 {
        let growth = self.arena.uncommitted();
        growth + self.free_unit_bytes()
    }

    /// Whether there are so many bytes in a row in extents that were never in use. What may be committed
    /// can otherwise lie scattered over extents that are partly in use.
    #[inline]
    pub fn has_fresh(&self, bytes: u64) -> bool {
        let fresh = self.arena.layout().extents - self.known_extents();
        u64::from(fresh) * EXTENT >= bytes
    }

    /// Whether a block of any size from the first to the second can be had now, as far as can be
    /// told without a lock. Blocks in the caller's own magazine are not looked at. A wide page is
    /// begun only where `spare` bytes have room for it: else each would be made free by evicting as
    /// many items as it holds, and the next ones stored would evict none.
    pub fn can_serve(&self, least: usize, most: usize, kind: PageKind, spare: u64) -> bool {
        let growth = self.arena.uncommitted();
        if most > super::BLOCK_MAX {
            let needed = run_units(most) as u64 * UNIT;
            let is_simple = growth >= needed + 2 * STEP && self.has_fresh(needed);
            let has_run = is_simple || self.has_run(run_units(most));
            // Near the border it may come out as either.
            let is_run = least > super::BLOCK_MAX;
            return has_run && (is_run || self.can_serve(least, super::BLOCK_MAX, kind, spare));
        }
        let class = Class::of(most, kind);
        let page = class.page_units() as u64 * UNIT;
        let may_begin = class.page_units() == UNITS_PER_PAGE || spare >= page;
        if may_begin && growth >= page + STEP {
            return true;
        }
        let classes = Class::of(least, kind).index()..=class.index();
        let mut classes = classes.filter_map(|index| Class::from_index(index as u32));
        if classes.all(|class| self.class_free_blocks(class) > 0) {
            return true;
        }
        let summary =
            if class.page_units() == UNITS_PER_PAGE { Summary::Narrow } else { Summary::Wide };
        may_begin && self.find_extent(summary, 0).is_some()
    }
}
