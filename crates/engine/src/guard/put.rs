//! Storing a value with all that may come with it: a condition of time, flags, a CAS unique. The shorter ways of plain
//! values are in `overwrite.rs`, `alike.rs` and `fresh.rs`.

use super::overwrite::{PLAIN_BYTES_MAX, is_plain};
use super::{Guard, Spot, Target};
use crate::index::bucket::{META_MAIN, META_TTL};
use crate::index::segment::Segment;
use crate::index::tags::tag_of;
use crate::item::{Head, ItemParts, write_item};
use crate::journal::Entry;
use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::verbs::*;

/// A `Put` with everything that was relative to the old item worked out.
struct Plan<'a> {
    head: Head,
    int: i64,
    deadline: Millis,
    client_flags: u32,
    value: [&'a [u8]; 3],
}

impl<'s> Guard<'s> {
    #[inline(always)]
    pub fn put(&mut self, db: Db, key: &Key<'_>, put: &Put<'_>) -> Result<Stored, StoreError> {
        match self.put_plain(db, key, put) {
            Some(outcome) => outcome,
            None => self.put_any(db, key, put, 0, None),
        }
    }

    /// The same, but for one that must not cost another item: it is refused where there is no memory.
    pub fn put_beside_all(
        &mut self,
        db: Db,
        key: &Key<'_>,
        put: &Put<'_>,
    ) -> Result<Stored, StoreError> {
        let before = self.session.spares_others.replace(true);
        let stored = self.put(db, key, put);
        self.session.spares_others.set(before);
        stored
    }

    /// Puts an item back that had this CAS unique in an earlier store; 0: nobody had asked for one. What
    /// new ones begin above must have been raised to it (`raise_uniques`).
    pub fn put_back(
        &mut self,
        db: Db,
        key: &Key<'_>,
        put: &Put<'_>,
        unique: u64,
    ) -> Result<Stored, StoreError> {
        self.put_any(db, key, &Put { unique: unique != 0, ..*put }, unique, None)
    }

    /// The short ways of a plain SET: over a plain item there is nothing but bytes to take along, and one
    /// store to publish them; a new key may have room in its home line. `None`: it is neither, and nothing has happened.
    #[inline(always)]
    fn put_plain(
        &mut self,
        db: Db,
        key: &Key<'_>,
        put: &Put<'_>,
    ) -> Option<Result<Stored, StoreError>> {
        let Value::Bytes(value) = put.value else { return None };
        if !is_plain(put) || key.bytes.len() + value.len() > PLAIN_BYTES_MAX {
            return None;
        }
        let target = self.target(db, key.hash);
        let Some(spot) = self.locate(&target, key) else {
            return self.put_new(db, &target, key, value, put.event);
        };
        let old = spot.item.head;
        if old.has_ttl() || old.has_ext() {
            return None;
        }
        Some(self.overwrite(db, &target, &spot, key, value, put.event))
    }

