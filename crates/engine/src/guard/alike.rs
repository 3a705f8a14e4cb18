//! A SET of a value where one of the same lengths stands: what writers of a cache do most, in one piece.
//!
//! ```text
//! set          way to the lines (`index/way.rs`) -> lock -> still so? -> home line | write the item
//!                   -> tag -> old item: same header, same key?
//!                   -> publish, old block <-> top of the magazine, count -> release
//! set_fetched  lock -> is all that the batch's passes saw still so? -> old item: same header, same key?
//!                   -> write the item, publish, ... -> release
//! ```
//!
//! A SET of any key waits for two lines of memory, the second of which is known only from the first.
//! Those of the next SET can be on their way meanwhile, but only if the processor has got to them: it
//! looks a few hundred instructions ahead. So this way has few, asks for lines before it takes the lock, asks one
//! question for all that is seldom the case, and leaves that to the guard. It takes one lock, so there is no order to keep, and changes
//! things in the guard's order: build, publish, count (see `guard/mod.rs`).

use super::Guard;
use crate::alloc::TopPlace;
use crate::arena::Ref;
use crate::counters::Counter;
use crate::engine::Engine;
use crate::index::bucket::Line;
use crate::index::fetch::Fetch;
use crate::index::read::View;
use crate::index::segment::stash_line;
use crate::index::shard::Shard;
use crate::index::tags::{stash_of, tag_of};
use crate::index::way::Way;
use crate::item::{PlainHead, write_plain_item};
use crate::lease::LEASED_BYTES_MIN;
use crate::session::Session;
use crate::sync::atomics::Ordering::Relaxed;
use crate::verbs::*;
use std::hint::{cold_path, select_unpredictable};

// What may be leased is not simply freed: no item that is narrow is so long.
const _: () = assert!(cfg!(shuttle) || PlainHead::NARROW_MAX < LEASED_BYTES_MIN);

const REPLACED: Stored = Stored { replaced: true, unique: 0 };

/// A block that has been written and is still on top of its magazine: if nothing comes of it, it is as
/// free as before.
struct Written {
    block: Ref,
    place: TopPlace,
}

impl Session {
    /// Stores a value and takes away all else of the key: `Put::plain` by [`Session::write`] and
    /// [`Guard::put`].
    #[inline(always)]
    pub fn set(
        &self,
        db: Db,
        key: &Key<'_>,
        value: &[u8],
        now: Millis,
    ) -> Result<Stored, StoreError> {
        let engine: &Engine = self.engine();
        let view = engine.view();
        let root = view.root_of(db);
        let shard = view.shard_of(root, key.hash);
        let head = PlainHead::narrow(key.bytes.len(), value.len());
        // An empty shard's lock may lie in memory that nobody has committed yet: no way leads there.
        // A transaction of this session has the lock already: then, too, it is the guard's.
        if let (Some(head), Some(way)) = (head, view.way_to(shard, key.hash))
            && shard.lock().try_acquire()
        {
            // As in `lock_one`: SWAPDB may have given the database another root meanwhile.
            if view.root_of(db) == root {
                if self.set_alike(&view, shard, &way, key, value, &head) {
                    shard.lock().release();
                    return Ok(REPLACED);
                }
                cold_path();
                let guard = Guard::adopt(self, shard, now);
                return set_held(guard, db, (key.bytes, key.hash), value);
            }
            shard.lock().release();
        }
        cold_path();
        self.set_other(db, (key.bytes, key.hash), value, now)
    }

    #[inline(never)]
    fn set_other(
        &self,
        db: Db,
        (key, hash): (&[u8], u64),
        value: &[u8],
        now: Millis,
    ) -> Result<Stored, StoreError> {
        let key = Key::from_parts(key, hash);
        self.write(db, &key, now).put(db, &key, &Put::plain(Value::Bytes(value)))
    }

    /// As [`Session::set`], for a key that the passes of a batch have fetched.
    #[inline(always)]
    pub fn set_fetched(
        &self,
        db: Db,
        key: &Key<'_>,
        fetch: &Fetch,
        value: &[u8],
        now: Millis,
    ) -> Result<Stored, StoreError> {
        let view = self.view();
        let head = PlainHead::narrow(key.bytes.len(), value.len());
        if let (Some(head), Some((shard, root))) = (head, view.shard_fetched(fetch))
            && shard.lock().try_acquire()
        {
            // As in `set`.
            if view.root_of(db) == root {
                if self.set_fetched_alike(&view, shard, key, fetch, value, &head) {
                    shard.lock().release();
                    return Ok(REPLACED);
                }
                cold_path();
                let guard = Guard::adopt(self, shard, now);
                return set_fetched_held(guard, db, key, fetch, value);
            }
            shard.lock().release();
        }
        cold_path();
        self.set_other(db, (key.bytes, key.hash), value, now)
    }

