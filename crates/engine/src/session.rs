//! A session: one thread's handle on the engine, with its magazines of free blocks and its
//! counters. Reads are here; changes go through a [`crate::Guard`], or are SETs in one piece
//! (`guard/alike.rs`).

mod blocks;
mod many;
mod passes;

use crate::alloc::SessionSlot;
use crate::arena::Mem;
use crate::counters::Counter;
use crate::engine::Engine;
use crate::guard::{Guard, Several};
use crate::hand::age_of;
use crate::incoming::Incoming;
use crate::index::bucket::META_FREQUENCY;
use crate::index::read::{Hit, View};
use crate::index::typical::TypicalBytes;
use crate::lease::Slots;
use crate::maintenance::ExpiryPlace;
use crate::packed::Packed;
use crate::sync::atomics::AtomicBool;
use crate::verbs::*;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// One thread's handle on the engine. It can move to another thread, not be shared.
#[derive(Debug)]
pub struct Session {
    engine: Arc<Engine>,
    slot: SessionSlot,
    /// What a transaction of this session holds.
    transaction: RefCell<Option<Several>>,
    in_transaction: Cell<bool>,
    /// False while this session holds locks and looks for memory all the same (`maintenance/under_locks.rs`).
    pub(crate) waits_for_locks: Cell<bool>,
    /// Searches of this transaction for memory that came to nothing.
    pub(crate) vain_searches: Cell<usize>,
    /// What is stored just now must not cost another item.
    pub(crate) spares_others: Cell<bool>,
    eviction_turn: Cell<usize>,
    eviction_toss: Cell<usize>,
    /// Keys that do not go for the room that is made for a change of theirs.
    pub(crate) kept: RefCell<Vec<(Db, u64)>>,
    typical_bytes: TypicalBytes,
    /// The value that has been received for the item that is about to be stored.
    offered: RefCell<Option<Incoming>>,
    hazard_slots: Slots,
    /// Bytes in use at the last maintenance, and how much is committed ahead.
    pub(crate) growth: Cell<(u64, u64)>,
    /// Where expiry had no more time.
    pub(crate) expiry_place: Cell<ExpiryPlace>,
}

impl Session {
    pub(crate) fn claim(engine: Arc<Engine>) -> Option<Session> {
        let slot = engine.allocator().claim(std::process::id())?;
        Some(Session {
            engine,
            slot,
            transaction: RefCell::new(None),
            in_transaction: Cell::new(false),
            waits_for_locks: Cell::new(true),
            vain_searches: Cell::new(0),
            spares_others: Cell::new(false),
            eviction_turn: Cell::new(0),
            eviction_toss: Cell::new(0),
            kept: RefCell::default(),
            typical_bytes: TypicalBytes::default(),
            offered: RefCell::new(None),
            hazard_slots: Slots::default(),
            growth: Cell::new((0, 0)),
            expiry_place: Cell::default(),
        })
    }

    #[inline(always)]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    // ---- reads: no lock, nothing written but statistics ----

    /// Appends the value to `out`, preceded by whatever `head` appends (a RESP length header, a
    /// Memcached VALUE line). `head` may run more than once: `out` is rewound before each run.
    /// `None`: no such key (or due), `out` unchanged. Counts as a use of the key.
    /// Of a key that is no string only `head` is told; see `Found::kind` and [`Session::inspect`].
    #[inline(always)]
    pub fn get(
        &self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        head: impl FnMut(&Found, &mut Vec<u8>),
    ) -> Option<Found> {
        self.get_if(db, key, now, out, |_| true, head)
    }

    /// As `get`; what `is_wanted` does not want is found, and counts as used, but `out` stays as
    /// it was.
    #[inline(always)]
    pub fn get_if(
        &self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        is_wanted: impl Fn(&Found) -> bool,
        mut head: impl FnMut(&Found, &mut Vec<u8>),
    ) -> Option<Found> {
        let start = out.len();
        self.look(db, key, now, |hit| {
            out.truncate(start);
            if let Some((hit, found, int)) = hit
                && is_wanted(found)
            {
                head(found, out);
                if hit.item.head.is_string() {
                    hit.item.copy_value(int, out);
                }
            }
        })
    }

