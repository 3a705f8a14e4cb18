//! What the page heap knows of one extent, and of all of them in a glance.
//!
//! ```text
//! EXTENT 64 B   0 used u64 x 2 | 16 run starts u64 x 2 | 32 committed u32 | 36 pending u32
//!               40 flags u32 | 44 pad
//! ```
//!
//! `used` has a bit per 16 KiB unit, `committed` one per step of 256 KiB. A `pending` step is
//! being committed or given back by somebody who does not hold the heap's lock meanwhile; nobody
//! else touches it. The four summaries have a bit per extent and say where to look at all.
//!
//! Every word here is read and written under the heap's lock, hence relaxed.

use super::Allocator;
use crate::arena::header::{FREE_UNITS_AT, KNOWN_EXTENTS_AT};
use crate::arena::layout::{
    STEPS_PER_EXTENT, SUMMARIES_AT, SUMMARY_BYTES, UNITS_PER_PAGE, UNITS_PER_STEP,
    UNITS_PER_WIDE_PAGE,
};
use crate::sync::atomics::Ordering::Relaxed;

/// No new blocks here: the extent is being emptied.
pub(super) const DRAINING: u32 = 1;
/// It is one huge page.
pub(super) const COLLAPSED: u32 = 2;
/// The system did not want to make it one.
pub(super) const REFUSED: u32 = 4;
/// It is being made one just now: it must stay committed.
pub(super) const COLLAPSING: u32 = 8;

pub(super) const ALL_STEPS: u32 = (1 << STEPS_PER_EXTENT) - 1;

/// The questions that a summary answers with one bit per extent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Summary {
    /// There is a free, committed, aligned group of four units.
    Narrow = 0,
    /// There is one of eight.
    Wide = 1,
    /// There is a step that can be committed.
    Uncommitted = 2,
    /// There is a free, committed unit.
    AnyFree = 3,
}

/// A descriptor, read as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub used: u128,
    pub run_starts: u128,
    pub committed: u32,
    pub pending: u32,
    pub flags: u32,
}

/// The units of some steps.
pub(super) fn units_of_steps(steps: u32) -> u128 {
    // Nearly every extent that is looked at for a run.
    if steps == ALL_STEPS {
        return u128::MAX;
    }
    let mut units = 0;
    for step in 0..STEPS_PER_EXTENT {
        if steps >> step & 1 != 0 {
            units |= 0xffff_u128 << (step * UNITS_PER_STEP);
        }
    }
    units
}

/// The steps that some units lie in.
pub(super) fn steps_of_units(units: u128) -> u32 {
    let mut steps = 0;
    for step in 0..STEPS_PER_EXTENT {
        if units >> (step * UNITS_PER_STEP) & 0xffff != 0 {
            steps |= 1 << step;
        }
    }
    steps
}

/// `n` units (1 to 128) from `first` on.
pub(super) fn unit_mask(first: u32, n: u32) -> u128 {
    (u128::MAX >> (128 - n)) << first
}

/// The first aligned group of 4 or 8 units whose bits are all set.
pub(super) fn aligned_group(free: u128, units: u32) -> Option<u32> {
    let pairs = free & free >> 1;
    let fours = pairs & pairs >> 2;
    let starts = if units == UNITS_PER_PAGE {
        fours & (u128::MAX / 0xf)
    } else {
        debug_assert_eq!(units, UNITS_PER_WIDE_PAGE);
        fours & fours >> 4 & (u128::MAX / 0xff)
    };
    (starts != 0).then(|| starts.trailing_zeros())
}

impl Extent {
    /// Free units that can be handed out at once.
    pub fn available(&self) -> u128 {
        if self.flags & DRAINING != 0 {
            return 0;
        }
        !self.used & units_of_steps(self.committed)
    }

    /// Free units that can be handed out, some of them after a commit.
    pub fn obtainable(&self) -> u128 {
        if self.flags & DRAINING != 0 {
            return 0;
        }
        !self.used & units_of_steps(ALL_STEPS & !self.pending)
    }

