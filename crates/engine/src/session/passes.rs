//! The passes of a batch: what later reads will need is asked for while others are prepared, and
//! what a pass has seen of a key is kept for the next (see `index/batch.rs`).

use super::Session;
use crate::arena::Frame;
use crate::counters::Counter;
use crate::index::batch::TOGETHER;
use crate::index::bucket::META_FREQUENCY;
use crate::index::fetch::Fetch;
use crate::index::near::Near;
use crate::item::Item;
use crate::verbs::*;
use std::hint::{black_box, cold_path};

impl Session {
    /// First pass of a batch: the key's index line is found and asked for, together with those of the keys
    /// before it when they are sixteen, or in `fetch_items`.
    #[inline(always)]
    pub fn fetch_line(&self, db: Db, hash: u64, fetches: &mut Vec<Fetch>) {
        let view = self.view();
        fetches.push(view.fetch_line(view.root_of(db), hash));
        if fetches.len().is_multiple_of(TOGETHER) {
            let first = fetches.len() - TOGETHER;
            view.find_lines(&mut fetches[first..]);
        }
    }

    /// As `fetch_line`, for a key behind which there is a system call before the next one: in steps
    /// (see `index/step.rs`).
    #[inline(always)]
    pub fn fetch_in_steps(&self, db: Db, hash: u64, writes: bool, fetches: &mut Vec<Fetch>) {
        let view = self.view();
        view.fetch_in_steps(view.root_of(db), hash, writes, fetches);
        if fetches.len().is_multiple_of(TOGETHER) {
            let first = fetches.len() - TOGETHER;
            view.find_lines(&mut fetches[first..]);
        }
    }

    /// As `fetch_line`, where the key is not one of many: its line is asked for at once.
    pub fn fetch_line_at_once(&self, db: Db, hash: u64) -> Fetch {
        let view = self.view();
        let mut fetch = view.fetch_line(view.root_of(db), hash);
        view.find_lines(std::slice::from_mut(&mut fetch));
        fetch
    }

    /// Has the heads of the items that some keys have come into the cache, for who will look at them
    /// in a while. They are loaded, all at once: a hint to prefetch is dropped where the page of a
    /// line is not known, as that of one item among gigabytes most often is not, and one load after
    /// the other takes a microsecond each.
    pub fn foresee_items(&self, fetches: &mut [Fetch]) {
        let view = self.view();
        view.fetch_beginnings(fetches, 0);
        for fetch in &*fetches {
            black_box(view.load_head(fetch));
        }
    }

    /// Asks once more for what the passes have seen of a key, where much was moved since.
    pub fn fetch_again(&self, fetch: &Fetch) {
        self.view().fetch_again(fetch);
    }

