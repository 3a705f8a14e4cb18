//! Changes to whole databases: FLUSHDB and SWAPDB. All shards must be locked (`write_all`).

use super::{Guard, Target};
use crate::journal::Entry;
use crate::verbs::*;

impl<'s> Guard<'s> {
    /// Empties a database in the time of its number of shards. The memory is freed later, by
    /// `Session::maintain` or by whoever needs it.
    pub fn flush(&mut self, db: Db) {
        let engine = self.session.engine();
        let view = self.session.view();
        let root = view.root_of(db);
        self.touch_existing(db, db);
        if engine.is_open(root) {
            debug_assert!(self.holds(view.shard_at(root, 0)), "all shards are locked");
            for number in 0..view.shard_count() {
                let shard = view.shard_at(root, number);
                let directory = shard.directory();
                if !directory.is_empty() {
                    let target = Target { db, root, shard_number: number, shard };
                    // Readers see the changed word at their final check and start again; only
                    // then can the blocks be freed.
                    shard.set_directory(directory.next_empty());
                    engine.bury(&target, directory);
                }
                shard.forget_items();
            }
        }
        self.append(db, Event::Flush, b"", &Entry::FlushDb);
        self.session.count_change();
    }

    /// Exchanges the contents of two databases.
    pub fn swap(&mut self, a: Db, b: Db) {
        if a == b {
            return;
        }
        let engine = self.session.engine();
        self.touch_existing(a, b);
        self.touch_existing(b, a);
        engine.swap_roots(a, b);
        self.append(a, Event::SwapDb, b"", &Entry::SwapDb(b));
        self.session.count_change();
    }

    /// Raises the flags of those who watch a key of `watched` that exists there or in `other`.
    fn touch_existing(&mut self, watched: Db, other: Db) {
        let engine = self.session.engine();
        for bytes in engine.watches().keys_of(watched) {
            let key = engine.key(&bytes);
            let exists = [watched, other].into_iter().any(|db| {
                let target = self.target_unchecked(db, key.hash);
                let now = self.now;
                self.locate(&target, &key).is_some_and(|spot| !spot.item.is_due(now))
            });
            if exists {
                engine.watches().touch(watched, &bytes);
            }
        }
    }

    /// A target whose root may never have been written to (and whose shard is then empty).
    fn target_unchecked(&self, db: Db, hash: u64) -> Target<'s> {
        let view = self.session.view();
        let root = view.root_of(db);
        let shard_number = view.shard_number(hash);
        Target { db, root, shard_number, shard: view.shard_at(root, shard_number) }
    }
}
