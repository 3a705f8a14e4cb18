//! The page heap: hands out units of 16 KiB, aligned groups of them as pages, and runs of them as
//! large blocks.
//!
//! Always the lowest free place is taken, so that high extents empty and can be given back.
//! Memory that is committed already is preferred. When some must be committed, its units are
//! claimed and its steps marked pending under the lock, and the system calls are made without it:
//! others go on in what is there.

use super::Allocator;
use super::extent::{Summary, aligned_group, steps_of_units, unit_mask};
use super::runs::Free;
use crate::arena::header::{FREE_UNITS_AT, HEAP_ASLEEP_AT, HEAP_LOCK_AT, RUN_UNITS_AT};
use crate::arena::layout::{STEP, STEPS_PER_EXTENT, UNIT, UNITS_PER_EXTENT, UNITS_PER_PAGE};
use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::atomics::yield_turn;
use crate::sync::lock::{Held, Lock};
use std::cell::Cell;

/// How often a run waits for memory that is being committed ahead: ten milliseconds or so,
/// where one step takes a tenth of one.
const PENDING_TURNS: u32 = 20_000;

/// What units are taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taker {
    Page,
    Run,
}

/// Some units in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub first: u32,
    pub units: u32,
}

impl Span {
    /// The part of the span in each extent: (extent, units within it).
    pub fn parts(self) -> impl Iterator<Item = (u32, u128)> {
        let end = self.first + self.units;
        let mut at = self.first;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let extent = at / UNITS_PER_EXTENT;
            let n = (end - at).min((extent + 1) * UNITS_PER_EXTENT - at);
            let mask = unit_mask(at % UNITS_PER_EXTENT, n);
            at += n;
            Some((extent, mask))
        })
    }
}

