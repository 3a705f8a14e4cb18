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

use crate::alloc::BLOCK_MAX;
use crate::engine::Engine;
use crate::guard::{Guard, Target};
use crate::index::bucket::META_FREQUENCY;
use crate::session::Session;
use crate::sync::blocking::Mutex;
use crate::sync::lock;
use crate::verbs::{Db, Event, Key, Millis, Policy};
use std::collections::VecDeque;

/// Entries that are kept, stale ones included. Beyond them the oldest are left to the hand.
const ENTRIES_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Entry {
    db: Db,
    hash: u64,
    block: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Order {
    queue: Mutex<VecDeque<Entry>>,
}

impl Order {
    fn push(&self, entry: Entry) {
        let mut queue = self.queue.lock().expect("no holder panics");
        if queue.len() >= ENTRIES_MAX {
            queue.pop_front();
        }
        queue.push_back(entry);
    }

    fn pop(&self) -> Option<Entry> {
        self.queue.lock().expect("no holder panics").pop_front()
    }

    fn len(&self) -> usize {
        self.queue.lock().expect("no holder panics").len()
    }

    /// Compaction has moved a block.
    #[cold]
    fn rename(&self, from: u32, to: u32) {
        let mut queue = self.queue.lock().expect("no holder panics");
        if let Some(entry) = queue.iter_mut().find(|entry| entry.block == from) {
            entry.block = to;
        }
    }
}

impl Engine {
    /// A new item of so many bytes has been published.
    #[inline]
    pub(crate) fn note_large(&self, db: Db, hash: u64, block: u32, bytes: usize) {
        if bytes > BLOCK_MAX {
            self.large().push(Entry { db, hash, block });
        }
    }

    #[inline]
    pub(crate) fn note_large_moved(&self, from: u32, to: u32, bytes: usize) {
        if bytes > BLOCK_MAX {
            self.large().rename(from, to);
        }
    }
}

impl Session {
    /// Evicts the large item that came first, unless the policy spares all. True: one went.
    pub(crate) fn evict_large(&self, now: Millis) -> bool {
        let engine = self.engine();
        let policy = engine.policy();
        if policy == Policy::NoEviction || policy.only_volatile() {
            return false;
        }
        // A used item gets as many turns as it was used; no item gets more than that.
        for _ in 0..4 * engine.large().len() {
            let Some(entry) = engine.large().pop() else { return false };
            if self.evict_entry(entry, now) {
                return true;
            }
        }
        false
    }

    fn evict_entry(&self, entry: Entry, now: Millis) -> bool {
        let engine = self.engine();
        let view = engine.view();
        let root = view.root_of(entry.db);
        if !engine.is_open(root) {
            return false;
        }
        let shard_number = view.shard_number(entry.hash);
        let shard = view.shard_at(root, shard_number);
        if !lock::try_acquire(shard.lock()) {
            engine.large().push(entry);
            return false;
        }
        let mut guard = Guard::adopt(self, shard, now);
        let target = Target { db: entry.db, root, shard_number, shard };
        if view.root_of(entry.db) != root {
            return false;
        }
        let Some(spot) = guard.locate_block(&target, entry.hash, entry.block) else { return false };
        let bucket = spot.bucket();
        let meta = bucket.meta(spot.slot);
        let frequency = meta & META_FREQUENCY;
        let is_spared = engine.is_spared(spot.item.deadline(), now);
        if frequency >= 2 || is_spared {
            bucket.set_meta(spot.slot, meta & !META_FREQUENCY | frequency.saturating_sub(1));
            engine.large().push(entry);
            return false;
        }
        let mut key = Vec::with_capacity(spot.item.head.key_len);
        spot.item.copy_key(&mut key);
        let event = if spot.item.is_due(now) { Event::Expired } else { Event::Evicted };
        guard.take_out(&target, &key, &spot, event);
        true
    }
}

impl<'s> Guard<'s> {
    /// The place of the item that lies in this block, if its key has this hash.
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
        (spot.item.at == block as usize * 8).then_some(spot)
    }
}
