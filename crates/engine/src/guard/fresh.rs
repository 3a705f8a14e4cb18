//! A plain value under a new key whose home line has room, as most of a growing store's have: of some 130 keys that a
//! segment takes between two splits fewer than 40 come to stash lines.
//!
//! ```text
//! put     look the key up under the lock: not there    -> put_new
//! put_new a free slot of the home line | take a block | write it | publish: reference, meta byte, tag
//!           `- none: the whole way (`put_any`), which may take a slot of a stash line, split, evict
//! ```
//! The whole way looks the key up once more and works out what a plain value has not got. Nothing is evicted here that
//! it would not evict: who has room in the home line takes nobody's place (`crowding.rs`).

use super::{Guard, Target};
use crate::index::segment::home_of;
use crate::item::{PlainHead, write_plain_item};
use crate::verbs::*;

impl<'s> Guard<'s> {
    /// Stores a plain item under a key that is not there. `None`: it takes the whole way, and nothing has happened.
    ///
    /// Not inlined: a SET over a value, which is what most are, keeps its few instructions together.
    #[inline(never)]
    pub(super) fn put_new(
        &mut self,
        db: Db,
        target: &Target<'s>,
        key: &Key<'_>,
        value: &[u8],
        event: Event,
    ) -> Option<Result<Stored, StoreError>> {
        let directory = target.shard.directory();
        if directory.is_empty() {
            return None;
        }
        let segment = target.shard.segment_of(directory, self.session.view().position(key.hash));
        let home = home_of(key.hash);
        let slot = segment.line(home).load().first_empty()?;
        segment.prefetch_sides(home);
        let head = PlainHead::plan(key.bytes.len(), value.len());
        // Without memory the whole way looks for some, or says that there is none.
        let reference = self.session.take_item(head.size).ok()?;
        write_plain_item(self.session.mem(), reference as usize * 8, &head, key.bytes, value);
        self.fill(target, key, (segment, home, slot), reference, None);
        if self.is_heard(event) {
            self.tell_plain(db, key, event, value, true);
        } else {
            self.session.count_change();
        }
        Some(Ok(Stored { replaced: false, unique: 0 }))
    }
}
