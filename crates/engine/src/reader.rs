//! A reader of somebody else's arena: an attached process.
//!
//! It has a read-only mapping and goes a shorter way than the server's GET (`index/trail.rs`), and that one where
//! something is not plain. It needs nothing from
//! the server: not a lock, not a message, not even that it runs. What it cannot do is note that
//! it used an item, remove what is due, or insist: against writers that win a thousand times in a
//! row it answers [`Contended`], and its caller asks the server.

use crate::arena::header::{DATABASES_AT, HASH_SEED_AT, SHARD_COUNT_AT};
use crate::arena::layout::{SHARDS_AT, SHARDS_MAX};
use crate::arena::{ArenaError, ArenaView, Mem};
use crate::engine::ROOTS_AT;
use crate::hash::Hasher;
use crate::index::batch::BATCH_KEYS;
use crate::index::read::{Contended, View};
use crate::index::together::Batch;
use crate::index::typical::TypicalBytes;
use crate::scan::{Cursor, Place, visit_places};
use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::atomics::spin_turn;
use crate::verbs::*;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// Attempts to read one line of a scan.
const LINE_ATTEMPTS_MAX: u32 = 1000;

/// What became of a read of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Its length in bytes.
    Value(usize),
    NoKey,
    /// There is such a key, but it is no string.
    OtherKind,
}

/// An attached arena. Any number of threads may share one.
#[derive(Debug)]
pub struct Reader {
    arena: ArenaView,
    hasher: Hasher,
    shard_bits: u32,
    databases: u16,
    /// Of the items of batches, and of those that were read one by one.
    typical_bytes: TypicalBytes,
    typical_item: TypicalBytes,
}

impl Reader {
    /// Maps the arena behind a descriptor that a server handed over.
    pub fn open(fd: OwnedFd) -> Result<Reader, ArenaError> {
        let arena = ArenaView::open(fd)?;
        let mem = Mem::new(&arena);
        let seed = [0, 8].map(|at| mem.u64_at(HASH_SEED_AT as usize + at).load(Relaxed));
        let shards = mem.u32_at(SHARD_COUNT_AT as usize).load(Relaxed);
        let databases = mem.u32_at(DATABASES_AT as usize).load(Relaxed);
        let sane = shards.is_power_of_two() && (2..=SHARDS_MAX).contains(&shards);
        if !sane || databases == 0 || databases > u32::from(crate::limits::DATABASES_MAX) {
            return Err(ArenaError::Foreign("this arena's header is damaged"));
        }
        Ok(Reader {
            hasher: Hasher::new(seed),
            shard_bits: shards.trailing_zeros(),
            databases: databases as u16,
            typical_bytes: TypicalBytes::default(),
            typical_item: TypicalBytes::default(),
            arena,
        })
    }

    /// The mapped words, for what lies beside the keys (counters, histograms).
    pub fn arena(&self) -> &ArenaView {
        &self.arena
    }

    pub fn databases(&self) -> u16 {
        self.databases
    }

