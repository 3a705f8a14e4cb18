//! The order in which large items came, for their eviction.
//!
//! ```text
//!   oldest  (db, hash, block) (db, hash, block) ...  newest
//!           `- evicted unless it was used twice or is spared; then it goes behind the newest
//! ```
//! Where a few large items fill the memory, the hand that walks one shard after the other has no
//! idea of which is oldest, and taking several at once empties the store. For items above
//! [`BLOCK_MAX`] an entry in a queue costs nothing beside the copying of their bytes, so their order
//! is kept exactly. An entry whose block is not its key's any more is stale and is passed over.

mod queue;

use crate::alloc::BLOCK_MAX;
use crate::engine::Engine;
use crate::guard::{Guard, Target};
use crate::index::bucket::{META_FREQUENCY, META_TTL};
use crate::session::Session;
use crate::sync::blocking::Mutex;
use crate::verbs::{Db, Event, Key, Millis, Policy};
use queue::{Entry, Queue};

#[derive(Debug, Default)]
pub(crate) struct Order {
    queue: Mutex<Queue>,
}

impl Order {
    fn with<R>(&self, act: impl FnOnce(&mut Queue) -> R) -> R {
        act(&mut self.queue.lock().expect("no holder panics"))
    }

    /// By itself, so that stores of small items do not have it among their instructions.
    #[inline(never)]
    fn push(&self, db: Db, hash: u64, block: u32) {
        self.with(|queue| queue.push(db, hash, block));
    }

    #[cold]
    fn rename(&self, from: u32, to: u32) {
        self.with(|queue| queue.rename(from, to));
    }

    fn counted(&self) -> usize {
        self.with(|queue| queue.counted())
    }
}

impl Engine {
    /// A new item of so many bytes has been published. Under its shard's lock, which whoever frees its
    /// block must have: so the entry is there before the block can be another's.
    #[inline]
    pub(crate) fn note_large(&self, db: Db, hash: u64, block: u32, bytes: usize) {
        if bytes > BLOCK_MAX {
            self.large().push(db, hash, block);
        }
    }

    /// An item of so many bytes goes from one block into another and keeps its place in the order.
    /// Before the old block is freed: who takes that enters it anew, and that entry must stay his.
    #[inline]
    pub(crate) fn note_large_moved(&self, from: u32, to: u32, bytes: usize) {
        if bytes > BLOCK_MAX {
            self.large().rename(from, to);
        }
    }
}

impl Session {
    /// Evicts the large item that came first, unless the policy spares all. True: one went. One whose
    /// shard is busy keeps its place, and the next one goes.
    pub(crate) fn evict_large(&self, now: Millis) -> bool {
        let engine = self.engine();
        let policy = engine.policy();
        if policy == Policy::NoEviction || policy.only_volatile() {
            return false;
        }
        // A used item gets as many turns as it was used; no item gets more than that.
        self.evict_large_of(4 * engine.large().counted(), now)
    }

    /// The same, with so many looks, under any policy that lets some go.
    pub(crate) fn evict_large_of(&self, looks: usize, now: Millis) -> bool {
        let engine = self.engine();
        let mut passed = 0;
        for _ in 0..looks {
            let next = engine.large().with(|queue| queue.first_behind(passed));
            let Some(entry) = next else { return false };
            if self.evict_entry(&entry, now) {
                return true;
            }
            passed = entry.number;
        }
        false
    }

    fn evict_entry(&self, entry: &Entry, now: Millis) -> bool {
        let engine = self.engine();
        let view = engine.view();
        let root = view.root_of(entry.db);
        if !engine.is_open(root) {
            engine.large().with(|queue| queue.forget(entry));
            return false;
        }
        let shard_number = view.shard_number(entry.hash);
        let shard = view.shard_at(root, shard_number);
        if !shard.lock().try_acquire() {
            return false;
        }
        let mut guard = Guard::adopt(self, shard, now);
        let target = Target { db: entry.db, root, shard_number, shard };
        if view.root_of(entry.db) != root {
            return false;
        }
        // Stored anew since the look at the queue, the item has an entry further behind, perhaps of the
        // same block.
        if !engine.large().with(|queue| queue.counts(entry)) {
            return false;
        }
        let Some(spot) = guard.locate_block(&target, entry.hash, entry.block) else {
            engine.large().with(|queue| queue.forget(entry));
            return false;
        };
        let bucket = spot.bucket();
        let meta = bucket.meta(spot.slot);
        if engine.policy().only_volatile() && meta & META_TTL == 0 {
            return false;
        }
        let frequency = meta & META_FREQUENCY;
        let is_spared =
            engine.is_spared(spot.item.deadline(), now) || self.is_kept(root, || entry.hash);
        if frequency >= 2 || is_spared {
            bucket.set_meta(spot.slot, meta & !META_FREQUENCY | frequency.saturating_sub(1));
            engine.large().with(|queue| queue.renew(entry));
            return false;
        }
        let mut key = Vec::with_capacity(spot.item.head.key_len);
        spot.item.copy_key(&mut key);
        let event = if spot.item.is_due(now) { Event::Expired } else { Event::Evicted };
        // While the block is still the item's.
        engine.large().with(|queue| queue.forget(entry));
        guard.take_out(&target, &key, &spot, event);
        true
    }
}

impl<'s> Guard<'s> {
    /// The place of the large item that lies in this block, if its key has this hash. A small one that
    /// begins where a large one did is none of those in the order.
    fn locate_block(
        &self,
        target: &Target<'s>,
        hash: u64,
        block: u32,
    ) -> Option<crate::guard::Spot<'s>> {
        let item = crate::item::Item::at(self.session.mem(), block as usize * 8)?;
        let mut bytes = Vec::with_capacity(item.head.key_len.min(crate::limits::KEY_BYTES_MAX));
        // Under the shard's lock; if the block is somebody else's by now, the lookup says so.
        item.copy_key(&mut bytes);
        let key = Key { bytes: &bytes, hash: self.session.engine().hash(&bytes) };
        if key.hash != hash {
            return None;
        }
        let spot = self.locate(target, &key)?;
        let is_it = spot.item.at == block as usize * 8 && spot.item.head.block_len() > BLOCK_MAX;
        is_it.then_some(spot)
    }
}