    /// What asks, while the keys of a batch are read one after the other, for the items of those whose turns
    /// come soon.
    #[inline(always)]
    pub fn near(&self) -> Near<'_> {
        self.view().near(&self.typical_bytes)
    }

    /// The passes between: the lines of all keys are asked for, tags matched, and the items that they
    /// name are asked for.
    #[inline(always)]
    pub fn fetch_items(&self, fetches: &mut [Fetch]) {
        self.view().fetch_items(fetches, &self.typical_bytes);
    }

    /// As [`Session::get_if`], by what the passes of a batch have seen of this key, as long as that
    /// is still so. Returns the key's type.
    #[inline(always)]
    pub fn get_fetched(
        &self,
        fetch: &Fetch,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        is_wanted: impl Fn(&Found) -> bool,
        mut head: impl FnMut(&Found, &mut Vec<u8>),
    ) -> Option<Kind> {
        let start = out.len();
        let view = self.view();
        // Written twice, for the compiler to know of the first all that is constant about it.
        let is_plain = if let Some(item) = view.plain_candidate(fetch) {
            self.show(item, fetch, db, key, now, |item, found| {
                if is_wanted(found) {
                    head(found, out);
                    item.copy_value(0, out);
                }
            })
        } else if let Some(item) = view.wide_candidate(fetch) {
            self.show(item, fetch, db, key, now, |item, found| {
                if is_wanted(found) {
                    head(found, out);
                    item.copy_value(0, out);
                }
            })
        } else {
            false
        };
        if is_plain {
            self.count_hits(1);
            return Some(Kind::String);
        }
        out.truncate(start);
        self.get_from_the_start(db, key, now, out, &is_wanted, &mut head)
    }

    /// As [`Session::get_fetched`], if what the passes have seen is a plain string: bytes, in an
    /// item of two thousand at most, not due, and still there. Appends it in the frame that `frame` has for
    /// its length. False: it is none, and `out` is as it was. The caller counts the hits, many at once.
    #[inline(always)]
    pub fn get_framed(
        &self,
        fetch: &Fetch,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        frame: impl Fn(usize) -> Frame,
    ) -> bool {
        let start = out.len();
        let view = self.view();
        let is_plain = if let Some(item) = view.plain_candidate(fetch) {
            self.show(item, fetch, db, key, now, |item, found| {
                item.copy_framed(&frame(found.len), out);
            })
        } else if let Some(item) = view.wide_candidate(fetch) {
            self.show(item, fetch, db, key, now, |item, found| {
                item.copy_framed(&frame(found.len), out);
            })
        } else {
            false
        };
        if !is_plain {
            cold_path();
            out.truncate(start);
        }
        is_plain
    }

    /// Shows a string. False: it is not the key's, or not there any more, and what `show` did is void.
    #[inline(always)]
    fn show<'a>(
        &'a self,
        item: Item<'a>,
        fetch: &Fetch,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        show: impl FnOnce(&Item<'_>, &Found),
    ) -> bool {
        let met = self.view().read_candidate(db, fetch, key.bytes, item, |met| {
            if met.item.is_due(now) {
                return None;
            }
            let found = met.item.found(met.meta).0;
            show(&met.item, &found);
            let is_counted = found.frequency < META_FREQUENCY;
            Some((is_counted, self.is_first_use_in_second(&found, now)))
        });
        let Some(Some((is_counted, is_noted))) = met else {
            cold_path();
            return false;
        };
        if is_noted || is_counted && self.in_transaction() {
            cold_path();
            self.note_use(db, key, now);
        } else if is_counted {
            cold_path();
            self.count_use(fetch, db);
        }
        true
    }

    /// Counts a read for eviction, unless the shard is busy: where the passes have seen the key's slot, if that is
    /// still so. Among many keys most reads are of those that have not been read three times.
    #[inline(never)]
    fn count_use(&self, fetch: &Fetch, db: Db) {
        let view = self.view();
        // The root is open: the key's shard has a segment.
        let Some((shard, root)) = view.shard_fetched(fetch) else { return };
        let lock = shard.lock();
        if lock.try_acquire() {
            // As in `lock_one`.
            if view.root_of(db) == root
                && let Some((line, slot, _)) = view.slot_fetched(fetch)
            {
                line.bump_frequency(slot);
            }
            lock.release();
        }
    }

    /// Counts reads that [`Session::get_framed`] has answered, or looks at keys that were there.
    #[inline(always)]
    pub fn count_hits(&self, hits: u64) {
        self.count(Counter::Hits, hits);
    }

    /// Counts a look at a key that a command makes by itself, without reading a value: EXISTS, TTL.
    pub fn count_look(&self, found: bool) {
        self.count(if found { Counter::Hits } else { Counter::Misses }, 1);
    }

    #[cold]
    #[inline(never)]
    fn get_from_the_start(
        &self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        is_wanted: &dyn Fn(&Found) -> bool,
        head: &mut dyn FnMut(&Found, &mut Vec<u8>),
    ) -> Option<Kind> {
        self.get_if(db, key, now, out, is_wanted, head).map(|found| found.kind)
    }

    #[inline(always)]
    fn is_first_use_in_second(&self, found: &Found, now: Millis) -> bool {
        (found.unique != 0 || found.flags != 0) && found.last_use_s != (now / 1000) as u32
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::arena::Frame;
    use crate::engine::{Engine, EngineOptions};

    #[test]
    fn a_read_of_a_fetched_key_is_counted_if_its_slot_is_still_its_own() {
        let engine = Engine::create(EngineOptions::default()).unwrap();
        let session = engine.session().unwrap();
        let key = engine.key(b"key");
        let frequency = || session.peek(Db(0), &key, 1).unwrap().frequency;
        let fetch = || {
            let mut fetches = Vec::new();
            session.fetch_line(Db(0), key.hash, &mut fetches);
            session.fetch_items(&mut fetches);
            fetches[0]
        };
        let read = |fetch: &Fetch| {
            let frame = |_| Frame { head: [0; 8], head_len: 0, end: *b"\r\n" };
            session.get_framed(fetch, Db(0), &key, 1, &mut Vec::new(), frame)
        };
        session.set(Db(0), &key, b"one", 1).unwrap();
        let before = fetch();
        for reads in [1, 2, 3, 3] {
            assert!(read(&before));
            assert_eq!(frequency(), reads);
        }
        session.write(Db(0), &key, 1).remove(Db(0), &key, Event::Del);
        session.set(Db(0), &key, b"two", 1).unwrap();
        // What the passes saw is gone: neither this item nor that one's slot is changed by it.
        session.count_use(&before, Db(0));
        assert_eq!(frequency(), 0);
        session.count_use(&fetch(), Db(0));
        assert_eq!(frequency(), 1);
        // Who holds the lock is not waited for.
        let (shard, _) = session.view().shard_fetched(&before).unwrap();
        let held = shard.lock().hold();
        session.count_use(&fetch(), Db(0));
        drop(held);
        assert_eq!(frequency(), 1);
    }
}