    /// `kept`: the unique of an item that is put back, else 0. `given`: a block that was taken for it, which is its own
    /// from here on, whatever comes of it.
    #[inline(never)]
    pub(super) fn put_any(
        &mut self,
        db: Db,
        key: &Key<'_>,
        put: &Put<'_>,
        kept: u64,
        given: Option<u32>,
    ) -> Result<Stored, StoreError> {
        let target = self.target(db, key.hash);
        let spot = self.live(&target, key);
        let plan = plan(key.bytes, put, spot.as_ref())?;
        if let Some(spot) = &spot
            && self.put_int_in_place(&target, key, put, &plan, spot)
        {
            if let Some(block) = given {
                self.session.give_item(block, plan.head.size());
            }
            return Ok(Stored { replaced: true, unique: 0 });
        }
        let unique = match kept {
            0 if plan.head.has_ext() && put.unique => self.new_unique(&target),
            kept => kept,
        };
        let bytes = plan.head.size();
        // A value that was received where it shall lie stays there.
        let received = match given {
            None => self.session.take_received(&plan.head, plan.value[0]),
            Some(_) => None,
        };
        let reference = match received.or(given) {
            Some(reference) => reference,
            None => self.take_item(bytes)?,
        };
        let parts = ItemParts {
            head: plan.head,
            int: plan.int,
            deadline: plan.deadline,
            unique,
            client_flags: plan.client_flags,
            used_s: (self.now / 1000) as u32,
            key: key.bytes,
            value: if received.is_some() { [b"", b"", b""] } else { plan.value },
        };
        write_item(self.session.mem(), reference as usize * 8, &parts);
        match &spot {
            Some(spot) => self.replace(&target, spot, reference, &plan.head, plan.deadline),
            None => {
                if let Err(error) = self.insert(&target, key, reference, &plan.head, plan.deadline)
                {
                    self.session.give_item(reference, bytes);
                    return Err(error);
                }
            }
        }
        self.session.engine().note_large(db, key.hash, reference, bytes);
        self.tell(
            &target,
            key.bytes,
            put.event,
            Entry::Put {
                int: plan.head.is_int().then_some(plan.int),
                value: plan.value,
                deadline: plan.deadline,
                flags: plan.client_flags,
                kind: plan.head.kind(),
                encoding: plan.head.encoding(),
                created: spot.is_none(),
            },
        );
        Ok(Stored { replaced: spot.is_some(), unique })
    }

    /// Bytes of the item that a `put` that takes nothing of the old one along will make.
    pub(super) fn planned_bytes(key: &[u8], put: &Put<'_>) -> Result<usize, StoreError> {
        debug_assert!(put.deadline != Deadline::Keep && put.flags != Flags::Keep);
        plan(key, put, None).map(|plan| plan.head.size())
    }

    /// An integer that stays one, with nothing else about the item changed, is one word.
    #[inline]
    fn put_int_in_place(
        &mut self,
        target: &Target<'s>,
        key: &Key<'_>,
        put: &Put<'_>,
        plan: &Plan<'_>,
        spot: &Spot<'s>,
    ) -> bool {
        // With an extension there would be two words to change, and a reader could see one of
        // them new and the other old: a CAS unique with the wrong value loses an update.
        if !plan.head.is_int() || plan.head != spot.item.head || plan.head.has_ext() {
            return false;
        }
        if plan.deadline != spot.item.deadline() {
            return false;
        }
        self.before_change(target, spot.segment, spot.line);
        spot.item.set_int(plan.int);
        self.renew(target, spot);
        spot.bucket().bump_version();
        self.tell(
            target,
            key.bytes,
            put.event,
            Entry::Put {
                int: Some(plan.int),
                value: [b"", b"", b""],
                deadline: plan.deadline,
                flags: 0,
                kind: Kind::String,
                encoding: Encoding::Int,
                created: false,
            },
        );
        true
    }

    /// Publishes a new item in the place of an old one, whose block is freed.
    pub(super) fn replace(
        &mut self,
        target: &Target<'s>,
        spot: &Spot<'s>,
        reference: u32,
        head: &Head,
        deadline: Millis,
    ) {
        self.before_change(target, spot.segment, spot.line);
        let bucket = spot.bucket();
        let old = spot.item;
        bucket.set_reference(spot.slot, reference);
        self.renew(target, spot);
        bucket.bump_version();
        if old.head.has_ttl() != head.has_ttl() {
            bucket.set_meta(spot.slot, bucket.meta(spot.slot) ^ META_TTL);
            self.count_ttl(target, spot.segment, if head.has_ttl() { 1 } else { -1 });
        }
        if head.has_ttl() {
            self.note_due(target, spot.segment, deadline);
        }
        self.session.give_item((old.at / 8) as u32, old.head.block_len());
    }

    pub(super) fn insert(
        &mut self,
        target: &Target<'s>,
        key: &Key<'_>,
        reference: u32,
        head: &Head,
        deadline: Millis,
    ) -> Result<(), StoreError> {
        let slot = self.slot_of_new(target, key)?;
        self.fill(target, key, slot, reference, head.has_ttl().then_some(deadline));
        Ok(())
    }