    /// As [`Extent::obtainable`], with the steps that are being committed ahead. Not with a whole
    /// extent: a huge page may take 7 ms, too long to be waited for, and comes far from the limit only.
    pub fn obtainable_soon(&self) -> u128 {
        if self.flags & DRAINING != 0 {
            return 0;
        }
        // What somebody commits for its own use has units in use already.
        let others = match self.pending {
            ALL_STEPS => ALL_STEPS,
            pending => pending & steps_of_units(self.used),
        };
        !self.used & units_of_steps(ALL_STEPS & !others)
    }

    pub fn committable(&self) -> u32 {
        if self.flags & DRAINING != 0 { 0 } else { ALL_STEPS & !self.committed & !self.pending }
    }

    pub fn answers(&self) -> [bool; 4] {
        let free = self.available();
        [
            aligned_group(free, UNITS_PER_PAGE).is_some(),
            aligned_group(free, UNITS_PER_WIDE_PAGE).is_some(),
            self.committable() != 0,
            free != 0,
        ]
    }
}

pub(super) fn summary_word(summary: Summary, extent: u32) -> u64 {
    SUMMARIES_AT + summary as u64 * SUMMARY_BYTES + (extent as u64 / 64) * 8
}

pub(super) const SUMMARY_ORDER: [Summary; 4] =
    [Summary::Narrow, Summary::Wide, Summary::Uncommitted, Summary::AnyFree];

impl Allocator {
    /// Extents that were ever in use. Those beyond are wholly free and have no descriptor yet.
    pub(super) fn known_extents(&self) -> u32 {
        self.arena.load32(KNOWN_EXTENTS_AT, Relaxed)
    }

    pub(super) fn extent(&self, index: u32) -> Extent {
        let at = self.arena.layout().extent_desc(index);
        let get = |offset| self.arena.load64(at + offset, Relaxed) as u128;
        Extent {
            used: get(0) | get(8) << 64,
            run_starts: get(16) | get(24) << 64,
            committed: self.arena.load32(at + 32, Relaxed),
            pending: self.arena.load32(at + 36, Relaxed),
            flags: self.arena.load32(at + 40, Relaxed),
        }
    }

    /// Changes an extent, and with it the summaries, the reaches and the count of free units.
    pub(super) fn edit_extent(&self, index: u32, change: impl FnOnce(&mut Extent)) {
        let mut extent = self.extent(index);
        let before = extent.available();
        change(&mut extent);
        let at = self.arena.layout().extent_desc(index);
        let put = |offset, value: u128| {
            self.arena.u64_at(at + offset).store(value as u64, Relaxed);
            self.arena.u64_at(at + offset + 8).store((value >> 64) as u64, Relaxed);
        };
        put(0, extent.used);
        put(16, extent.run_starts);
        self.arena.u32_at(at + 32).store(extent.committed, Relaxed);
        self.arena.u32_at(at + 36).store(extent.pending, Relaxed);
        self.arena.u32_at(at + 40).store(extent.flags, Relaxed);
        let free = self.arena.u64_at(FREE_UNITS_AT);
        let after = extent.available();
        let (more, less) = (after.count_ones() as u64, before.count_ones() as u64);
        free.store(free.load(Relaxed) + more - less, Relaxed);
        if before != after {
            self.note_free_units(index, before, after);
        }
        for (summary, answer) in SUMMARY_ORDER.into_iter().zip(extent.answers()) {
            let word = self.arena.u64_at(summary_word(summary, index));
            let bit = 1 << (index % 64);
            let old = word.load(Relaxed);
            word.store(if answer { old | bit } else { old & !bit }, Relaxed);
        }
    }

    /// The first extent at or after `from` that a summary names.
    pub(super) fn find_extent(&self, summary: Summary, from: u32) -> Option<u32> {
        let known = self.known_extents();
        let mut extent = from;
        while extent < known {
            let word = self.arena.load64(summary_word(summary, extent), Relaxed);
            let rest = word >> (extent % 64);
            if rest != 0 {
                return Some(extent + rest.trailing_zeros());
            }
            extent = (extent / 64 + 1) * 64;
        }
        None
    }
}
