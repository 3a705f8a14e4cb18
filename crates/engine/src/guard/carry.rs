//! Giving a value another key, or another database, where it stands.
//!
//! The key lies in the item's block, before the value. A value that was copied for every RENAME would cost as
//! much as it is long, and take as much memory again for as long as that lasts. So the slot of the new key is
//! given the block of the old one, and where the keys differ the key in it is stored anew:
//!
//! ```text
//!   old slot -> [ header | tmp:users | room | value ]      new slot -> [ header | users | room | value ]
//! ```
//! The value stays where it is as long as the new key ends before it: if it is as long as the old one, or if both
//! are within the room that a key of a long value has (`item/head.rs`). A lease of the value is not touched.
//!
//! Such a guard holds the locks of both keys, and so their shards' marks are odd: no read of either succeeds
//! that met the block with half a key, or by its former slot (see `patch.rs`). A cut gets both lines as
//! they were before the key is changed.

use super::Guard;
use crate::item::Item;
use crate::journal::Entry;
use crate::lease::LEASED_BYTES_MIN;
use crate::session::Session;
use crate::sync::atomics::Ordering::{Relaxed, Release};
use crate::sync::atomics::fence;
use crate::verbs::*;

impl Session {
    /// Bytes of the value of a key that would have to be copied for it to have a key of this length: none
    /// where [`Guard::carry`] leaves it where it is. No use, and no look at whether it is due.
    pub fn bytes_to_copy(&self, db: Db, key: &Key<'_>, key_len: usize) -> usize {
        self.read(db, key, |hit| {
            hit.map(|hit| match hit.item.head.with_key_len(key_len) {
                Some(_) => 0,
                None => hit.item.head.value_len,
            })
        })
        .unwrap_or(0)
    }
}

impl<'s> Guard<'s> {
    /// Gives the item of one key to another key, of any database, in the place of what that has. It becomes
    /// what an item is that was stored just now: it has a new CAS unique, if it had one, and no marks;
    /// deadline and client flags stay. Told is the store, and then that the old key is gone.
    ///
    /// False: nothing was done, for there is no such key, or its value would have to be moved, which is the
    /// caller's part: to store it, and to remove the old key. `Full`: the index has no place for the new one.
    pub fn carry(
        &mut self,
        (from_db, from): (Db, &Key<'_>),
        (to_db, to): (Db, &Key<'_>),
        [leaves, arrives]: [Event; 2],
    ) -> Result<bool, StoreError> {
        assert!(!self.holds_one(), "a guard of several keys makes readers of both wait");
        assert!((from_db, from.bytes) != (to_db, to.bytes), "an item is not put in its own place");
        let (source, target) = (self.target(from_db, from.hash), self.target(to_db, to.hash));
        let Some(spot) = self.live(&source, from) else { return Ok(false) };
        let item = spot.item;
        let Some(mut head) = item.head.with_key_len(to.bytes.len()) else { return Ok(false) };
        let is_other_key = from.bytes != to.bytes;
        if is_other_key && self.is_lent_beside_key(&item) {
            return Ok(false);
        }
        head.set_marks(0);
        let there = self.live(&target, to);
        let empty = match there {
            Some(_) => None,
            None => {
                // Another item may have to go for the new key's place in the index: not this one.
                let _kept = self.session.keep([(from_db, from.hash)]);
                Some(self.slot_of_new(&target, to)?)
            }
        };
        // For that place its segment may have been split.
        let spot = self.locate(&source, from).expect("it is there, and kept");
        let unique = if item.unique() == 0 { 0 } else { self.new_unique(&target) };
        // Before the key is another one, which a cut would tell.
        self.before_change(&source, spot.segment, spot.line);
        // As in `patch`; the mark is odd from the guard's beginning to its end.
        fence(Release);
        if is_other_key {
            item.set_key(&head, to.bytes);
        } else {
            item.set_head(&head);
        }
        if unique != 0 {
            self.session.mem().u64_in(item.at, head.ext_at()).store(unique, Relaxed);
        }
        item.note_use((self.now / 1000) as u32);
        let (block, deadline) = ((item.at / 8) as u32, item.deadline());
        match (&there, empty) {
            (Some(there), _) => self.replace(&target, there, block, &head, deadline),
            (None, empty) => {
                let empty = empty.expect("a key that is not there was given a slot");
                self.fill(&target, to, empty, block, head.has_ttl().then_some(deadline));
            }
        }
        spot.bucket().clear(spot.slot);
        source.shard.add_items(-1);
        if head.has_ttl() {
            self.count_ttl(&source, spot.segment, -1);
        }
        // As an item that was stored anew it is the newest, under its new name.
        self.session.engine().note_large(to_db, to.hash, block, head.block_len());
        // SAFETY: the block is in the index, and whoever changes or frees it must have the lock of its
        // shard, which this guard has; it stores nothing to the value, and nothing at all below.
        let value = unsafe { self.session.mem().lent(item.at + head.value_at(), head.value_len) };
        let put = Entry::Put {
            int: head.is_int().then(|| item.int()),
            value: [value, b"", b""],
            deadline,
            flags: item.client_flags(),
            kind: head.kind(),
            encoding: head.encoding(),
            created: there.is_none(),
        };
        self.tell(&target, to.bytes, arrives, put);
        self.tell(&source, from.bytes, leaves, Entry::Remove);
        Ok(true)
    }

    /// Whether somebody may have a lease of a value that begins in the word in which its key ends. Where stores
    /// are of whole words, that of the key would store the value's first bytes as well.
    fn is_lent_beside_key(&self, item: &Item<'_>) -> bool {
        item.head.size() >= LEASED_BYTES_MIN
            && !item.head.value_at().is_multiple_of(8)
            && self.session.engine().leases().is_named((item.at / 8) as u32)
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use crate::index::segment::home_of;

    const DB: Db = Db(0);

    /// Home line and stash line are full, and of what is there the value that gets another key is the readiest to go.
    #[test]
    fn what_gets_another_key_does_not_go_for_its_place() {
        let options = EngineOptions { policy: Policy::AllKeysLru, ..EngineOptions::default() };
        let engine = Engine::create(options).unwrap();
        let session = engine.session().unwrap();
        let names: Vec<_> = (0..)
            .map(|number| format!("key {number:08}"))
            .filter(|name| {
                let hash = engine.key(name.as_bytes()).hash;
                engine.view().shard_number(hash) == 0 && home_of(hash) == 2
            })
            .take(21)
            .collect();
        let keys: Vec<_> = names.iter().map(|name| engine.key(name.as_bytes())).collect();
        for key in &keys[..20] {
            let mut guard = session.write(DB, key, 1);
            guard.put(DB, key, &Put::plain(Value::Bytes(key.bytes))).unwrap();
        }
        keys[1..20]
            .iter()
            .for_each(|key| assert!(session.write(DB, key, 1).find(DB, key).is_some()));
        engine.set_max_memory(engine.memory().committed);
        let (from, to) = (keys[0], keys[20]);
        let mut guard = session.write_many(&[(DB, from.hash), (DB, to.hash)], 1);
        let events = [Event::RenameFrom, Event::RenameTo];
        assert_eq!(guard.carry((DB, &from), (DB, &to), events), Ok(true));
        let mut value = Vec::new();
        assert!(guard.value(DB, &to, &mut value) && value == from.bytes);
        drop(guard);
        assert_eq!(engine.statistics().evicted, 1);
        engine.verify_at_rest().unwrap();
    }
}
