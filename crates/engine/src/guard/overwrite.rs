//! A plain value over a plain value: nothing but bytes to take along, and one store to publish them.
//!
//! ```text
//! put, no fetch     look the key up under the lock                       -> overwrite
//! put_fetched       is all that a batch's passes saw of the key still so? -> overwrite
//!
//! overwrite         take a block | write it | publish: reference, version | free the old block
//!                   `- of the same class: the one on top of the magazine, which the old one replaces
//! ```

use super::{Guard, Held, Spot, Target};
use crate::arena::Ref;
use crate::index::fetch::Fetch;
use crate::item::{KEY_ROOM_VALUE_MIN, PlainHead, write_plain_item};
use crate::journal::Entry;
use crate::lease::LEASED_BYTES_MIN;
use crate::session::Session;
use crate::verbs::*;

/// Key and value of what takes the short way; longer items are dominated by their bytes.
pub(super) const PLAIN_BYTES_MAX: usize = 4096;
// Its value begins where its key ends.
const _: () = assert!(PLAIN_BYTES_MAX < KEY_ROOM_VALUE_MIN);

/// Whether a put has nothing to say but its bytes.
#[inline(always)]
pub(super) fn is_plain(put: &Put<'_>) -> bool {
    put.deadline == Deadline::Never && put.flags == Flags::Set(0) && !put.unique && put.marks == 0
}

impl Session {
    /// As [`Session::write`], for a key that the passes of a batch have fetched.
    #[inline(always)]
    pub fn write_fetched(&self, db: Db, key: &Key<'_>, fetch: &Fetch, now: Millis) -> Guard<'_> {
        if let Some((shard, root)) = self.view().shard_fetched(fetch)
            && !self.in_transaction()
        {
            shard.lock().acquire();
            // As in `lock_one`. The root is open: the key's shard has a segment.
            if self.view().root_of(db) == root {
                return Guard { session: self, now, held: Held::One(shard.at) };
            }
            shard.lock().release();
        }
        self.write(db, key, now)
    }
}

impl<'s> Guard<'s> {
    /// As [`Guard::put`], by what the passes of a batch have seen of this key, as long as that is
    /// still so.
    #[inline(always)]
    pub fn put_fetched(
        &mut self,
        db: Db,
        key: &Key<'_>,
        fetch: &Fetch,
        put: &Put<'_>,
    ) -> Result<Stored, StoreError> {
        match self.put_over_fetched(db, key, fetch, put) {
            Some(outcome) => outcome,
            None => self.put(db, key, put),
        }
    }

    /// `None`: it is not a plain value over a plain value, or the key is not where it was.
    #[inline(always)]
    fn put_over_fetched(
        &mut self,
        db: Db,
        key: &Key<'_>,
        fetch: &Fetch,
        put: &Put<'_>,
    ) -> Option<Result<Stored, StoreError>> {
        let Value::Bytes(value) = put.value else { return None };
        if !is_plain(put) || key.bytes.len() + value.len() > PLAIN_BYTES_MAX {
            return None;
        }
        let Held::One(held) = self.held else { return None };
        debug_assert!(!fetch.has_candidate() || fetch.hash() == key.hash, "another key's fetch");
        let view = self.session.view();
        let (target, segment, line, slot) = view.place_fetched(db, fetch, held)?;
        let item = view.plain_candidate(fetch)?;
        if !item.has_key(key.bytes) {
            return None;
        }
        let spot = Spot { segment, line, slot, item };
        Some(self.overwrite(db, &target, &spot, key, value, put.event))
    }

    /// Stores a plain item in the place of one that has no deadline and no extension.
    #[inline(always)]
    pub(super) fn overwrite(
        &mut self,
        db: Db,
        target: &Target<'s>,
        spot: &Spot<'s>,
        key: &Key<'_>,
        value: &[u8],
        event: Event,
    ) -> Result<Stored, StoreError> {
        let head = PlainHead::plan(key.bytes.len(), value.len());
        let old_bytes = spot.item.head.block_len();
        // Before a block is exchanged: between the two steps of that nothing else is taken.
        self.before_change(target, spot.segment, spot.line);
        // What may be leased is not simply freed; and so no run of units comes here.
        let is_alike =
            head.size.div_ceil(8) == old_bytes.div_ceil(8) && old_bytes < LEASED_BYTES_MIN;
        let old = Ref::from_raw((spot.item.at / 8) as u32).expect("a block has a place");
        let exchanged = if is_alike { self.session.begin_exchange(head.size) } else { None };
        if let Some((block, place)) = exchanged {
            self.publish_plain(target, spot, block.raw(), &head, key.bytes, value);
            self.session.end_exchange(place, old);
        } else {
            let reference = self.take_item(head.size)?;
            self.publish_plain(target, spot, reference, &head, key.bytes, value);
            self.session.give_item(old.raw(), old_bytes);
        }
        if self.is_heard(event) {
            self.tell_plain(db, key, event, value, false);
        } else {
            self.session.count_change();
        }
        Ok(Stored { replaced: true, unique: 0 })
    }

    /// Writes the item into a block that nobody can see, and has the slot name it.
    #[inline(always)]
    fn publish_plain(
        &self,
        target: &Target<'s>,
        spot: &Spot<'s>,
        reference: u32,
        head: &PlainHead,
        key: &[u8],
        value: &[u8],
    ) {
        write_plain_item(self.session.mem(), reference as usize * 8, head, key, value);
        let bucket = spot.bucket();
        bucket.set_reference(spot.slot, reference);
        self.renew(target, spot);
        bucket.bump_version();
    }

    /// `created`: the key was not there.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_plain(
        &self,
        db: Db,
        key: &Key<'_>,
        event: Event,
        value: &[u8],
        created: bool,
    ) {
        let put = Entry::Put {
            int: None,
            value: [value, b"", b""],
            deadline: NEVER,
            flags: 0,
            kind: Kind::String,
            encoding: Encoding::Bytes,
            created,
        };
        self.tell(&self.target(db, key.hash), key.bytes, event, put);
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};

    #[test]
    fn the_short_way_is_taken_and_takes_the_old_block_next() {
        let engine = Engine::create(EngineOptions::default()).unwrap();
        let session = engine.session().unwrap();
        let key = engine.key(b"key");
        let put = |value| Put::plain(Value::Bytes(value));
        session.write(Db(0), &key, 1).put(Db(0), &key, &put(b"one")).unwrap();
        let fetch = || {
            let mut fetches = Vec::new();
            session.fetch_line(Db(0), key.hash, &mut fetches);
            session.fetch_items(&mut fetches);
            fetches[0]
        };
        let (stale, mut places) = (fetch(), Vec::new());
        for value in [&b"two"[..], b"six", b"ten"] {
            let fetch = fetch();
            places.push(fetch.item_at());
            let mut guard = session.write_fetched(Db(0), &key, &fetch, 1);
            let stored = guard.put_over_fetched(Db(0), &key, &fetch, &put(value));
            assert_eq!(stored, Some(Ok(Stored { replaced: true, unique: 0 })));
        }
        // Two blocks in turns: each store is given the one that the store before it has freed.
        assert!(places[0] != places[1] && places[0] == places[2], "{places:?}");
        let mut guard = session.write_fetched(Db(0), &key, &stale, 1);
        assert_eq!(guard.put_over_fetched(Db(0), &key, &stale, &put(b"old")), None);
    }
}
