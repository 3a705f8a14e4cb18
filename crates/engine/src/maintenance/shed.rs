//! The index of a store whose `maxmemory` was lowered to little more than that index takes.
//!
//! Segments are split and never joined: the index of a store is that of the most items it ever had. What is
//! lowered to a tenth has room for the index and nothing else, all items go, and every further write drives out the
//! one before it, after a look at each shard that finds nothing. So where the index would take more than half of
//! what is left, whole shards are emptied, in turn, and begin without segments (decision 161).

use crate::guard::{Guard, Target};
use crate::index::bucket::SLOTS;
use crate::index::segment::LINES;
use crate::index::shard::Shard;
use crate::session::Session;
use crate::verbs::{Db, Millis, Policy};

/// The index may take one part in so many of what the limit leaves for it and items.
const INDEX_ONE_IN: u64 = 2;
/// A shard of fewer segments has next to nothing to give.
const SEGMENTS_MIN: usize = 4;

impl Session {
    /// Empties one shard and gives its segments up, if more is committed than allowed and the index takes too
    /// much of it. True: one was; its memory comes back as that of a flushed database does.
    pub(super) fn shed_index(&self, now: Millis) -> bool {
        let engine = self.engine();
        if engine.policy() == Policy::NoEviction || !self.is_above_limit() {
            return false;
        }
        let usage = engine.allocator().usage();
        let kept_free = usage.fixed_bytes() + self.reserve();
        let left = engine.arena().limit().saturating_sub(kept_free);
        if usage.index_bytes <= left / INDEX_ONE_IN {
            return false;
        }
        let view = engine.view();
        let (shards, databases) = (view.shard_count(), usize::from(engine.databases()));
        (0..shards * databases).any(|_| {
            let turn = self.next_eviction_turn();
            let db = Db((turn / shards % databases) as u16);
            let root = view.root_of(db);
            if !engine.is_open(root) {
                return false;
            }
            let shard_number = turn % shards;
            let shard = view.shard_at(root, shard_number);
            if !shard.lock().try_acquire() {
                return false;
            }
            let mut guard = Guard::adopt(self, shard, now);
            let target = Target { db, root, shard_number, shard };
            view.root_of(db) == root && self.shed(&mut guard, &target)
        })
    }

    fn shed<'s>(&'s self, guard: &mut Guard<'s>, target: &Target<'s>) -> bool {
        let shard = target.shard;
        // All of it has to go, what a command has asked to keep as well.
        let stays = self.engine().policy().only_volatile() && shard.ttl_items() < shard.items();
        if stays || self.keeps_in(target) || segments_of(shard) < SEGMENTS_MIN {
            return false;
        }
        let directory = shard.directory();
        let mut index = 0;
        while index < directory.entries() {
            let segment = shard.segment(directory, index);
            for line in 1..LINES {
                for slot in 0..SLOTS {
                    if segment.line(line).load().tag(slot) != 0 {
                        self.evict_slot(guard, target, segment, line, slot);
                    }
                }
            }
            index = segment.span().end_in(directory);
        }
        // As in `Guard::flush`: readers see the changed word at their final check and start again.
        shard.set_directory(directory.next_empty());
        self.engine().bury(target, directory);
        shard.forget_items();
        true
    }

    /// Whether a key that is not to go now has its place in this shard.
    fn keeps_in(&self, target: &Target<'_>) -> bool {
        let view = self.view();
        self.kept.borrow().iter().any(|(db, hash)| {
            view.root_of(*db) == target.root && view.shard_number(*hash) == target.shard_number
        })
    }
}

fn segments_of(shard: Shard<'_>) -> usize {
    let directory = shard.directory();
    let (mut index, mut segments) = (0, 0);
    while !directory.is_empty() && index < directory.entries() {
        index = shard.segment(directory, index).span().end_in(directory);
        segments += 1;
    }
    segments
}
