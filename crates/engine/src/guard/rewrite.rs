//! Changes to what stands beside the value: deadline, CAS unique, marks.

use super::{Guard, Spot, Target};
use crate::alloc::BLOCK_MAX;
use crate::item::{Head, ItemParts, write_item_around};
use crate::journal::Entry;
use crate::verbs::*;

impl<'s> Guard<'s> {
    /// `Ok(false)`: no such key. A deadline of [`NEVER`] takes the key's deadline away.
    pub fn set_deadline(
        &mut self,
        db: Db,
        key: &Key<'_>,
        deadline: Millis,
        event: Event,
    ) -> Result<bool, StoreError> {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return Ok(false) };
        if spot.item.head.has_ttl() && deadline != NEVER {
            self.before_change(&target, spot.segment, spot.line);
            spot.item.set_deadline(deadline);
            self.renew(&target, &spot);
            spot.bucket().bump_version();
            self.note_due(&target, spot.segment, deadline);
        } else if spot.item.head.has_ttl() || deadline != NEVER {
            self.rewrite(&target, key, &spot, deadline, spot.item.unique())?;
        }
        self.tell(&target, key.bytes, event, Entry::Deadline(deadline));
        Ok(true)
    }

    /// The CAS unique of a key, made now if it has none. `Ok(0)`: no such key.
    pub fn unique(&mut self, db: Db, key: &Key<'_>) -> Result<u64, StoreError> {
        let target = self.target(db, key.hash);
        match self.live(&target, key) {
            None => Ok(0),
            Some(spot) if spot.item.unique() != 0 => Ok(spot.item.unique()),
            Some(spot) => self.rewrite_unique(&target, key, &spot),
        }
    }

    /// A new CAS unique for an unchanged value (`md I`). `Ok(0)`: no such key.
    pub fn renew_unique(&mut self, db: Db, key: &Key<'_>) -> Result<u64, StoreError> {
        let target = self.target(db, key.hash);
        match self.live(&target, key) {
            None => Ok(0),
            Some(spot) => self.rewrite_unique(&target, key, &spot),
        }
    }

    /// Memcached's marks of a key. False: no such key.
    pub fn set_marks(&mut self, db: Db, key: &Key<'_>, marks: u8) -> bool {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return false };
        self.before_change(&target, spot.segment, spot.line);
        spot.item.set_marks(marks);
        spot.bucket().bump_version();
        true
    }

    /// Counts as a use, also where no reader noticed one. False: no such key.
    pub fn touch(&mut self, db: Db, key: &Key<'_>) -> bool {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return false };
        spot.bucket().bump_frequency(spot.slot);
        spot.item.note_use((self.now / 1000) as u32);
        true
    }

    fn rewrite_unique(
        &mut self,
        target: &Target<'s>,
        key: &Key<'_>,
        spot: &Spot<'s>,
    ) -> Result<u64, StoreError> {
        let unique = self.new_unique(target);
        self.rewrite(target, key, spot, spot.item.deadline(), unique)?;
        Ok(unique)
    }

    /// The same value in a new block, with another deadline or unique.
    fn rewrite(
        &mut self,
        target: &Target<'s>,
        key: &Key<'_>,
        spot: &Spot<'s>,
        deadline: Millis,
        unique: u64,
    ) -> Result<(), StoreError> {
        let old = &spot.item;
        let client_flags = old.client_flags();
        let ext = unique != 0 || client_flags != 0;
        let mut head = Head::plan(
            old.head.encoding(),
            key.bytes.len(),
            old.head.value_len,
            deadline != NEVER,
            ext,
        );
        head.set_kind(old.head.kind());
        head.set_marks(old.head.marks());
        let int = if head.is_int() { old.int() } else { 0 };
        let parts = ItemParts {
            head,
            int,
            deadline,
            unique,
            client_flags,
            used_s: (self.now / 1000) as u32,
            key: key.bytes,
            value: [b"", b"", b""],
        };
        let reference = self.take_item(head.size())?;
        write_item_around(self.session.mem(), reference as usize * 8, &parts, old);
        // A large item keeps its place among those that leave in order. One that becomes large by what
        // now stands beside its value has had none.
        let engine = self.session.engine();
        if old.head.block_len() > BLOCK_MAX {
            engine.note_large_moved((old.at / 8) as u32, reference, head.size());
        } else {
            engine.note_large(target.db, key.hash, reference, head.size());
        }
        self.replace(target, spot, reference, &head, deadline);
        Ok(())
    }
}