impl Allocator {
    pub(super) fn heap_lock(&self) -> Held<'_> {
        let word = self.arena.u32_at(HEAP_LOCK_AT);
        Lock { word, asleep: self.arena.u32_at(HEAP_ASLEEP_AT) }.hold()
    }

    /// Takes an aligned group of 4 or 8 units. `None`: no memory within the limit.
    pub(super) fn take_page(&self, units: u32) -> Option<u32> {
        self.take(Taker::Page, |heap| {
            let (summary, limit) = if units == UNITS_PER_PAGE {
                (Summary::Narrow, self.arena.layout().extents)
            } else {
                (Summary::Wide, self.arena.layout().extents)
            };
            let group = |extent: u32, free| {
                let first = aligned_group(free, units)? + extent * UNITS_PER_EXTENT;
                Some(Span { first, units })
            };
            if let Some(extent) = heap.find_extent(summary, 0) {
                return group(extent, heap.extent(extent).available());
            }
            let mut from = 0;
            while let Some(extent) = heap.find_extent(Summary::Uncommitted, from) {
                if let Some(span) = group(extent, heap.extent(extent).obtainable()) {
                    return Some(span);
                }
                from = extent + 1;
            }
            let known = heap.known_extents();
            (known < limit).then_some(Span { first: known * UNITS_PER_EXTENT, units })
        })
        .map(|span| span.first)
    }

    /// Takes this many units in a row. `None`: no memory within the limit.
    pub(super) fn take_run(&self, units: u32) -> Option<u32> {
        let mut turn = 0;
        let waits = Cell::new(false);
        loop {
            let span = self.take(Taker::Run, |heap| {
                waits.set(false);
                heap.find_run(units, Free::Committed).or_else(|| {
                    // Who went past memory that is being committed would leave a hole behind, too
                    // small for the next run.
                    let found = heap.find_run(units, Free::Obtainable);
                    let soon = heap.find_run(units, Free::Soon);
                    waits.set(found != soon && turn < PENDING_TURNS);
                    found.filter(|_| !waits.get())
                })
            });
            if !waits.get() {
                return span.map(|span| span.first);
            }
            turn += 1;
            yield_turn();
        }
    }

    /// Whether there is such a run, some of which may still have to be committed.
    pub(crate) fn has_run(&self, units: u32) -> bool {
        let _held = self.heap_lock();
        let growth = self.arena.uncommitted();
        self.find_run(units, Free::Committed).is_some()
            || self.find_run(units, Free::Soon).is_some_and(|span| self.missing(span) <= growth)
    }

    /// Has memory that is free, but in the wrong places, given back for a run of so many units where some
    /// has yet to be committed. False: there is no such place, or not enough was had.
    pub(crate) fn make_run(&self, units: u32) -> bool {
        let needed = {
            let _held = self.heap_lock();
            self.find_run(units, Free::Soon).map(|span| self.missing(span))
        };
        // What is given back may lie in that very place: so much more is enough wherever it lies.
        needed.is_some() && {
            self.release_steps(units as u64 * UNIT + STEP);
            self.has_run(units)
        }
    }

    /// Bytes that a span takes to be committed, beside those that are being committed already: of itself, and of
    /// what describes extents that are new with it.
    fn missing(&self, span: Span) -> u64 {
        let known = self.known_extents();
        let steps = span.parts().map(|(extent, units)| {
            let charged = match extent < known {
                true => self.extent(extent).committed | self.extent(extent).pending,
                false => 0,
            };
            (steps_of_units(units) & !charged).count_ones()
        });
        let end = (span.first + span.units).div_ceil(UNITS_PER_EXTENT);
        steps.sum::<u32>() as u64 * STEP + self.described_bytes(end)
    }

    /// Gives a run back. False: no run of this length begins there.
    pub(super) fn give_run(&self, first: u32, units: u32) -> bool {
        let _held = self.heap_lock();
        let known = self.known_extents() * UNITS_PER_EXTENT;
        if first.checked_add(units).is_none_or(|end| end > known) {
            return false;
        }
        let bit = 1 << (first % UNITS_PER_EXTENT);
        if self.extent(first / UNITS_PER_EXTENT).run_starts & bit == 0 {
            return false;
        }
        self.unclaim(Span { first, units });
        true
    }

    /// Gives a page back.
    pub(super) fn give_page(&self, first: u32, units: u32) {
        let _held = self.heap_lock();
        self.unclaim(Span { first, units });
    }

    /// Bytes that are committed and in no page or run.
    pub(super) fn free_unit_bytes(&self) -> u64 {
        self.arena.load64(FREE_UNITS_AT, Relaxed) * UNIT
    }

    /// Frees the units of a page or of a whole run.
    fn unclaim(&self, span: Span) {
        let mut of_runs = 0;
        for (extent, units) in span.parts() {
            self.edit_extent(extent, |e| {
                debug_assert_eq!(e.used & units, units, "units given back that nobody had");
                if e.run_starts & units != 0 {
                    of_runs = span.units as u64;
                }
                e.used &= !units;
                e.run_starts &= !units;
            });
        }
        let runs = self.arena.u64_at(RUN_UNITS_AT);
        runs.store(runs.load(Relaxed) - of_runs, Relaxed);
    }

    /// Claims what `find` finds under the lock, and commits what of it is not.
    fn take(&self, taker: Taker, find: impl Fn(&Self) -> Option<Span>) -> Option<Span> {
        for attempt in 0..2 {
            let held = self.heap_lock();
            let span = find(self)?;
            let last = (span.first + span.units - 1) / UNITS_PER_EXTENT;
            if self.know_extents(last + 1) {
                let steps = self.mark_claimed(span, taker);
                if steps == 0 {
                    return Some(span);
                }
                if self.arena.charge(steps as u64 * STEP) {
                    drop(held);
                    return self.commit_claimed(span).then_some(span);
                }
                self.settle(span, &mut |_, _| false);
                self.unclaim(span);
            }
            drop(held);
            // At the limit, yet there may be committed memory that is free but in the wrong place.
            if attempt == 1 || self.release_steps(span.units as u64 * UNIT + STEP) == 0 {
                return None;
            }
        }
        None
    }

    /// Marks units used and their uncommitted steps pending; the number of those steps.
    fn mark_claimed(&self, span: Span, taker: Taker) -> u32 {
        let mut steps = 0;
        let mut start = 0;
        if taker == Taker::Run {
            start = 1 << (span.first % UNITS_PER_EXTENT);
            let runs = self.arena.u64_at(RUN_UNITS_AT);
            runs.store(runs.load(Relaxed) + span.units as u64, Relaxed);
        }
        for (extent, units) in span.parts() {
            self.edit_extent(extent, |e| {
                let missing = steps_of_units(units) & !e.committed;
                debug_assert_eq!(e.used & units, 0);
                debug_assert_eq!(e.pending & missing, 0);
                e.used |= units;
                e.run_starts |= start;
                e.pending |= missing;
                steps += missing.count_ones();
            });
            // A run begins in the first of its extents.
            start = 0;
        }
        steps
    }

    /// Ends the pending steps of a claimed span: committed where `done` says so. The pending steps
    /// under a claimed span are the claimer's own, since no other's are ever claimed.
    fn settle(&self, span: Span, done: &mut dyn FnMut(u32, u32) -> bool) {
        for (extent, units) in span.parts() {
            self.edit_extent(extent, |e| {
                let own = steps_of_units(units) & e.pending;
                e.pending &= !own;
                if own != 0 && done(extent, own) {
                    e.committed |= own;
                }
            });
        }
    }

    /// Commits the pending steps of a claimed and charged span, without the lock.
    fn commit_claimed(&self, span: Span) -> bool {
        let mut refused_from = u32::MAX;
        for (extent, units) in span.parts() {
            // Only we change these pending bits, so they can be read without the lock.
            let own = steps_of_units(units) & self.extent(extent).pending;
            if !self.commit_steps(extent, own) {
                refused_from = extent;
                break;
            }
        }
        let _held = self.heap_lock();
        let mut refused = 0;
        self.settle(span, &mut |extent, own| {
            let done = extent < refused_from;
            if !done {
                refused += own.count_ones() as u64;
            }
            done
        });
        if refused > 0 {
            self.arena.discharge(refused * STEP);
            self.unclaim(span);
        }
        refused == 0
    }

    /// Has the system set memory aside for pending steps of an extent: all of them or none.
    pub(super) fn commit_steps(&self, extent: u32, steps: u32) -> bool {
        let start = self.arena.layout().extent_start(extent);
        let each = || (0..STEPS_PER_EXTENT).filter(move |step| steps >> step & 1 != 0);
        let at = |step: u32| start + step as u64 * STEP;
        let done = each().all(|step| self.arena.commit_charged(at(step), STEP).is_ok());
        if !done {
            for step in each() {
                // A failure leaves memory taken that nobody counts; there is no more to be done.
                let _ = self.arena.release(at(step), STEP);
            }
        }
        done
    }
}
