//! Changing a collection where it stands.
//!
//! A push that copied the whole list would cost as much as the list is long. So bytes of a
//! collection may be stored in place, several at once. A reader must not see some of them new and
//! others old; the mark that hides a write of several keys hides this one:
//!
//! ```text
//!   several: odd | bytes, unique and marks stored | version bumped | several: even
//! ```
//! A reader that met any of the new bytes finds the mark changed in its final check, and one that
//! comes meanwhile waits for the few stores that this takes. So an item's CAS unique, which a change
//! must not leave as it was, is exchanged here as well: no read that counts sees the old one with new
//! bytes, or the new one with old bytes. Were such an item made anew for it, an element could not be
//! taken out of a list where there is no memory, only because somebody had asked for its unique.

use super::Guard;
use crate::journal::{Entry, patch_bytes};
use crate::packed::{Packed, Patch};
use crate::sync::atomics::Ordering::{Relaxed, Release};
use crate::sync::atomics::fence;
use crate::verbs::*;

impl<'s> Guard<'s> {
    /// The bytes of a key's value, where they stand, with what there is to know of it. They may be
    /// read until the next change of the key.
    pub fn packed(&mut self, db: Db, key: &Key<'_>) -> Option<(Found, Packed<'s>)> {
        let target = self.target(db, key.hash);
        let spot = self.needed(&target, key)?;
        let found = spot.item.found(spot.bucket().meta(spot.slot)).0;
        Some((found, Packed::of(&spot.item)))
    }

    /// Stores bytes in a collection, as one change. The offsets are those of [`Packed`]. If it has a
    /// CAS unique, it gets a new one; Memcached's marks are taken from it, as from an item put anew.
    /// False: nothing was done, because there is no such collection or an offset lies outside of it.
    pub fn patch(&mut self, db: Db, key: &Key<'_>, event: Event, patches: &[Patch<'_>]) -> bool {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return false };
        let (item, len) = (spot.item, spot.item.head.value_len);
        let fits = |patch: &Patch<'_>| patch.at <= len && patch.bytes.len() <= len - patch.at;
        if item.head.is_string() || !patches.iter().all(fits) {
            return false;
        }
        // Before the mark is odd: readers wait from then on.
        let unique = if item.unique() == 0 { 0 } else { self.new_unique(&target) };
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
        if unique != 0 {
            self.session.mem().u64_in(item.at, item.head.ext_at()).store(unique, Relaxed);
        }
        if item.head.marks() != 0 {
            item.set_marks(0);
        }
        self.renew(&target, &spot);
        spot.bucket().bump_version();
        if marks {
            target.shard.flip_several();
        }
        // As an item that was stored anew it is the newest.
        let block = (item.at / 8) as u32;
        self.session.engine().note_large(db, key.hash, block, item.head.size());
        let active = self.session.engine().journal().is_active();
        let told = if active { patch_bytes(patches) } else { Vec::new() };
        self.tell(&target, key.bytes, event, Entry::Patch(&told));
        true
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use crate::session::Session;
    use crate::sync::atomics::{AtomicBool, AtomicU64, Ordering};
    use std::collections::HashMap;
    use std::sync::Arc;

    const DB: Db = Db(0);

    /// A list at a key of that name, which has a unique.
    fn listed<'k>(engine: &Arc<Engine>, session: &Session, name: &'k [u8], len: usize) -> Key<'k> {
        let key = engine.key(name);
        let value = Value::Packed(Kind::List, Encoding::Quicklist, &vec![0; len]);
        let mut guard = session.write(DB, &key, 1);
        guard.put(DB, &key, &Put::plain(value)).unwrap();
        guard.unique(DB, &key).unwrap();
        key
    }

    #[test]
    fn a_change_in_place_gives_a_new_unique_and_takes_the_marks() {
        let engine = Engine::create(EngineOptions::default()).unwrap();
        let session = engine.session().unwrap();
        for with_others in [false, true] {
            let key = listed(&engine, &session, b"list", 9);
            let places = [(DB, key.hash())];
            let mut guard = match with_others {
                false => session.write(DB, &key, 1),
                true => session.write_many(&places, 1),
            };
            assert!(guard.set_marks(DB, &key, MARK_STALE));
            let old = guard.find(DB, &key).unwrap();
            let patches = [Patch { at: 0, bytes: b"a" }, Patch { at: 7, bytes: b"bc" }];
            assert!(guard.patch(DB, &key, Event::RPush, &patches));
            let new = guard.find(DB, &key).unwrap();
            assert!(new.unique > old.unique && new.marks == 0, "{new:?}");
            // Nothing was made anew.
            let (found, _) = guard.packed(DB, &key).unwrap();
            assert_eq!((found.len, found.block_bytes), (9, old.block_bytes));
            let mut bytes = Vec::new();
            guard.value(DB, &key, &mut bytes);
            assert_eq!(bytes, b"a\0\0\0\0\0\0bc");
            assert!(!guard.patch(DB, &key, Event::RPush, &[Patch { at: 8, bytes: b"bc" }]));
            assert_eq!(guard.find(DB, &key).unwrap().unique, new.unique);
        }
    }

    /// Short patches, and one that goes past the cache, while others read bytes and unique together.
    #[test]
    fn a_unique_is_never_seen_with_the_bytes_of_another_moment() {
        for len in [16, 300, 100_000] {
            let engine = Engine::create(EngineOptions::default()).unwrap();
            let session = engine.session().unwrap();
            let key = listed(&engine, &session, b"list", len);
            let (is_over, reads) = (&AtomicBool::new(false), &AtomicU64::new(0));
            let first = session.peek(DB, &key, 1).unwrap().unique;
            let mut written = HashMap::from([(first, 0)]);
            let seen: Vec<(u64, u8)> = std::thread::scope(|scope| {
                let readers: Vec<_> = (0..2)
                    .map(|_| {
                        let session = engine.session().unwrap();
                        scope.spawn(move || {
                            let (mut seen, mut bytes) = (Vec::new(), Vec::new());
                            while !is_over.load(Ordering::Relaxed) {
                                let found = session.inspect(DB, &key, 1, |shown| {
                                    let (_, packed) = shown.expect("it is always there");
                                    bytes.clear();
                                    packed.copy(0, len, &mut bytes);
                                });
                                assert!(bytes.iter().all(|byte| *byte == bytes[0]), "two moments");
                                seen.push((found.unwrap().unique, bytes[0]));
                                reads.fetch_add(1, Ordering::Relaxed);
                            }
                            seen
                        })
                    })
                    .collect();
                // Until there was something to see, however late the readers begin, or this thread.
                let before = reads.load(Ordering::Relaxed);
                let goes_on =
                    |turn: &usize| *turn < 200 || reads.load(Ordering::Relaxed) < before + 3_000;
                for turn in (1..1_000_000).take_while(goes_on) {
                    let mut guard = session.write(DB, &key, 1);
                    let bytes = vec![turn as u8; len];
                    // In two halves, for there to be something between.
                    let (first, second) = bytes.split_at(len / 2);
                    let second = Patch { at: len / 2, bytes: second };
                    let first = Patch { at: 0, bytes: first };
                    assert!(guard.patch(DB, &key, Event::LSet, &[first, second]));
                    written.insert(guard.find(DB, &key).unwrap().unique, turn as u8);
                }
                is_over.store(true, Ordering::Relaxed);
                readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect()
            });
            assert!(seen.len() >= 3_000, "{} seen of {}", seen.len(), written.len());
            for (unique, byte) in seen {
                assert_eq!(written.get(&unique), Some(&byte), "{len} bytes, unique {unique}");
            }
        }
    }
}