    /// As `get`, for the bytes that `range(found, out) -> (start, end)` asks for only.
    pub fn get_range(
        &self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        mut range: impl FnMut(&Found, &mut Vec<u8>) -> (usize, usize),
    ) -> Option<Found> {
        let begin = out.len();
        self.look(db, key, now, |hit| {
            out.truncate(begin);
            if let Some((hit, found, int)) = hit {
                let (start, end) = range(found, out);
                if hit.item.head.is_string() {
                    hit.item.copy_range(int, start, end, out);
                }
            }
        })
    }

    /// Shows the bytes of a collection to its type's own code, which may run several times and must
    /// put up with bytes that make no sense: only the last run counts. `None`: no such key.
    pub fn inspect(
        &self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        mut visit: impl FnMut(Option<(&Found, Packed<'_>)>),
    ) -> Option<Found> {
        self.look(db, key, now, |hit| {
            visit(hit.map(|(hit, found, _)| (found, Packed::of(&hit.item))));
        })
    }

    /// What there is to know but the bytes; does not count as a use.
    pub fn peek(&self, db: Db, key: &Key<'_>, now: Millis) -> Option<Found> {
        let found = self.read(db, key, |hit| {
            hit.map(|h| (h.item.is_due(now), h.item.found(h.line.meta(h.slot)).0))
        });
        let mut found = match found {
            Some((false, found)) => found,
            Some((true, _)) => return self.meet_due(db, key, now),
            None => return None,
        };
        // The slot has the generation's last bits: an age only beside the shard's own of now.
        let view = self.engine.view();
        let generation = view.shard_of(view.root_of(db), key.hash()).generation();
        found.age = age_of(found.age << 4, generation);
        Some(found)
    }

    /// Counts as a use (TOUCH). False: no such key.
    pub fn touch(&self, db: Db, key: &Key<'_>, now: Millis) -> bool {
        self.look(db, key, now, |_| ()).is_some()
    }

    /// A read that counts as a use. `visit` gets the item unless it is absent or due.
    #[inline(always)]
    fn look(
        &self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        mut visit: impl FnMut(Option<(&Hit<'_>, &Found, i64)>),
    ) -> Option<Found> {
        loop {
            let mut last: Option<Found> = None;
            let mut is_due = false;
            let place = self.read(db, key, |hit| {
                last = None;
                is_due = false;
                let Some(hit) = hit else {
                    visit(None);
                    return None;
                };
                if hit.item.is_due(now) {
                    is_due = true;
                    visit(None);
                    return None;
                }
                let meta = hit.line.meta(hit.slot);
                let (found, int) = hit.item.found(meta);
                visit(Some((hit, &found, int)));
                last = Some(found);
                let is_news = meta & META_FREQUENCY < META_FREQUENCY
                    || hit.item.head.has_ext() && found.last_use_s != (now / 1000) as u32;
                Some(is_news)
            });
            if let Some(is_news) = place {
                if is_news {
                    self.note_use(db, key, now);
                }
                self.count(Counter::Hits, 1);
                return last;
            }
            // Where another value has come meanwhile, `visit` has not seen it.
            if !is_due || self.meet_due(db, key, now).is_none() {
                self.count(Counter::Misses, 1);
                return None;
            }
        }
    }

    /// Notes when an item with flags or a CAS unique was used, unless its shard is busy. Under the
    /// lock: without it the block might be another item by now, whose bytes a store would change.
    #[cold]
    fn note_use(&self, db: Db, key: &Key<'_>, now: Millis) {
        let view = self.view();
        let root = view.root_of(db);
        let shard = view.shard_of(root, key.hash);
        if self.in_transaction() {
            if self.transaction_holds(shard.at) {
                self.write(db, key, now).touch(db, key);
            }
        } else if self.engine.is_open(root) && shard.lock().try_acquire() {
            // Of a root that was never opened no lock keeps the database where it is.
            let mut guard = Guard::adopt(self, shard, now);
            if view.root_of(db) == root {
                guard.touch(db, key);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn read<'e, R>(
        &'e self,
        db: Db,
        key: &Key<'_>,
        mut visit: impl FnMut(Option<&Hit<'e>>) -> R,
    ) -> R {
        // In a transaction its own shards look as if a write were under way, and it is.
        if !self.in_transaction()
            && let Ok(result) = self.view().read(db, key, &mut visit)
        {
            return result;
        }
        let mut result = None;
        self.read_locked(db, key, &mut |hit| result = Some(visit(hit)));
        result.expect("under the lock the key was looked for")
    }

    #[cold]
    fn read_locked<'e>(&'e self, db: Db, key: &Key<'_>, visit: &mut dyn FnMut(Option<&Hit<'e>>)) {
        if !self.in_transaction() {
            self.count(Counter::ContendedReads, 1);
        }
        loop {
            let view = self.view();
            let root = view.root_of(db);
            let shard = view.shard_of(root, key.hash);
            let ours = self.transaction_holds(shard.at);
            if !ours {
                shard.lock().acquire();
            }
            let is_done = match view.probe(db, key) {
                Some((hit, _)) if view.root_of(db) == root => {
                    visit(hit.as_ref());
                    true
                }
                _ => false,
            };
            if !ours {
                shard.lock().release();
            }
            if is_done {
                return;
            }
        }
    }

    /// A reader met an item that is due: it is removed, as Redis does. What is there by then, if
    /// somebody has stored another value.
    #[cold]
    fn meet_due(&self, db: Db, key: &Key<'_>, now: Millis) -> Option<Found> {
        let shard = self.view().shard_of(self.view().root_of(db), key.hash);
        if self.in_transaction() && !self.transaction_holds(shard.at) {
            return None;
        }
        self.write(db, key, now).find(db, key)
    }

    /// Raises `flag` at the next change of the key (also by expiry, FLUSHDB, SWAPDB). True: there is
    /// such a key now. One that is due already is removed first: that it goes is no change later.
    pub fn watch(&self, db: Db, key: &Key<'_>, flag: &Arc<AtomicBool>, now: Millis) -> bool {
        // Under the lock: see `watch.rs`.
        let mut guard = self.write(db, key, now);
        let is_present = guard.has(db, key);
        self.engine.watches().add(db, key.bytes, flag);
        is_present
    }

    pub fn unwatch(&self, db: Db, key: &Key<'_>, flag: &Arc<AtomicBool>) {
        self.engine.watches().remove(db, key.bytes, flag);
    }

    // ---- for the rest of the engine ----

    #[inline(always)]
    pub(crate) fn view(&self) -> View<'_> {
        self.engine.view()
    }

    #[inline(always)]
    pub(crate) fn mem(&self) -> Mem<'_> {
        self.engine.mem()
    }

    #[inline(always)]
    pub(crate) fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    pub(crate) fn set_transaction(&self, held: Option<Several>) -> Option<Several> {
        self.in_transaction.set(held.is_some());
        self.vain_searches.set(0);
        self.transaction.replace(held)
    }

    pub(crate) fn transaction_holds(&self, shard_at: usize) -> bool {
        self.transaction.borrow().as_ref().is_some_and(|held| held.holds(shard_at))
    }

    pub(crate) fn transaction_holds_all(&self) -> bool {
        self.transaction.borrow().as_ref().is_some_and(Several::is_all)
    }

    /// Has a received value at hand for the store to come; what was at hand before.
    pub(crate) fn offer(&self, incoming: Option<Incoming>) -> Option<Incoming> {
        self.offered.replace(incoming)
    }

    /// What is true of the received value at hand; false if there is none.
    pub(crate) fn offered(&self, is: impl FnOnce(&Incoming) -> bool) -> bool {
        self.offered.borrow().as_ref().is_some_and(is)
    }

    pub(crate) fn slot(&self) -> &SessionSlot {
        &self.slot
    }

    pub(crate) fn hazard_slots(&self) -> &Slots {
        &self.hazard_slots
    }

    /// A number that differs from call to call: where eviction looks next.
    pub(crate) fn next_eviction_turn(&self) -> usize {
        let turn = self.eviction_turn.get().wrapping_add(1);
        self.eviction_turn.set(turn);
        turn
    }

    /// True every fourth time: what the random policies toss for an item. It has a counter of its own:
    /// tossed with the turns, which choose the shard, an item fell in every fourth shard alone.
    pub(crate) fn next_eviction_toss(&self) -> bool {
        let toss = self.eviction_toss.get().wrapping_add(1);
        self.eviction_toss.set(toss);
        toss.is_multiple_of(4)
    }
}
