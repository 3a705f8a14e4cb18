//! Storing a string anew that a part of it has outgrown, with room to spare for the next.
//!
//! ```text
//!   old block   head, key | value           |
//!   new block   head, key | value | zeros, up to where the part begins | part | room to spare
//! ```
//! A log that was copied for as many bytes as lie between two sizes of blocks, each time, would cost by its length. The
//! room is a part of that (`item/head.rs`), so that each byte is copied so many times, however long the
//! string becomes. What was stored as a whole has none, and where there is no memory for it, nothing is left to spare.

use super::Guard;
use crate::item::{Head, Item, ItemParts, write_item};
use crate::journal::{Entry, patch_bytes};
use crate::limits::VALUE_BYTES_MAX;
use crate::packed::Patch;
use crate::verbs::*;

/// Zeros are stored in pieces of so many bytes.
const PIECE_BYTES: usize = 16 << 10;

impl<'s> Guard<'s> {
    /// Stores bytes in a string as [`Guard::store_part`] does, in a new block. They may begin behind its end: what lies
    /// between is zeros. `Ok(false)`: there is no string of bytes.
    pub fn grow(
        &mut self,
        db: Db,
        key: &Key<'_>,
        event: Event,
        part: &Patch<'_>,
    ) -> Result<bool, StoreError> {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return Ok(false) };
        let old = spot.item;
        if !old.head.is_string() || old.head.is_int() {
            return Ok(false);
        }
        let end = part.at.checked_add(part.bytes.len()).ok_or(StoreError::ValueTooLong)?;
        let value_len = old.head.value_len.max(end);
        if value_len > VALUE_BYTES_MAX {
            return Err(StoreError::ValueTooLong);
        }
        let (unique, client_flags) = (old.unique(), old.client_flags());
        let ext = unique != 0 || client_flags != 0;
        let ttl = old.head.has_ttl();
        let mut head = Head::plan(Encoding::Raw, key.bytes.len(), value_len, ttl, ext);
        head.set_room(true);
        let reference = match self.take_item(head.block_len()) {
            Err(_) => {
                head.set_room(false);
                self.take_item(head.block_len())?
            }
            Ok(reference) => reference,
        };
        let unique = if unique == 0 { 0 } else { self.new_unique(&target) };
        self.fill_grown(reference, &head, key, &old, unique, part);
        self.replace(&target, &spot, reference, &head, old.deadline());
        self.session.engine().note_large(db, key.hash, reference, head.block_len());
        let active = self.session.engine().journal().is_active();
        let told = if active { patch_bytes(&[*part]) } else { Vec::new() };
        self.tell(&target, key.bytes, event, Entry::Patch(&told));
        Ok(true)
    }

    /// Writes the item into a block that nobody can see.
    fn fill_grown(
        &self,
        reference: u32,
        head: &Head,
        key: &Key<'_>,
        old: &Item<'_>,
        unique: u64,
        part: &Patch<'_>,
    ) {
        let (mem, at) = (self.session.mem(), reference as usize * 8);
        let parts = ItemParts {
            head: *head,
            int: 0,
            deadline: old.deadline(),
            unique,
            client_flags: old.client_flags(),
            used_s: (self.now / 1000) as u32,
            key: key.bytes,
            value: [b"", b"", b""],
        };
        write_item(mem, at, &parts);
        let (from, to) = (old.at + old.head.value_at(), at + head.value_at());
        mem.copy_across(from, to, old.head.value_len);
        for begin in (old.head.value_len..part.at).step_by(PIECE_BYTES) {
            mem.store_bytes(to + begin, &[0; PIECE_BYTES][..PIECE_BYTES.min(part.at - begin)]);
        }
        mem.store_bytes(to + part.at, part.bytes);
    }
}
