//! Storing what lies in the arena already: a value at another key as well, or with bytes around it.
//!
//! ```text
//!   copy   one block  head, from | value        join   old block  head, key | value
//!          another    head, to   | value               new block  head, key | before | value | behind
//! ```
//! The value goes from block to block. A caller who took it out and put it in again would have every byte of it copied
//! twice, through a buffer as long as the value, in memory that `maxmemory` knows nothing of.
//!
//! Nobody changes or frees the first block meanwhile: its shard's lock is held, and who looks for memory under
//! locks passes over shards that are locked. Once the new item is in the index, for which another may
//! have to go, the old one is not looked at any more: what is told of the change is read from the new block.

use super::{Guard, Spot, Target};
use crate::item::{Head, Item, ItemParts, write_item_around};
use crate::journal::Entry;
use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::verbs::*;

impl<'s> Guard<'s> {
    /// Stores what is at one key at another one as well, of any database, in the place of what that has: with its
    /// deadline, client flags and encoding, without a CAS unique and without marks. `Ok(false)`: there is no
    /// such key.
    pub fn copy(
        &mut self,
        (from_db, from): (Db, &Key<'_>),
        (to_db, to): (Db, &Key<'_>),
        event: Event,
    ) -> Result<bool, StoreError> {
        assert!((from_db, from.bytes) != (to_db, to.bytes), "an item is not put in its own place");
        if to.bytes.len() > KEY_BYTES_MAX {
            return Err(StoreError::KeyTooLong);
        }
        let (source, target) = (self.target(from_db, from.hash), self.target(to_db, to.hash));
        let Some(spot) = self.needed(&source, from) else { return Ok(false) };
        let old = spot.item;
        let (deadline, client_flags) = (old.deadline(), old.client_flags());
        if old.head.is_int() {
            let put = Put {
                deadline: if deadline == NEVER { Deadline::Never } else { Deadline::At(deadline) },
                flags: Flags::Set(client_flags),
                event,
                ..Put::plain(Value::Int(old.int()))
            };
            return self.put(to_db, to, &put).map(|_| true);
        }
        let there = self.live(&target, to);
        let (len, has_ttl) = (old.head.value_len, deadline != NEVER);
        let mut head =
            Head::plan(old.head.encoding(), to.bytes.len(), len, has_ttl, client_flags != 0);
        head.set_kind(old.head.kind());
        let parts = self.parts_of(head, &old, to);
        self.store_around(&target, there.as_ref(), to, &parts, &old, event)?;
        Ok(true)
    }

    /// Stores a string anew with bytes before it and behind it; it is [`Encoding::Raw`] then. Deadline and client
    /// flags stay, marks go. The new CAS unique, 0 if none was asked for. `Ok(None)`: there is no
    /// string of bytes.
    pub fn join(
        &mut self,
        db: Db,
        key: &Key<'_>,
        event: Event,
        [before, behind]: [&[u8]; 2],
        unique: bool,
    ) -> Result<Option<u64>, StoreError> {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return Ok(None) };
        let old = spot.item;
        if !old.head.is_string() || old.head.is_int() {
            return Ok(None);
        }
        let value_len = old.head.value_len + before.len() + behind.len();
        if value_len > VALUE_BYTES_MAX {
            return Err(StoreError::ValueTooLong);
        }
        let ext = unique || old.client_flags() != 0;
        let ttl = old.head.has_ttl();
        let head = Head::plan(Encoding::Raw, key.bytes.len(), value_len, ttl, ext);
        let unique = if unique { self.new_unique(&target) } else { 0 };
        let value = [before, behind, b""];
        let parts = ItemParts { unique, value, ..self.parts_of(head, &old, key) };
        self.store_around(&target, Some(&spot), key, &parts, &old, event)?;
        Ok(Some(unique))
    }

    /// What an item has that is made of another one, but for its value.
    fn parts_of<'a>(&self, head: Head, old: &Item<'_>, key: &Key<'a>) -> ItemParts<'a> {
        ItemParts {
            head,
            int: 0,
            deadline: old.deadline(),
            unique: 0,
            client_flags: old.client_flags(),
            used_s: (self.now / 1000) as u32,
            key: key.bytes,
            value: [b"", b"", b""],
        }
    }

    /// Stores the item of these parts with the value of another one among them, at a key that is `there` or new.
    fn store_around(
        &mut self,
        target: &Target<'s>,
        there: Option<&Spot<'s>>,
        key: &Key<'_>,
        parts: &ItemParts<'_>,
        old: &Item<'_>,
        event: Event,
    ) -> Result<(), StoreError> {
        let (head, deadline) = (&parts.head, parts.deadline);
        let reference = self.take_item(head.size())?;
        let (mem, at) = (self.session.mem(), reference as usize * 8);
        write_item_around(mem, at, parts, old);
        match there {
            Some(there) => self.replace(target, there, reference, head, deadline),
            None => {
                if let Err(error) = self.insert(target, key, reference, head, deadline) {
                    self.session.give_item(reference, head.size());
                    return Err(error);
                }
            }
        }
        self.session.engine().note_large(target.db, key.hash, reference, head.size());
        // SAFETY: the block is in the index, and whoever changes or frees it must have the lock of its
        // shard, which this guard has; it stores nothing to it any more.
        let value = unsafe { mem.lent(at + head.value_at(), head.value_len) };
        let put = Entry::Put {
            int: None,
            value: [value, b"", b""],
            deadline,
            flags: parts.client_flags,
            kind: head.kind(),
            encoding: head.encoding(),
            created: there.is_none(),
        };
        self.tell(target, key.bytes, event, put);
        Ok(())
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use crate::engine::{Engine, EngineOptions};

    /// Lengths around which the bytes go another way, at offsets that are none of sixteen; and not a byte beside them.
    #[test]
    fn bytes_go_from_block_to_block_with_nothing_beside_them() {
        const NEAR: usize = 1 << 20;
        const ROOM: usize = NEAR + (32 << 10);
        let engine = Engine::create(EngineOptions::default()).unwrap();
        let session = engine.session().unwrap();
        let mem = session.mem();
        let [from, to] = [0; 2].map(|_| session.take_item(ROOM).unwrap() as usize * 8);
        let bytes: Vec<u8> = (0..ROOM).map(|i| (i ^ i >> 8 ^ i >> 16) as u8 | 1).collect();
        mem.store_bytes(from, &bytes);
        mem.store_bytes(to, &vec![0; ROOM]);
        let copied = |(from_at, to_at): (usize, usize), len: usize| {
            mem.copy_across(from + from_at, to + to_at, len);
            let mut out = Vec::new();
            mem.copy_out(to, to_at + len + 100, &mut out);
            assert!(out[to_at..][..len] == bytes[from_at..][..len], "{len} {from_at} {to_at}");
            let mut beside = out[..to_at].iter().chain(&out[to_at + len..]);
            assert!(beside.all(|byte| *byte == 0), "{len} {from_at} {to_at}");
            mem.store_bytes(to + to_at, &vec![0; len]);
        };
        for offset in (0..17).flat_map(|from_at| (0..17).map(move |to_at| (from_at, to_at))) {
            (0..=200).for_each(|len| copied(offset, len));
        }
        for len in [4096, 32 << 10, NEAR].into_iter().flat_map(|len| len - 2..=len + 66) {
            copied((len % 13, len % 17), len);
        }
    }
}
