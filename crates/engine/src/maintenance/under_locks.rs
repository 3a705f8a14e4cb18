//! Memory for who holds locks and finds none: another item leaves in place of the one that is stored.
//!
//! ```text
//!   EXEC     room for 20 values of all sizes is made, 20 shards are locked, the values are stored
//!                           | another thread stores what there was room for; or room for the sum was had in one
//!                           | piece, and the ninth size begins its ninth page
//!   a block  an item of its size, the readiest of some, leaves; or pages are emptied; or large items leave
//! ```
//! Room is made before locks are taken, for what will be stored as far as it can be told, and nobody keeps it. A
//! command that changes one key gives its lock back and makes room again. One that changes several
//! has stored the first of them by then: it would end half done.
//!
//! Who holds locks waits for none, or two would wait for each other: shards that are locked, by anybody, are passed
//! over. So the keys of a transaction do not go for it either.

use super::compaction::NoPlace;
use super::elders::{Elders, Stuck};
use crate::alloc::{BLOCK_MAX, Drain, block_bytes};
use crate::graveyard::Reclaimed;
use crate::session::Session;
use crate::verbs::{Millis, Policy, StoreError};

/// Items of one size that leave before pages are emptied: what each frees another thread may take.
const SAME_SIZE_MAX: usize = 4;
/// Large items that leave for a run of units.
const LARGE_MAX: usize = 32;
/// And those that are looked at for each.
const LOOKS_MAX: usize = 128;
/// Pages that are emptied, and the items of one of them.
const PAGES_MAX: usize = 16;
const ITEMS_A_PAGE_MAX: u32 = 32;
/// Segments of flushed databases given back between two tries.
const SEGMENTS_A_STEP: usize = 32;
/// Searches of one transaction that come to nothing: each takes milliseconds, and readers wait meanwhile.
const VAIN_SEARCHES_MAX: usize = 2;

impl Session {
    /// A block for an item where there is none, for who holds locks.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_item_of_another(
        &self,
        bytes: usize,
        now: Millis,
    ) -> Result<u32, StoreError> {
        let engine = self.engine();
        let largest = engine.arena().limit().saturating_sub(engine.fixed_bytes());
        let is_vain = engine.policy() == Policy::NoEviction
            || block_bytes(bytes) > largest
            || self.transaction_holds_all()
            || self.vain_searches.get() >= VAIN_SEARCHES_MAX;
        if is_vain || self.spares_others.get() {
            return Err(StoreError::Full);
        }
        let waits = self.waits_for_locks.replace(false);
        let block = self.find_block(bytes, now);
        self.waits_for_locks.set(waits);
        if block.is_none() && self.in_transaction() {
            self.vain_searches.set(self.vain_searches.get() + 1);
        }
        block.ok_or(StoreError::Full)
    }

    fn find_block(&self, bytes: usize, now: Millis) -> Option<u32> {
        let take = || self.take_item(bytes).ok();
        // What was flushed and is not free yet.
        while self.engine().reclaim(self, SEGMENTS_A_STEP) == Reclaimed::More {
            self.slot().flush();
            if let Some(block) = take() {
                return Some(block);
            }
        }
        if bytes <= BLOCK_MAX {
            let mut elders = Elders::new(self);
            for _ in 0..SAME_SIZE_MAX {
                if !elders.give_way(Stuck { bytes, readiness: None }, now) {
                    break;
                }
                if let Some(block) = take() {
                    return Some(block);
                }
            }
            if self.compact_for(bytes, now)
                && let Some(block) = take()
            {
                return Some(block);
            }
        } else {
            for _ in 0..LARGE_MAX {
                if !self.evict_large_of(LOOKS_MAX, now) {
                    break;
                }
                self.slot().flush();
                if let Some(block) = take() {
                    return Some(block);
                }
            }
        }
        // Where a shard is locked its items stay, and of a page of many there is always one. So pages of few.
        let pages = self.engine().allocator().pages_of_few(bytes, ITEMS_A_PAGE_MAX, PAGES_MAX);
        pages.into_iter().find_map(|page| {
            self.empty(Drain::Page(page), NoPlace::Evict, now);
            take()
        })
    }
}
