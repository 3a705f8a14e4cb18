//! Changing a part of a string where it stands.
//!
//! A string that was copied for every APPEND or SETRANGE would cost as much as it is long. So bytes
//! within it, or behind its end as far as its block reaches, are stored in place, and its header with
//! them. What hides such a change from readers is what hides one of a collection (`patch.rs`).
//!
//! A string may be leased, too, and its lease's bytes stay as they are (`lease.rs`). Who takes a lease
//! names the block first and then looks at the mark; who changes it makes the mark odd first and then
//! looks for names. At least one of them sees the other:
//! ```text
//!   reader   names the block | mark odd, or newer: not leased
//!   writer   mark odd        | named: not changed, the caller stores the string anew
//! ```

use super::Guard;
use crate::alloc::block_bytes;
use crate::item::Head;
use crate::journal::{Entry, patch_bytes};
use crate::lease::LEASED_BYTES_MIN;
use crate::packed::Patch;
use crate::session::Session;
use crate::sync::atomics::Ordering::{Relaxed, Release};
use crate::sync::atomics::fence;
use crate::verbs::*;

/// A longer part is stored with the rest, out of place: readers of the shard would wait for it.
const PART_BYTES_MAX: usize = 64 << 10;

impl<'s> Guard<'s> {
    /// Stores bytes in a string, which may go on behind its end; where they begin, it must have come to.
    /// Its encoding is [`Encoding::Raw`] then; deadline and flags stay, a CAS unique becomes a new one,
    /// and Memcached's marks go. False: nothing was done, and the string has to be stored anew, if there
    /// is one.
    pub fn store_part(&mut self, db: Db, key: &Key<'_>, event: Event, part: &Patch<'_>) -> bool {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return false };
        let item = spot.item;
        let Some(head) = with_part(&item.head, part) else { return false };
        // Before the mark is odd: readers wait from then on.
        let unique = if item.unique() == 0 { 0 } else { self.new_unique(&target) };
        self.before_change(&target, spot.segment, spot.line);
        // In a write of several keys the mark is odd already, and has to stay so to its end.
        let marks = self.holds_one();
        if marks {
            target.shard.flip_several();
        }
        let is_leased = item.head.block_len() >= LEASED_BYTES_MIN
            && self.session.engine().leases().is_named((item.at / 8) as u32);
        if !is_leased {
            // As in `patch`.
            fence(Release);
            let at = item.at + head.value_at() + part.at;
            self.session.mem().store_bytes(at, part.bytes);
            item.set_head(&head);
            if unique != 0 {
                self.session.mem().u64_in(item.at, head.ext_at()).store(unique, Relaxed);
            }
            self.renew(&target, &spot);
            spot.bucket().bump_version();
        }
        if marks {
            target.shard.flip_several();
        }
        if is_leased {
            return false;
        }
        item.note_use((self.now / 1000) as u32);
        // As an item that was stored anew it is the newest.
        self.session.engine().note_large(db, key.hash, (item.at / 8) as u32, head.block_len());
        let active = self.session.engine().journal().is_active();
        let told = if active { patch_bytes(&[*part]) } else { Vec::new() };
        self.tell(&target, key.bytes, event, Entry::Patch(&told));
        true
    }
}

impl Session {
    /// Whether [`Guard::store_part`] would store bytes that end at `end`, none of them longer than `longest`, behind or
    /// within the string at a key, as far as can be told without its lock.
    pub fn takes_parts(&self, db: Db, key: &Key<'_>, end: usize, longest: usize) -> bool {
        self.read(db, key, |hit| {
            hit.is_some_and(|hit| {
                longest <= PART_BYTES_MAX && with_len(&hit.item.head, end).is_some()
            })
        })
    }
}

/// The header that a string has with these bytes. `None`: it is none, they are too many, do not fit into its block or
/// would leave a gap, or its key would have to move for a longer header.
fn with_part(old: &Head, part: &Patch<'_>) -> Option<Head> {
    let is_long = part.bytes.len() > PART_BYTES_MAX;
    if part.at > old.value_len || is_long {
        return None;
    }
    with_len(old, part.at.checked_add(part.bytes.len())?)
}

/// The same of bytes that end there.
fn with_len(old: &Head, end: usize) -> Option<Head> {
    if !old.is_string() || old.is_int() {
        return None;
    }
    let value_len = old.value_len.max(end);
    let longest = if old.is_wide() { crate::limits::VALUE_BYTES_MAX } else { 255 };
    let mut head = Head { value_len, encoding_code: Encoding::Raw as u8, ..*old };
    head.set_marks(0);
    let fits =
        value_len <= longest && block_bytes(head.block_len()) == block_bytes(old.block_len());
    fits.then_some(head)
}
