//! Blocks of memory in the arena: any thread or process may take one and any other give it back.
//!
//! ```text
//! alloc, free    magazine of the session (a stack of up to 30 blocks per class, no shared line)
//!   in groups    pages of one class, under the class' lock            class.rs, page.rs
//!   64/128 KiB   page heap, units of 16 KiB in extents of 2 MiB       heap.rs, extent.rs, runs.rs
//!   256 KiB      the system                                           arena
//! ```
//!
//! A caller says the size again when it frees a block, so that neither way has to look at what
//! describes the page. Nothing is threaded through free blocks: a late reader of a block that was
//! freed finds old bytes, never a list to break.
//!
//! Invariants, checked by `verify`, are numbered A1 to A7 there, and A8 and A9 in `owned.rs`.

mod by_size;
mod candidates;
mod class;
pub mod classes;
mod described;
mod drain;
mod extent;
mod heap;
mod owned;
mod page;
mod runs;
pub mod session;
pub mod statistics;
mod stretch;
mod upkeep;
mod usage;
mod verify;

pub use candidates::Candidate;
pub use classes::{BLOCK_MAX, PageKind, block_bytes};
pub use drain::Drain;
pub(crate) use owned::Owned;
pub use session::{SessionSlot, TopPlace};
pub use upkeep::Collapse;
pub use usage::{ClassUsage, Usage};

use crate::arena::header::{DRAIN_AT, FAULTS_AT, RELEASES_AT};
use crate::arena::layout::UNIT_SHIFT;
use crate::arena::{Arena, Mem, Ref};
use crate::sync::atomics::Ordering;
use classes::{Class, MAGAZINE_MAX, run_units};
use std::sync::Arc;

/// The allocator of an arena. All its state lies in the arena; this is a handle.
#[derive(Clone, Debug)]
pub struct Allocator {
    arena: Arc<Arena>,
}

impl Allocator {
    pub fn new(arena: Arc<Arena>) -> Allocator {
        Allocator { arena }
    }

    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// A block of at least `bytes`. Its old contents are whatever they were. `None`: there is no
    /// memory for it within the limit.
    #[inline(always)]
    pub fn alloc(&self, slot: &SessionSlot, bytes: usize, kind: PageKind) -> Option<Ref> {
        if bytes > BLOCK_MAX {
            return self.alloc_run(bytes);
        }
        let class = Class::of(bytes, kind);
        match slot.pop(class) {
            Some(block) if !self.draining() => Some(block),
            first => self.alloc_slow(slot, class, first),
        }
    }

    /// Gives a block back. `bytes` and `kind` are those of its allocation (any size of the same
    /// class will do).
    #[inline(always)]
    pub fn free(&self, slot: &SessionSlot, block: Ref, bytes: usize, kind: PageKind) {
        if bytes > BLOCK_MAX {
            return self.free_run(block, bytes);
        }
        let class = Class::of(bytes, kind);
        if self.draining() || !slot.push(class, block) {
            self.free_slow(slot, class, block);
        }
    }

    /// A block for an item of at most [`BLOCK_MAX`] in exchange for another one of the same class, which is to be freed by
    /// [`Allocator::end_exchange`] before this session takes or frees anything else. `None`: it has
    /// to be taken and freed, as always.
    #[inline(always)]
    pub(crate) fn begin_exchange(
        &self,
        mem: Mem<'_>,
        slot: &SessionSlot,
        bytes: usize,
    ) -> Option<(Ref, TopPlace)> {
        debug_assert!(bytes <= BLOCK_MAX, "runs of units are not exchanged");
        // As in `draining`.
        if mem.u32_at(DRAIN_AT as usize).load(Ordering::Relaxed) != 0 {
            return None;
        }
        slot.top(mem, bytes)
    }

    /// Frees the block that was exchanged: it takes the place of the new one.
    #[inline(always)]
    pub(crate) fn end_exchange(
        &self,
        mem: Mem<'_>,
        slot: &SessionSlot,
        place: TopPlace,
        block: Ref,
    ) {
        slot.replace(mem, place, block);
    }

    /// Whether somebody is emptying pages, so that blocks must not be kept in magazines unseen.
    /// Relaxed: who sees it late only makes the emptying take longer.
    #[inline(always)]
    fn draining(&self) -> bool {
        self.arena.load32(DRAIN_AT, Ordering::Relaxed) != 0
    }

    /// Whether somebody is moving blocks or giving memory back to the system: what he has in his
    /// hands is free soon, and counts as used until then.
    pub(crate) fn has_memory_in_motion(&self) -> bool {
        // Relaxed: seen late, it makes somebody wait for one turn more.
        self.draining() || self.arena.load32(RELEASES_AT, Ordering::Relaxed) != 0
    }

    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, slot: &SessionSlot, class: Class, first: Option<Ref>) -> Option<Ref> {
        let mut candidate = first;
        while let Some(block) = candidate {
            if !self.is_draining(class, block) {
                return Some(block);
            }
            self.give_back(class, &[block.raw()]);
            candidate = slot.pop(class);
        }
        let mut blocks = [0; MAGAZINE_MAX];
        let group = class.magazine_capacity().div_ceil(2);
        let taken = self.take_blocks(class, &mut blocks[..group]);
        // Lowest address first: reversed, since a magazine is a stack.
        blocks[..taken].reverse();
        slot.refill(class, &blocks[..taken]);
        slot.pop(class)
    }

    #[cold]
    #[inline(never)]
    fn free_slow(&self, slot: &SessionSlot, class: Class, block: Ref) {
        if self.draining() && self.is_draining(class, block) {
            return self.give_back(class, &[block.raw()]);
        }
        if slot.push(class, block) {
            return;
        }
        let mut blocks = [0; MAGAZINE_MAX];
        let group = class.magazine_capacity().div_ceil(2);
        let taken = slot.take_oldest(class, group, &mut blocks);
        self.give_back(class, &blocks[..taken]);
        let pushed = slot.push(class, block);
        debug_assert!(pushed);
    }

    /// Whether a block's page is being emptied. Read without the lock: a wrong answer delays only.
    fn is_draining(&self, class: Class, block: Ref) -> bool {
        let page = class.first_page(self.arena.layout().page_of(block.offset()));
        matches!(self.page_class(page), Some((_, page::State::Draining)))
    }

    #[cold]
    fn alloc_run(&self, bytes: usize) -> Option<Ref> {
        let units = u32::try_from((bytes as u64) >> UNIT_SHIFT).ok()?;
        let units = units.max(run_units(bytes));
        let unit = match self.take_run(units) {
            None if self.trim() > 0 => self.take_run(units)?,
            outcome => outcome?,
        };
        Ref::from_offset(self.arena.layout().unit_start(unit))
    }

    #[cold]
    fn free_run(&self, block: Ref, bytes: usize) {
        let layout = self.arena.layout();
        let from_data = block.offset().wrapping_sub(layout.data_at);
        let aligned = from_data.is_multiple_of(1 << UNIT_SHIFT) && block.offset() < layout.len;
        let ok = aligned && self.give_run((from_data >> UNIT_SHIFT) as u32, run_units(bytes));
        if !ok {
            self.arena.u64_at(FAULTS_AT).fetch_add(1, Ordering::Relaxed);
            debug_assert!(ok, "a large block freed twice, or with another block's size");
        }
    }

    /// How often a block was freed that was not in use. Above 0 there is a bug in the caller.
    pub fn faults(&self) -> u64 {
        self.arena.load64(FAULTS_AT, Ordering::Relaxed)
    }
}
