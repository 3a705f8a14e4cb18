//! Room for what is about to be written: what `maxmemory` allows, and what to do when it is used up.

use super::compaction::NoPlace;
use super::gather::Gathered;
use crate::alloc::{BLOCK_MAX, PageKind, block_bytes};
use crate::arena::layout::EXTENT;
use crate::graveyard::BUSY_TURNS_MAX;
use crate::index::segment::SEGMENT_BYTES;
use crate::index::shard::Shard;
use crate::item::{KEY_ROOM, KEY_ROOM_VALUE_MIN};
use crate::session::Session;
use crate::sync::atomics::yield_turn;
use crate::verbs::{Db, Key, Millis, Policy, StoreError};

/// While this much can still be committed, nobody looks closer.
pub(super) const AMPLE_BYTES: u64 = 4 << 20;
/// So many bytes fit wherever anything can be committed.
const FEW_BYTES: usize = BLOCK_MAX / 2;
/// What is kept free for the index and for other sizes of blocks when memory is full.
const RESERVE_BYTES: u64 = 512 << 10;
/// With no more items than these, one that goes without need is missed: they are large, or the
/// memory is small. With more, room is made by the dozen.
const FEW_ITEMS: u64 = 16_384;
/// Of a small memory, one byte in so many.
const RESERVE_ONE_IN: u64 = 16;
/// An item and its header take this much more than key and value, at most, but for a key's room.
const ITEM_EXTRA_BYTES: usize = 64;
/// They take this much less, at most: an integer of 20 digits.
const ITEM_SAVED_BYTES: usize = 8;
/// While more is committed than a lowered limit allows: rounds that are one command's part if it has a place then,
/// rounds after which it is refused if it has none, and the least items that go in each.
const ROUNDS_A_PART: usize = 8;
const ROUNDS_ABOVE_LIMIT: usize = 64;
const ITEMS_ABOVE_LIMIT: usize = 64;
/// Memory that is given back in one go: a millisecond or so of the system's work.
const RELEASED_BYTES_MAX: u64 = 2 * EXTENT;
/// Bytes of free pages that an extent full of others can be moved into; of a small memory, one part in so many,
/// which is what an extent that is mostly free needs.
const SCATTERED_BYTES: u64 = 2 * EXTENT;
const SCATTERED_ONE_IN: u64 = 8;
/// Rounds of eviction and compaction for one command.
const ROUNDS_MAX: usize = 4_000;
/// Items that go in one of them.
const ITEMS_A_ROUND_MAX: usize = 4096;
/// After so many, in which as many blocks have been freed as a page of the smallest items has, those who sleep are
/// called to give back the blocks that they have in hand.
pub(super) const ROUNDS_BEFORE_A_CALL: usize = 256;
/// Of these, the first that try to do without eviction.
const ROUNDS_WITHOUT_LOSS: usize = 8;
/// Rounds that come to nothing before one command gives up, and the turns it waits after each.
const FRUITLESS_ROUNDS_MAX: usize = 4;
const FRUITLESS_TURNS: usize = 50;
/// How often one command waits for what others are moving, and for how many turns: ten milliseconds
/// or so, where moving a megabyte takes one.
const WAITS_MAX: usize = 8;
const WAIT_TURNS: usize = 20_000;

impl Session {
    /// Makes room for about `bytes` before locks are taken: evicts as the policy says. `Full` is
    /// the answer of `noeviction`, or of a policy that has nothing left to evict.
    #[inline]
    pub fn make_room(&self, bytes: usize, now: Millis) -> Result<(), StoreError> {
        if self.has_ample_room(bytes) { Ok(()) } else { self.make_room_slowly(bytes, now) }
    }

    /// The same for a change of a key that is there, which does not go for it.
    pub fn make_room_beside(
        &self,
        db: Db,
        key: &Key<'_>,
        bytes: usize,
        now: Millis,
    ) -> Result<(), StoreError> {
        if self.has_ample_room(bytes) {
            return Ok(());
        }
        let _kept = self.keep([(db, key.hash())]);
        self.make_room_slowly(bytes, now)
    }

    /// Whether nothing must go for so many bytes.
    #[inline]
    pub fn has_ample_room(&self, bytes: usize) -> bool {
        self.may_grow_by(bytes) || self.has_room(bytes)
    }

