//! What maintenance does for the page heap, off the write path: memory committed ahead of need,
//! empty extents given back, and small system pages made into huge ones.

use super::Allocator;
use super::extent::{
    ALL_STEPS, COLLAPSED, COLLAPSING, DRAINING, Extent, REFUSED, Summary, steps_of_units,
    units_of_steps,
};
use crate::arena::header::{COLLAPSE_CURSOR_AT, COLLAPSE_REFUSALS_AT, RELEASES_AT};
use crate::arena::layout::{EXTENT, STEP, STEPS_PER_EXTENT};
use crate::sync::atomics::Ordering::Relaxed;

/// A store of fewer extents than this grows by less than one.
const WHOLE_EXTENTS_FROM: u32 = 8;
/// So does one that has less to go than this: what still fits at the limit is counted in steps.
const STEPS_BEFORE_LIMIT: u64 = 64 << 20;
/// A store of as many extents, and more to go, grows by whole ones only: 3 % too much at most.
const WHOLE_EXTENTS_ONLY_FROM: u32 = 32;

/// What one call of [`Allocator::collapse_step`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collapse {
    /// An extent is a huge page now.
    Done,
    /// The system refused; the extent is not tried again while it stays committed.
    Refused,
    /// There is no extent left to try.
    Nothing,
}

impl Allocator {
    /// Commits memory until `reserve` bytes are committed and free, the limit is reached or `go_on`
    /// says no: whole extents as huge pages where much is wanted or the store is large, else 256 KiB
    /// at a time. Returns the bytes committed.
    pub fn commit_ahead(&self, reserve: u64, go_on: &dyn Fn() -> bool) -> u64 {
        let mut committed = 0;
        while self.free_unit_bytes() < reserve && go_on() {
            let is_large = self.known_extents() >= WHOLE_EXTENTS_ONLY_FROM;
            if (is_large || self.free_unit_bytes() + EXTENT <= reserve)
                && let Some(extent) = self.claim_extent()
            {
                if !self.commit_extent(extent) {
                    break;
                }
                committed += EXTENT;
                continue;
            }
            let Some((extent, step)) = self.claim_step() else { break };
            let done = self.commit_steps(extent, step);
            {
                let _held = self.heap_lock();
                self.edit_extent(extent, |e| {
                    e.pending &= !step;
                    if done {
                        e.committed |= step;
                    }
                });
            }
            if !done {
                self.arena.discharge(STEP);
                break;
            }
            committed += STEP;
        }
        committed
    }

    /// Marks all of an extent of which nothing is committed as pending, and charges it. None in a
    /// small store or near the limit, where memory comes in small steps.
    fn claim_extent(&self) -> Option<u32> {
        let _held = self.heap_lock();
        let known = self.known_extents();
        if known < WHOLE_EXTENTS_FROM || self.arena.uncommitted() < STEPS_BEFORE_LIMIT + EXTENT {
            return None;
        }
        let is_bare = |extent: &u32| {
            let e = self.extent(*extent);
            e.committable() == ALL_STEPS && e.used == 0 && e.flags & COLLAPSING == 0
        };
        let mut from = 0;
        let bare = loop {
            match self.find_extent(Summary::Uncommitted, from) {
                Some(extent) if is_bare(&extent) => break Some(extent),
                Some(extent) => from = extent + 1,
                None => break None,
            }
        };
        let extent = match bare {
            Some(extent) => extent,
            None if known >= self.arena.layout().extents || !self.know_extents(known + 1) => {
                return None;
            }
            None => known,
        };
        if !self.arena.charge(EXTENT) {
            return None;
        }
        self.edit_extent(extent, |e| e.pending |= ALL_STEPS);
        Some(extent)
    }

    /// Commits a claimed extent, as a huge page if the system has one. False: it has no memory.
    fn commit_extent(&self, extent: u32) -> bool {
        let start = self.arena.layout().extent_start(extent);
        // Nothing has to be copied together later.
        let is_huge = self.arena.commit_as_huge_page(start, EXTENT).is_ok();
        let done = is_huge || self.commit_steps(extent, ALL_STEPS);
        {
            let _held = self.heap_lock();
            self.edit_extent(extent, |e| {
                e.pending = 0;
                if done {
                    e.committed = ALL_STEPS;
                }
                if is_huge {
                    e.flags |= COLLAPSED;
                }
            });
        }
        if !done {
            self.arena.discharge(EXTENT);
        }
        done
    }

    /// Marks the lowest step that can be committed as pending, and charges it.
    fn claim_step(&self) -> Option<(u32, u32)> {
        let _held = self.heap_lock();
        let extent = match self.find_extent(Summary::Uncommitted, 0) {
            Some(extent) => extent,
            None => {
                let next = self.known_extents();
                if next >= self.arena.layout().extents || !self.know_extents(next + 1) {
                    return None;
                }
                next
            }
        };
        let committable = self.extent(extent).committable();
        let step = committable & committable.wrapping_neg();
        if step == 0 || !self.arena.charge(STEP) {
            return None;
        }
        self.edit_extent(extent, |e| e.pending |= step);
        Some((extent, step))
    }

