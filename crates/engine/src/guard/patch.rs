//! Changing a collection where it stands.
//!
//! A push that copied the whole list would cost as much as the list is long. So bytes of a
//! collection may be stored in place, several at once. A reader must not see some of them new and
//! others old; the mark that hides a write of several keys hides this one:
//!
//! ```text
//!   several: odd | bytes stored | version bumped | several: even
//! ```
//! A reader that met any of the new bytes finds the mark changed in its final check, and one that
//! comes meanwhile waits for the few stores that this takes.

use super::Guard;
use crate::journal::{Entry, patch_bytes};
use crate::packed::{Packed, Patch};
use crate::sync::atomics::Ordering::Release;
use crate::sync::atomics::fence;
use crate::verbs::*;

impl<'s> Guard<'s> {
    /// The bytes of a key's value, where they stand, with what there is to know of it. They may be
    /// read until the next change of the key.
    pub fn packed(&mut self, db: Db, key: &Key<'_>) -> Option<(Found, Packed<'s>)> {
        let target = self.target(db, key.hash);
        let spot = self.live(&target, key)?;
        let found = spot.item.found(spot.bucket().meta(spot.slot)).0;
        Some((found, Packed::of(&spot.item)))
    }

    /// Stores bytes in a collection, as one change. The offsets are those of [`Packed`]. False:
    /// nothing was done, because there is no such key, an offset lies outside of it, or it has a
    /// CAS unique, which a change must not leave as it was: then the whole value has to be put.
    pub fn patch(&mut self, db: Db, key: &Key<'_>, event: Event, patches: &[Patch<'_>]) -> bool {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return false };
        let (item, len) = (spot.item, spot.item.head.value_len);
        let fits = |patch: &Patch<'_>| patch.at <= len && patch.bytes.len() <= len - patch.at;
        if item.head.is_string() || item.unique() != 0 || !patches.iter().all(fits) {
            return false;
        }
        self.before_change(&target, spot.segment, spot.line);
        // In a write of several keys the mark is odd already, and has to stay so to its end.
        let marks = self.holds_one();
        if marks {
            target.shard.flip_several();
        }
        // Pairs with the Acquire fence in `index::read`: whoever saw a byte stored below sees the
        // mark odd, or newer.
        fence(Release);
        let at = item.at + item.head.value_at();
        for patch in patches {
            self.session.mem().store_bytes(at + patch.at, patch.bytes);
        }
        spot.bucket().bump_version();
        if marks {
            target.shard.flip_several();
        }
        let active = self.session.engine().journal().is_active();
        let told = if active { patch_bytes(patches) } else { Vec::new() };
        self.tell(&target, key.bytes, event, Entry::Patch(&told));
        true
    }
}