    /// Under the lock: stores the item in the place of one with the same header and the same key, if it
    /// is in its home line and nobody waits for changes. False: nothing has happened.
    #[inline(always)]
    fn set_alike(
        &self,
        view: &View<'_>,
        shard: Shard<'_>,
        way: &Way<'_>,
        key: &Key<'_>,
        value: &[u8],
        head: &PlainHead,
    ) -> bool {
        // FLUSHDB may have emptied the shard since, or a split have changed the entry.
        if !way.holds(shard) || self.is_change_awaited() {
            cold_path();
            return false;
        }
        let (segment, home, tag) = (way.segment, way.home, tag_of(key.hash));
        let (version, at_home) = segment.line(home).matches(tag);
        // The item is written while its line is on its way.
        let Some(written) = self.write_alike(view, head, key.bytes, value) else {
            cold_path();
            return false;
        };
        // Which of its two lines has the key, nobody can foresee: without a branch, a wrong guess does
        // not throw away what has been begun of the next SET.
        let stash = stash_line(stash_of(version));
        let line = segment.line(select_unpredictable(at_home != 0, home, stash));
        let matches = line.slots_of(tag);
        if matches == 0 {
            return false;
        }
        // Where two keys have this tag, the second one is for the guard.
        let slot = matches.trailing_zeros() as usize;
        let old = line.reference(slot);
        if !is_alike(view, old, head, key.bytes) {
            cold_path();
            return false;
        }
        self.exchange(view, shard, (line, slot), old, written);
        true
    }

    /// The same by what a batch's passes have seen, if that is still so.
    #[inline(always)]
    fn set_fetched_alike(
        &self,
        view: &View<'_>,
        shard: Shard<'_>,
        key: &Key<'_>,
        fetch: &Fetch,
        value: &[u8],
        head: &PlainHead,
    ) -> bool {
        debug_assert!(!fetch.has_candidate() || fetch.hash() == key.hash, "another key's fetch");
        let Some((line, slot, old)) = view.slot_fetched(fetch) else { return false };
        if self.is_change_awaited() || !is_alike(view, old, head, key.bytes) {
            cold_path();
            return false;
        }
        let Some(written) = self.write_alike(view, head, key.bytes, value) else {
            cold_path();
            return false;
        };
        self.exchange(view, shard, (line, slot), old, written);
        true
    }

    /// Whether a SET has more to do than to take place: for a cut, the journal or those who watch.
    /// Under the lock of the shard that is to be changed.
    #[inline(always)]
    fn is_change_awaited(&self) -> bool {
        let engine: &Engine = self.engine();
        engine.cut_state().is_running() || engine.is_heard(Event::Set)
    }

    /// Writes an item into the block that was freed last. `None`: there is none of this size.
    #[inline(always)]
    fn write_alike(
        &self,
        view: &View<'_>,
        head: &PlainHead,
        key: &[u8],
        value: &[u8],
    ) -> Option<Written> {
        // In a model leases begin at fewer bytes.
        if cfg!(shuttle) && head.size >= LEASED_BYTES_MIN {
            return None;
        }
        let engine: &Engine = self.engine();
        let (block, place) =
            engine.allocator().begin_exchange(view.words, self.slot(), head.size)?;
        write_plain_item(view.words, block.raw() as usize * 8, head, key, value);
        Some(Written { block, place })
    }

    /// Has the slot name the new item; the old one's block is the next to be taken.
    #[inline(always)]
    fn exchange(
        &self,
        view: &View<'_>,
        shard: Shard<'_>,
        (line, slot): (Line<'_>, usize),
        old: u32,
        new: Written,
    ) {
        line.set_reference(slot, new.block.raw());
        line.renew(slot, shard.generation());
        line.bump_version();
        let old = Ref::from_raw(old).expect("a block has a place");
        self.engine().allocator().end_exchange(view.words, self.slot(), new.place, old);
        self.slot().count_in(view.words, Counter::Changes as usize, 1);
    }
}

/// The guard's way, with the lock that has been taken.
#[inline(never)]
fn set_held(
    mut guard: Guard<'_>,
    db: Db,
    (key, hash): (&[u8], u64),
    value: &[u8],
) -> Result<Stored, StoreError> {
    let key = Key::from_parts(key, hash);
    guard.put(db, &key, &Put::plain(Value::Bytes(value)))
}

/// The same of a fetched key.
#[inline(never)]
fn set_fetched_held(
    mut guard: Guard<'_>,
    db: Db,
    key: &Key<'_>,
    fetch: &Fetch,
    value: &[u8],
) -> Result<Stored, StoreError> {
    guard.put_fetched(db, key, fetch, &Put::plain(Value::Bytes(value)))
}

/// Whether an item has this header and this key.
#[inline(always)]
fn is_alike(view: &View<'_>, item: u32, head: &PlainHead, key: &[u8]) -> bool {
    let (words, at) = (view.words, item as usize * 8);
    words.may_load(at, head.size)
        && head.is_of(words.u64_in(at, 0).load(Relaxed))
        && words.bytes_equal_in(at, PlainHead::NARROW_KEY_AT, key)
}