    /// Gives wholly empty extents back to the system, highest first, as long as `reserve` bytes
    /// stay committed and free. Returns the bytes given back.
    pub fn release_empty_extents(&self, reserve: u64) -> u64 {
        let mut released = 0;
        for extent in (0..self.known_extents()).rev() {
            let spare = self.free_unit_bytes().saturating_sub(reserve);
            if spare < STEP {
                break;
            }
            released += self.release_extent_steps(extent, |e| {
                let bytes = e.committed.count_ones() as u64 * STEP;
                let empty = e.used == 0 && e.pending == 0 && e.flags & DRAINING == 0;
                if empty && bytes <= spare { e.committed } else { 0 }
            });
        }
        released + self.forget_extents()
    }

    /// Gives free steps back to the system, highest first, until `bytes` are. Used when the limit
    /// is reached while memory is free in pieces that do not fit, or lies below what is committed.
    /// Not those of an extent that is being emptied: what is moved out of it would take their place
    /// elsewhere, and nothing would be had.
    pub(crate) fn release_steps(&self, bytes: u64) -> u64 {
        let mut released = 0;
        let mut extent = self.known_extents();
        while extent > 0 && released < bytes {
            extent -= 1;
            released += self.release_extent_steps(extent, |e| {
                let used = steps_of_units(e.used);
                if e.flags & DRAINING == 0 { e.committed & !e.pending & !used } else { 0 }
            });
        }
        released
    }

    /// Gives the steps of an extent that `choose` names back to the system; the bytes of it.
    pub(super) fn release_extent_steps(
        &self,
        extent: u32,
        choose: impl FnOnce(&Extent) -> u32,
    ) -> u64 {
        let held = self.heap_lock();
        let mut steps = 0;
        if extent < self.known_extents() {
            let e = self.extent(extent);
            if e.flags & COLLAPSING == 0 {
                steps = choose(&e);
            }
        }
        if steps == 0 {
            return 0;
        }
        self.edit_extent(extent, |e| {
            debug_assert_eq!(e.used & units_of_steps(steps), 0);
            e.committed &= !steps;
            e.pending |= steps;
            e.flags &= !(COLLAPSED | REFUSED);
        });
        // Relaxed, as for `DRAIN_AT`.
        self.arena.u32_at(RELEASES_AT).fetch_add(1, Relaxed);
        drop(held);
        let start = self.arena.layout().extent_start(extent);
        let mut gone = 0;
        for step in (0..STEPS_PER_EXTENT).filter(|step| steps >> step & 1 != 0) {
            if self.arena.release(start + step as u64 * STEP, STEP).is_ok() {
                gone |= 1u32 << step;
            }
        }
        let bytes = gone.count_ones() as u64 * STEP;
        self.arena.discharge(bytes);
        let _held = self.heap_lock();
        self.edit_extent(extent, |e| {
            e.pending &= !steps;
            e.committed |= steps & !gone;
        });
        self.arena.u32_at(RELEASES_AT).fetch_sub(1, Relaxed);
        bytes
    }

    /// Asks the system for one huge page in place of one fully committed extent: some 5 ms.
    pub fn collapse_step(&self) -> Collapse {
        let Some(extent) = self.claim_collapse() else { return Collapse::Nothing };
        let start = self.arena.layout().extent_start(extent);
        let done = self.arena.collapse(start, EXTENT).is_ok();
        let _held = self.heap_lock();
        let flag = if done { COLLAPSED } else { REFUSED };
        self.edit_extent(extent, |e| e.flags = e.flags & !COLLAPSING | flag);
        if done {
            return Collapse::Done;
        }
        let refusals = self.arena.u32_at(COLLAPSE_REFUSALS_AT);
        refusals.store(refusals.load(Relaxed) + 1, Relaxed);
        Collapse::Refused
    }

    /// Goes on where the last call stopped, once around.
    fn claim_collapse(&self) -> Option<u32> {
        let _held = self.heap_lock();
        let known = self.known_extents();
        let cursor = self.arena.u32_at(COLLAPSE_CURSOR_AT);
        let start = cursor.load(Relaxed);
        let extent = (0..known).map(|i| (start + i) % known).find(|extent| {
            let e = self.extent(*extent);
            let settled = e.committed == ALL_STEPS && e.pending == 0;
            settled && e.flags & (COLLAPSED | REFUSED | COLLAPSING) == 0
        })?;
        cursor.store(extent, Relaxed);
        // While the flag is up the extent is not given back: collapsing a hole would fill it.
        self.edit_extent(extent, |e| e.flags |= COLLAPSING);
        Some(extent)
    }

    /// How often the system refused to make a huge page.
    pub fn collapse_refusals(&self) -> u32 {
        self.arena.load32(COLLAPSE_REFUSALS_AT, Relaxed)
    }
}
