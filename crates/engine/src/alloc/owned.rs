//! Whose blocks are whose: what the index names, held against what the allocator has handed out.
//!
//! * A8 A block that somebody names is in use, of the size and kind that it is named for, in no
//!   magazine, and named by nobody else.
//! * A9 A block in use, and in no magazine, is named by somebody. Only while nobody works: between a
//!   magazine and its class a block is in neither.
//!
//! The allocator does not know who names what: the index tells it (`verify.rs`).

use super::Allocator;
use super::classes::{BLOCK_MAX, Class, PageKind, block_bytes, run_units};
use super::verify::{Check, ensure};
use crate::arena::layout::{PAGES_PER_EXTENT, UNIT, UNITS_PER_EXTENT};
use crate::sync::atomics::Ordering::Relaxed;
use std::collections::{HashMap, HashSet};

/// The blocks that somebody names, by their references.
#[derive(Debug, Default)]
pub(crate) struct Owned(HashMap<u32, (usize, PageKind)>);

impl Owned {
    /// Takes the block of so many bytes at `at` for named. False: it has been named before.
    pub fn insert(&mut self, at: usize, bytes: usize, kind: PageKind) -> bool {
        self.0.insert((at / 8) as u32, (bytes, kind)).is_none()
    }
}

impl Allocator {
    /// Checks A8.
    pub(crate) fn verify_owned(&self, owned: &Owned) -> Check {
        let _classes: Vec<_> = Class::all().map(|class| self.class_lock(class)).collect();
        let _heap = self.heap_lock();
        let spare = self.in_magazines();
        owned.0.iter().try_for_each(|(&reference, &(bytes, kind))| {
            let is_handed_out = match bytes > BLOCK_MAX {
                true => self.is_run(reference, bytes),
                false => self.is_in_use(Class::of(bytes, kind), (reference as u64) << 3),
            };
            ensure(is_handed_out, || {
                format!("A8: block {reference:#x} of {bytes} B is named, and is not in use as such")
            })?;
            ensure(!spare.contains(&reference), || {
                format!("A8: block {reference:#x} of {bytes} B is named, and in a magazine")
            })
        })
    }

    /// Checks A9; `unnamed` bytes are on their way to somebody.
    pub(crate) fn verify_no_other(&self, owned: &Owned, unnamed: u64) -> Check {
        let _classes: Vec<_> = Class::all().map(|class| self.class_lock(class)).collect();
        let _heap = self.heap_lock();
        let spare = self.in_magazines();
        let (mut lost, mut bytes) = (None, 0);
        let mut see = |offset: u64, block_bytes: u64| {
            let reference = (offset >> 3) as u32;
            if !owned.0.contains_key(&reference) && !spare.contains(&reference) {
                bytes += block_bytes;
                lost = Some(reference);
            }
        };
        for page in 0..self.known_extents() * PAGES_PER_EXTENT {
            if let Some((class, _)) = self.page_class(page) {
                self.page_blocks(page, class, |offset| see(offset, class.size() as u64));
            }
        }
        for extent in 0..self.known_extents() {
            let mut starts = self.extent(extent).run_starts;
            while starts != 0 {
                let unit = extent * UNITS_PER_EXTENT + starts.trailing_zeros();
                starts &= starts - 1;
                see(self.arena.layout().unit_start(unit), self.run_length(unit) as u64 * UNIT);
            }
        }
        ensure(bytes == unnamed, || {
            format!(
                "A9: blocks of {bytes} B, where {unnamed} B are expected, are in use and nobody's: \
                 {lost:#x?} is one"
            )
        })
    }

    /// Whether a run of exactly as many units as these bytes take begins there.
    fn is_run(&self, reference: u32, bytes: usize) -> bool {
        let layout = self.arena.layout();
        let offset = (reference as u64) << 3;
        if offset < layout.data_at || !(offset - layout.data_at).is_multiple_of(UNIT) {
            return false;
        }
        let unit = ((offset - layout.data_at) / UNIT) as u32;
        let (extent, bit) = (unit / UNITS_PER_EXTENT, 1u128 << (unit % UNITS_PER_EXTENT));
        extent < self.known_extents()
            && self.extent(extent).run_starts & bit != 0
            && self.run_length(unit) == run_units(bytes)
            && block_bytes(bytes) == run_units(bytes) as u64 * UNIT
    }

    /// Units of the run that begins at a unit: as far as units are in use, in no page, and begin no
    /// other run.
    pub(super) fn run_length(&self, first: u32) -> u32 {
        let mut unit = first + 1;
        while unit / UNITS_PER_EXTENT < self.known_extents() {
            let extent = self.extent(unit / UNITS_PER_EXTENT);
            let bit = 1u128 << (unit % UNITS_PER_EXTENT);
            if extent.used & bit == 0 || extent.run_starts & bit != 0 || self.in_page(unit) {
                break;
            }
            unit += 1;
        }
        unit - first
    }

    /// The blocks that lie free in magazines.
    fn in_magazines(&self) -> HashSet<u32> {
        let mut blocks = HashSet::new();
        self.each_magazine(|_, magazine, count| {
            let block = |i| self.arena.load32(magazine + 4 * i, Relaxed);
            blocks.extend((1..=count as u64).map(block));
        });
        blocks
    }
}