    #[inline(always)]
    pub fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: self.hasher.hash(bytes) }
    }

    /// Number of keys, due ones that nobody has met yet included.
    pub fn len(&self, db: Db) -> u64 {
        let view = self.view();
        let root = view.root_of(db);
        (0..view.shard_count()).map(|n| view.shard_at(root, n).items()).sum()
    }

    pub fn is_empty(&self, db: Db) -> bool {
        self.len(db) == 0
    }

    /// As [`crate::Session::get`], but nobody notices the use. After [`Contended`] `out` is as it was.
    #[inline(always)]
    pub fn get(
        &self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        mut head: impl FnMut(&Found, &mut Vec<u8>),
    ) -> Result<Option<Found>, Contended> {
        let start = out.len();
        let read = self.view().read(db, key, |hit| {
            out.truncate(start);
            let hit = hit.filter(|hit| !hit.item.is_due(now))?;
            let (found, int) = hit.item.found(hit.line.meta(hit.slot));
            head(&found, out);
            if hit.item.head.is_string() {
                hit.item.copy_value(int, out);
            }
            Some(found)
        });
        read.inspect_err(|_| out.truncate(start))
    }

    /// Appends the value of a string, or nothing. The shortest way: `now` is asked only of items with
    /// a deadline, and nothing but the bytes is looked at.
    #[inline(always)]
    pub fn copy(
        &self,
        db: Db,
        key: &Key<'_>,
        now: impl Fn() -> Millis,
        out: &mut Vec<u8>,
    ) -> Result<Copied, Contended> {
        let start = out.len();
        let read = self.view().read_plain(db, key, &self.typical_item, |item| {
            item.copy_value(0, out);
            item.head.value_len
        });
        if let Some(len) = read {
            return Ok(Copied::Value(len));
        }
        out.truncate(start);
        self.copy_any(db, key, now, out)
    }

    /// As `copy`, the long way.
    #[inline(never)]
    fn copy_any(
        &self,
        db: Db,
        key: &Key<'_>,
        now: impl Fn() -> Millis,
        out: &mut Vec<u8>,
    ) -> Result<Copied, Contended> {
        let start = out.len();
        let read = self.view().read_string(db, key, now, |item, int| {
            out.truncate(start);
            item.copy_value(int, out);
            out.len() - start
        });
        if !matches!(read, Ok(Copied::Value(_))) {
            out.truncate(start);
        }
        read
    }

    /// As [`Reader::copy`], to the beginning of `room`: a value that is longer is not copied, but its
    /// length is told. Whatever the outcome, an attempt that did not count may have written anything
    /// to all of `room`.
    #[inline(always)]
    pub fn copy_to(
        &self,
        db: Db,
        key: &Key<'_>,
        now: impl Fn() -> Millis,
        room: &mut [MaybeUninit<u8>],
    ) -> Result<Copied, Contended> {
        let read =
            self.view().read_plain(db, key, &self.typical_item, |item| item.copy_value_to(0, room));
        if let Some(len) = read {
            return Ok(Copied::Value(len));
        }
        self.copy_any_to(db, key, now, room)
    }

    /// As `copy_to`, the long way.
    #[inline(never)]
    fn copy_any_to(
        &self,
        db: Db,
        key: &Key<'_>,
        now: impl Fn() -> Millis,
        room: &mut [MaybeUninit<u8>],
    ) -> Result<Copied, Contended> {
        self.view().read_string(db, key, now, |item, int| item.copy_value_to(int, room))
    }

    /// As [`crate::Session::get_range`]. After [`Contended`] `out` is as it was.
    pub fn get_range(
        &self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        mut range: impl FnMut(&Found, &mut Vec<u8>) -> (usize, usize),
    ) -> Result<Option<Found>, Contended> {
        let begin = out.len();
        let read = self.view().read(db, key, |hit| {
            out.truncate(begin);
            let hit = hit.filter(|hit| !hit.item.is_due(now))?;
            let (found, int) = hit.item.found(hit.line.meta(hit.slot));
            let (start, end) = range(&found, out);
            if hit.item.head.is_string() {
                hit.item.copy_range(int, start, end, out);
            }
            Some(found)
        });
        read.inspect_err(|_| out.truncate(begin))
    }

    /// Most keys of one [`Reader::get_batch`].
    pub const BATCH_KEYS: usize = BATCH_KEYS;

    /// Reads up to [`Reader::BATCH_KEYS`] keys, whose lines and items are fetched all at once, and
    /// hands each value to `visit` in order; one that is not short goes through `long`. A key that is no string
    /// has none. `now` is asked only of items with a deadline.
    #[inline]
    pub fn get_batch<K: AsRef<[u8]>>(
        &self,
        db: Db,
        keys: &[K],
        now: impl Fn() -> Millis,
        long: &mut Vec<u8>,
        visit: impl FnMut(usize, Result<Option<&[u8]>, Contended>),
    ) {
        let batch = Batch { db, hasher: &self.hasher, typical: &self.typical_bytes };
        self.view().read_together(batch, keys, now, long, visit);
    }

    /// What there is to know but the bytes.
    #[inline]
    pub fn peek(&self, db: Db, key: &Key<'_>, now: Millis) -> Result<Option<Found>, Contended> {
        self.view().read(db, key, |hit| {
            let hit = hit.filter(|hit| !hit.item.is_due(now))?;
            Some(hit.item.found(hit.line.meta(hit.slot)).0)
        })
    }

    /// As [`crate::Session::scan`]: a key present during the whole iteration is visited at least
    /// once. The cursors of both are the same.
    pub fn scan(
        &self,
        db: Db,
        cursor: u64,
        count: usize,
        now: Millis,
        mut visit: impl FnMut(&[u8], &Found),
    ) -> Result<u64, Contended> {
        let view = self.view();
        let mut place = Place::default();
        let keep: &mut dyn FnMut(&[u8]) -> bool = &mut |_| true;
        let next = visit_places(Cursor::decode(cursor), count, view.shard_count(), |at, homes| {
            for attempt in 0..LINE_ATTEMPTS_MAX {
                let homes = homes.after(attempt);
                let hasher = &self.hasher;
                if let Some(seen) = view.read_homes(db, at, homes, now, hasher, None, &mut place) {
                    place.visit(keep, &mut |key, found| {
                        if let Some(found) = found {
                            visit(key, found);
                        }
                    });
                    return Ok(seen);
                }
                spin_turn();
            }
            Err(Contended)
        })?;
        Ok(next.map_or(0, Cursor::encode))
    }

    #[inline(always)]
    fn view(&self) -> View<'_> {
        View {
            words: Mem::new(&self.arena),
            roots_at: ROOTS_AT,
            shards_at: SHARDS_AT as usize,
            shard_bits: self.shard_bits,
            shards_stride: SHARDS_MAX as usize,
        }
    }
}