    /// Whether there is memory that nobody has taken yet for so many bytes, of however many items, and
    /// much more.
    #[inline]
    pub fn may_grow_by(&self, bytes: usize) -> bool {
        let growth = self.engine().arena().uncommitted();
        growth >= 2 * bytes as u64 + AMPLE_BYTES
            && (bytes <= FEW_BYTES || self.engine().allocator().has_fresh(2 * bytes as u64))
    }

    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let allocator = self.engine().allocator();
        let item = item_bytes(bytes);
        // The reserve is still to be there when a large value has been stored.
        let large = if item > BLOCK_MAX { block_bytes(item) } else { 0 };
        self.has_reserve(large)
            && self.has_place(bytes)
            && (item > BLOCK_MAX
                || allocator.can_serve(SEGMENT_BYTES, SEGMENT_BYTES, PageKind::Index, u64::MAX))
    }

    /// Whether there is a block for an item.
    fn has_place(&self, bytes: usize) -> bool {
        let allocator = self.engine().allocator();
        let (item, least) = (item_bytes(bytes), bytes.saturating_sub(ITEM_SAVED_BYTES));
        let spare = allocator.free_bytes().saturating_sub(self.reserve());
        allocator.can_serve(least, item, PageKind::Item, spare)
    }

    /// What is kept free, for the index most of all.
    pub(super) fn reserve(&self) -> u64 {
        RESERVE_BYTES.min(self.engine().arena().limit() / RESERVE_ONE_IN)
    }

    /// Whether what is kept free is there, and `more` beside it.
    pub(crate) fn has_reserve(&self, more: u64) -> bool {
        let arena = self.engine().arena();
        let reserve = self.reserve();
        let free = self.engine().allocator().free_bytes();
        arena.committed() <= arena.limit() && free >= reserve + more
    }

    /// After the limit was lowered: gives back what lies free above it, in whatever extents that is.
    /// No extent may be empty of all blocks, and evicting until one is would leave nothing: once enough pages
    /// anywhere are free, the rest of an extent is moved into them. True: something was given back, or
    /// can be.
    pub(super) fn keep_to_limit(&self, now: Millis) -> bool {
        let arena = self.engine().arena();
        let allocator = self.engine().allocator();
        let above = arena.committed().saturating_sub(arena.limit());
        if above == 0 {
            return false;
        }
        if allocator.release_steps(above.min(RELEASED_BYTES_MAX)) > 0 {
            return true;
        }
        let scattered = allocator.free_bytes().saturating_sub(arena.uncommitted());
        scattered >= SCATTERED_BYTES.min(arena.limit() / SCATTERED_ONE_IN)
            && allocator
                .drain_extent_candidate(u64::MAX)
                .is_some_and(|one| self.empty(one.drain, NoPlace::Stay, now).is_some())
    }

    pub(super) fn is_above_limit(&self) -> bool {
        let arena = self.engine().arena();
        arena.committed() > arena.limit()
    }

    /// Whether blocks too large for a page take more than half of the memory.
    pub(crate) fn is_mostly_large(&self) -> bool {
        self.engine().allocator().large_bytes() * 2 > self.engine().arena().limit()
    }

    /// Whether a store with nothing else in it would have room. Where it would not, all that may go would
    /// go, and for nothing.
    fn may_be_had(&self, bytes: usize) -> bool {
        let engine = self.engine();
        bytes as u64 <= engine.arena().limit().saturating_sub(engine.fixed_bytes())
    }

    /// Waits for who is moving blocks or giving memory back. False: there was nobody.
    fn waits_for_motion(&self) -> bool {
        let is_moving = || self.engine().allocator().has_memory_in_motion();
        let begun = is_moving();
        for _ in (0..WAIT_TURNS).take_while(|_| is_moving()) {
            #[cfg(all(test, not(any(miri, loom, shuttle))))]
            tests::on_turn();
            yield_turn();
        }
        begun
    }

    #[cold]
    fn make_room_slowly(&self, bytes: usize, now: Millis) -> Result<(), StoreError> {
        debug_assert!(!self.in_transaction(), "who waits here holds no lock");
        let engine = self.engine();
        let arena = engine.arena();
        engine.give_back_journal();
        if self.holds_received(bytes) && !self.is_above_limit() {
            return Ok(());
        }
        if !self.may_be_had(bytes) {
            return Err(StoreError::Full);
        }
        // Blocks that other sessions keep in reserve count for nothing while memory is short.
        self.slot().flush();
        let stored = engine.item_count().max(1);
        let average = (arena.committed() / stored).max(1) as usize;
        let is_few = stored <= FEW_ITEMS;
        let items = match is_few {
            // Where each one counts, no more go than must; for no bytes one.
            true => bytes.div_ceil(average).max(1),
            // A large value needs many small ones gone.
            false => (bytes / 64).clamp(16, ITEMS_A_ROUND_MAX),
        };
        let mut waits = 0..WAITS_MAX;
        let mut busy_turns = 0..BUSY_TURNS_MAX;
        let mut fruitless = 0..FRUITLESS_ROUNDS_MAX;
        // Of a limit that was lowered by much, each writer drives out a part, and takes less than that. Emptying an
        // extent is one, and takes milliseconds.
        let shares = || engine.policy() != Policy::NoEviction && self.has_place(bytes);
        let mut has_given_back = false;
        for round in 0..ROUNDS_MAX {
            if self.has_room(bytes) {
                return Ok(());
            }
            let is_above = self.is_above_limit();
            let is_part = has_given_back || round >= ROUNDS_A_PART;
            if is_above && (round >= ROUNDS_ABOVE_LIMIT || is_part && shares()) {
                break;
            }
            let items = if is_above { items.max(ITEMS_ABOVE_LIMIT) } else { items };
            if self.reclaim_for(bytes, &mut busy_turns) {
                continue;
            }
            engine.allocator().release_empty_extents(RESERVE_BYTES);
            if self.keep_to_limit(now) || self.shed_index(now) {
                has_given_back = true;
                continue;
            }
            // Blocks that lie free in pages of other sizes are had without losing an item.
            let may_compact =
                (is_above || is_few && round < ROUNDS_WITHOUT_LOSS) && self.is_wasteful();
            if may_compact && self.compact_for(bytes, now) {
                continue;
            }
            if engine.policy() == Policy::NoEviction {
                // Memory may still be had from pages that have become mostly empty, or be in the
                // hands of somebody who is gathering it.
                let gained = self.compact_for(bytes, now);
                if gained || waits.next().is_some() && self.waits_for_motion() {
                    continue;
                }
                break;
            }
            // A small one among large ones takes the place of another small one, if the hand meets
            // some; else large ones go in their order, which lie side by side, until a page is free.
            let is_turn = bytes > BLOCK_MAX || round >= 2 && self.is_mostly_large();
            if is_few && is_turn && self.evict_large(now) {
                self.slot().flush();
                continue;
            }
            let item = item_bytes(bytes);
            let is_run = item > BLOCK_MAX;
            let items = match is_run.then(|| self.gather_for_run(item, now)) {
                Some(Gathered::Some) => continue,
                Some(Gathered::Lacking(lacking)) => {
                    (lacking as usize).div_ceil(average).clamp(1, ITEMS_A_ROUND_MAX)
                }
                None => items,
            };
            let evicted = self.evict(items, now);
            self.slot().flush();
            if self.has_room(bytes) {
                return Ok(());
            }
            let compacts = || self.compact_for(bytes, now);
            // By now as much lies free as fills a page: those who sleep have blocks in all that were tried.
            let calls = || round == ROUNDS_BEFORE_A_CALL && self.call_in_blocks();
            let gained = !is_run && (compacts() || calls() && compacts());
            if evicted.items == 0 && !gained {
                // Memory may be in the hands of somebody who is gathering it.
                if waits.next().is_some() && self.waits_for_motion() {
                    continue;
                }
                // Others may hold the locks of all that could go. Or of a few items all are in the hands
                // of others, who have taken what went.
                if !(evicted.met_busy.is_some() || is_few) || fruitless.next().is_none() {
                    break;
                }
                match evicted.met_busy {
                    // As whoever writes there waits. Nothing is locked here: EXEC makes its room before.
                    Some(at) => drop(Shard { words: self.mem(), at }.lock().hold()),
                    None => (0..FRUITLESS_TURNS).for_each(|_| yield_turn()),
                }
            }
        }
        match self.has_room(bytes) || self.is_above_limit() && shares() {
            true => Ok(()),
            false => Err(StoreError::Full),
        }
    }
}

/// The most that an item of so many bytes, key and value, can take.
fn item_bytes(bytes: usize) -> usize {
    bytes + ITEM_EXTRA_BYTES + if bytes < KEY_ROOM_VALUE_MIN { 0 } else { KEY_ROOM }
}

#[cfg(all(test, not(any(miri, loom, shuttle))))]
mod tests;