    /// An empty slot for a key that is not there, to be [filled](Guard::fill) at once. Others may be in
    /// other segments than before, and one may have gone.
    pub(super) fn slot_of_new(
        &mut self,
        target: &Target<'s>,
        key: &Key<'_>,
    ) -> Result<(Segment<'s>, usize, usize), StoreError> {
        let engine = self.session.engine();
        let session = self.session;
        session.make_place(self, target, key.hash, false);
        match engine.place_for(session, target, key.hash) {
            Err(StoreError::Full) => {
                // No memory for a split: a place can be had without one.
                session.make_place(self, target, key.hash, true);
                engine.place_for(session, target, key.hash)
            }
            outcome => outcome,
        }
    }

    /// Publishes the item of a new key, and its deadline, if it has one.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        target: &Target<'s>,
        key: &Key<'_>,
        (segment, line, slot): (Segment<'s>, usize, usize),
        reference: u32,
        deadline: Option<Millis>,
    ) {
        self.before_change(target, segment, line);
        let engine = self.session.engine();
        let generation = engine.note_insert(target.shard);
        let mut meta = (generation as u8 & 0x0f) << 4;
        if deadline.is_some() {
            meta |= META_TTL;
        }
        if engine.was_evicted_lately(target.shard, key.hash) {
            meta |= META_MAIN;
        }
        segment.line(line).fill(slot, tag_of(key.hash), meta, reference);
        let position = self.session.view().position(key.hash);
        segment.note_side(line, slot, position, target.shard.directory());
        target.shard.add_items(1);
        if let Some(deadline) = deadline {
            self.count_ttl(target, segment, 1);
            self.note_due(target, segment, deadline);
        }
    }

    pub(super) fn count_ttl(&self, target: &Target<'s>, segment: Segment<'s>, change: i64) {
        segment.add_ttl_items(change);
        target.shard.add_ttl_items(change);
    }

    /// Lets expiry know that something here is due then.
    pub(super) fn note_due(&self, target: &Target<'s>, segment: Segment<'s>, deadline: Millis) {
        if deadline < segment.next_due() {
            segment.set_next_due(deadline);
        }
        if deadline < target.shard.next_due() {
            target.shard.set_next_due(deadline);
        }
    }
}

fn plan<'a>(key: &[u8], put: &Put<'a>, spot: Option<&Spot<'_>>) -> Result<Plan<'a>, StoreError> {
    if key.len() > KEY_BYTES_MAX {
        return Err(StoreError::KeyTooLong);
    }
    let (encoding, int, value) = match put.value {
        Value::Bytes(bytes) => (Encoding::Bytes, 0, [bytes, b"", b""]),
        Value::Int(int) => (Encoding::Int, int, [&b""[..], b"", b""]),
        Value::Parts(parts) => (Encoding::Raw, 0, parts),
        Value::Packed(_, encoding, bytes) => (encoding, 0, [bytes, b"", b""]),
    };
    let value_len = value.iter().map(|part| part.len()).sum::<usize>();
    if value_len > VALUE_BYTES_MAX {
        return Err(StoreError::ValueTooLong);
    }
    let deadline = match put.deadline {
        Deadline::Never => NEVER,
        Deadline::At(deadline) => deadline,
        Deadline::Keep => spot.map_or(NEVER, |spot| spot.item.deadline()),
    };
    let client_flags = match put.flags {
        Flags::Set(flags) => flags,
        Flags::Keep => spot.map_or(0, |spot| spot.item.client_flags()),
    };
    let ext = put.unique || client_flags != 0;
    let mut head = Head::plan(encoding, key.len(), value_len, deadline != NEVER, ext);
    if let Value::Packed(kind, ..) = put.value {
        head.set_kind(kind);
    }
    head.set_marks(put.marks);
    Ok(Plan { head, int, deadline, client_flags, value })
}
