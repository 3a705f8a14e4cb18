//! Memory in one piece for a large value, in a store of small ones.
//!
//! What eviction frees lies anywhere, and a run of units can be had for it only once pages in a row are
//! empty. So as much goes by the policy as the value takes, and then a stretch of pages is emptied
//! into the places that have become free. Evicting until a piece is free by chance would leave nothing
//! of a store of small items for one megabyte.

use super::compaction::NoPlace;
use crate::alloc::{BLOCK_MAX, block_bytes};
use crate::arena::layout::{PAGE, UNIT};
use crate::session::Session;
use crate::verbs::Millis;

/// Blocks of one size cannot take those of another, and some lie in other sessions' magazines: so much
/// more must be free, one part in so many.
const SPARE_ONE_IN: u64 = 16;
/// Where all that was not enough, this part of the value goes before it is tried again.
const AGAIN_ONE_IN: u64 = 8;

/// What one round for a large value came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gathered {
    /// Memory was had: there may be room now.
    Some,
    /// So many bytes have to go first.
    Lacking(u64),
}

impl Session {
    /// Makes a piece for a block of `item` bytes, and the reserve beside it, out of what lies free.
    pub(super) fn gather_for_run(&self, item: usize, now: Millis) -> Gathered {
        debug_assert!(item > BLOCK_MAX);
        let allocator = self.engine().allocator();
        let run = block_bytes(item);
        if allocator.has_run((run / UNIT) as u32) {
            // It is the reserve that lacks, or a page for the index: pages anywhere will do.
            let short = (run + self.reserve()).saturating_sub(allocator.free_bytes());
            return match self.compact_for(0, now) {
                true => Gathered::Some,
                false => Gathered::Lacking(short.max(run / AGAIN_ONE_IN)),
            };
        }
        let lacking = self.lacking_for_run(run);
        if lacking > 0 {
            return Gathered::Lacking(lacking);
        }
        // What others take meanwhile, and what is moved to and fro, is no gain.
        let empty = || self.empty_stretch(run, now) && allocator.has_run((run / UNIT) as u32);
        let is_had = empty() || self.call_in_blocks() && empty();
        let before = allocator.free_bytes();
        match is_had || self.compact_for(item, now) && allocator.free_bytes() > before {
            true => Gathered::Some,
            false => Gathered::Lacking(run / AGAIN_ONE_IN),
        }
    }

    /// Bytes that have to go before a stretch for a run can be emptied into other free places.
    fn lacking_for_run(&self, run: u64) -> u64 {
        let allocator = self.engine().allocator();
        let usage = allocator.usage();
        let scattered = usage.block_bytes().saturating_sub(usage.live_bytes + usage.magazine_bytes);
        let needed = run.next_multiple_of(PAGE).max(run + self.reserve());
        let needed = needed + needed / SPARE_ONE_IN;
        needed.saturating_sub(scattered + allocator.free_bytes())
    }

    /// Empties the stretch of pages that has the least in it. What finds no other place is evicted, as
    /// far as the policy lets it. True: it is empty.
    fn empty_stretch(&self, run: u64, now: Millis) -> bool {
        let allocator = self.engine().allocator();
        let units = (run / UNIT) as u32;
        // What is free may have to be committed elsewhere, where the limit has been reached.
        if allocator.free_bytes() >= run + self.reserve() && allocator.make_run(units) {
            return true;
        }
        let from = self.next_eviction_turn() as u32;
        match allocator.stretch_candidate(units, from) {
            Some(candidate) => self.empty(candidate.drain, NoPlace::Evict, now).is_some(),
            None => false,
        }
    }
}
