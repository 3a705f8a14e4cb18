//! The engine and its verbs.
use crate::verbs::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How to create an arena.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The most the arena may ever commit; address space is reserved for it at once.
    pub max_bytes: u64,
    /// Power of two, 16 to 1024.
    pub shards: u32,
    pub databases: u16,
    pub hash_seed: [u64; 2],
    pub policy: Policy,
    /// Bytes of the change stream's ring, committed when it gets its first reader.
    pub journal_bytes: u64,
}

#[derive(Debug)]
pub struct Engine {}
#[derive(Debug)]
pub enum CreateError {
    Arena(std::io::Error),
    Options(&'static str),
}

/// One thread's handle on the engine: its magazines of free blocks and its counters.
#[derive(Debug)]
pub struct Session {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    pub max: u64,
    pub committed: u64,
    /// Bytes in blocks in use, index included.
    pub live: u64,
    pub index: u64,
    pub items: u64,
    pub fixed: u64,
}

/// The shards of one command's keys, locked. Every change goes through one of these.
#[derive(Debug)]
pub struct Guard<'s> {
    _s: &'s Session,
}

/// What maintenance did in one call, so that the caller can pace itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub expired: u64,
    pub evicted: u64,
    pub moved_bytes: u64,
    pub committed_bytes: u64,
    pub collapsed_bytes: u64,
    /// Call again at once: there is more of it.
    pub more: bool,
}

impl Engine {
    pub fn create(_o: EngineOptions) -> Result<Arc<Engine>, CreateError> {
        todo!()
    }
    /// A key with its hash.
    pub fn key<'a>(&self, _bytes: &'a [u8]) -> Key<'a> {
        todo!()
    }
    /// A handle for the calling thread; at most `limits::SESSIONS_MAX` at once (None beyond).
    pub fn session(self: &Arc<Engine>) -> Option<Session> {
        todo!()
    }
    pub fn databases(&self) -> u16 {
        todo!()
    }
    /// Number of keys, expired ones that nobody has met yet included (as in Redis).
    pub fn len(&self, _db: Db) -> u64 {
        todo!()
    }
    /// Number of keys with a TTL.
    pub fn volatile_len(&self, _db: Db) -> u64 {
        todo!()
    }
    pub fn memory(&self) -> MemoryReport {
        todo!()
    }
    /// The limit within `EngineOptions::max_bytes`; 0 = that maximum.
    pub fn set_max_memory(&self, _bytes: u64) {
        todo!()
    }
    pub fn set_policy(&self, _p: Policy) {
        todo!()
    }
    /// A read-only descriptor of the arena for a process that attaches.
    pub fn attach_fd(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        todo!()
    }
    /// A reader of all changes from now on, with values. While one exists the ring is kept.
    pub fn changes(self: &Arc<Engine>, _delivery: Delivery) -> ChangeReader {
        todo!()
    }
    /// Walks the arena and checks every numbered invariant. Locks everything meanwhile.
    pub fn verify(&self) -> Result<(), String> {
        todo!()
    }
}

/// What happens when a reader of changes falls behind by the whole ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Writers go on; the reader is told how many bytes it lost.
    Lossy,
    /// Writers wait for this reader.
    Lossless,
}

/// One change, as it was made under the locks of its shards. `position` orders all changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub position: u64,
    pub db: Db,
    pub event: Event,
    pub key: Vec<u8>,
    pub effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Put { value: Vec<u8>, deadline: Millis, flags: u32, raw: bool },
    Deadline(Millis),
    Remove,
    FlushDb,
    SwapDb(Db),
}

#[derive(Debug)]
pub struct ChangeReader {}
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Change(Change),
    Empty,
    Lost(u64),
}
impl ChangeReader {
    pub fn next(&mut self) -> Next {
        todo!()
    }
}

impl Session {
    pub fn engine(&self) -> &Arc<Engine> {
        todo!()
    }

    // ---- reads: no lock, nothing written but statistics ----

    /// Appends the value to `out`, preceded by whatever `head` appends (a RESP length header, a
    /// Memcached VALUE line). `head` may run more than once: `out` is rewound before each run.
    /// `None`: no such key (or due), `out` unchanged. Counts as a use of the key.
    pub fn get(
        &self,
        _db: Db,
        _key: &Key,
        _now: Millis,
        _out: &mut Vec<u8>,
        _head: impl FnMut(&Found, &mut Vec<u8>),
    ) -> Option<Found> {
        todo!()
    }
    /// As `get`, for the bytes `range(len) -> (start, end)` only.
    pub fn get_range(
        &self,
        _db: Db,
        _key: &Key,
        _now: Millis,
        _out: &mut Vec<u8>,
        _range: impl FnMut(&Found, &mut Vec<u8>) -> (usize, usize),
    ) -> Option<Found> {
        todo!()
    }
    /// Several keys as of one moment. `head(i, found, out)` is called for every key, present or
    /// not, before its value is appended; all of it may be repeated.
    pub fn get_many(
        &self,
        _db: Db,
        _keys: &[Key],
        _now: Millis,
        _out: &mut Vec<u8>,
        _head: impl FnMut(usize, Option<&Found>, &mut Vec<u8>),
    ) {
        todo!()
    }
    /// What there is to know but the bytes; does not count as a use.
    pub fn peek(&self, _db: Db, _key: &Key, _now: Millis) -> Option<Found> {
        todo!()
    }
    /// Counts as a use (TOUCH). False: no such key.
    pub fn touch(&self, _db: Db, _key: &Key, _now: Millis) -> bool {
        todo!()
    }

    /// First pass of a batch: loads of the directory, prefetch of the key's index line.
    pub fn prefetch_line(&self, _db: Db, _hash: u64) {
        todo!()
    }
    /// Second pass: tags matched, prefetch of the items they name.
    pub fn prefetch_item(&self, _db: Db, _hash: u64) {
        todo!()
    }

    /// One step of an iteration over a database. Start with cursor 0; a returned 0 is the end.
    /// A key present during the whole iteration is visited at least once.
    pub fn scan(
        &self,
        _db: Db,
        _cursor: u64,
        _count: usize,
        _now: Millis,
        _visit: impl FnMut(&[u8], &Found),
    ) -> u64 {
        todo!()
    }
    /// Appends a key chosen by `random` to `out`. False: the database is empty.
    pub fn random_key(&self, _db: Db, _random: u64, _now: Millis, _out: &mut Vec<u8>) -> bool {
        todo!()
    }

    // ---- changes ----

    /// Locks the shard of one key.
    pub fn write(&self, _db: Db, _key: &Key, _now: Millis) -> Guard<'_> {
        todo!()
    }
    /// Locks the shards of several keys, in order.
    pub fn write_many(&self, _keys: &[(Db, u64)], _now: Millis) -> Guard<'_> {
        todo!()
    }
    /// Locks every shard of every database (scripts with undeclared keys, SWAPDB).
    pub fn write_all(&self, _now: Millis) -> Guard<'_> {
        todo!()
    }
    /// Makes room for about `bytes` before locks are taken: evicts as the policy says.
    pub fn make_room(&self, _bytes: usize, _now: Millis) -> Result<(), StoreError> {
        todo!()
    }
    /// A transaction: locks these shards (or all with `None`) until `end_transaction`; guards
    /// taken meanwhile on this session lock nothing of their own and must be of these keys.
    pub fn begin_transaction(&self, _keys: Option<&[(Db, u64)]>, _now: Millis) {
        todo!()
    }
    pub fn end_transaction(&self) {
        todo!()
    }

    /// Raises `flag` at the next change of the key (also by expiry, FLUSHDB, SWAPDB).
    pub fn watch(&self, _db: Db, _key: &Key, _flag: &Arc<AtomicBool>) {
        todo!()
    }
    pub fn unwatch(&self, _db: Db, _key: &Key, _flag: &Arc<AtomicBool>) {
        todo!()
    }

    /// Expiry, eviction ahead of need, commit ahead of need, compaction, huge pages: about
    /// `budget_us` of it, measured by `elapsed_us` (the engine has no clock).
    pub fn maintain(&self, _now: Millis, _budget_us: u64, _elapsed_us: &dyn Fn() -> u64) -> Work {
        todo!()
    }
}

impl Guard<'_> {
    /// The item of a key. One that is due is removed here (event `Expired`) and not found.
    pub fn find(&mut self, _db: Db, _key: &Key) -> Option<Found> {
        todo!()
    }
    /// Appends the value of a key just found; false if there is none.
    pub fn value(&mut self, _db: Db, _key: &Key, _out: &mut Vec<u8>) -> bool {
        todo!()
    }
    /// The integer of a key stored as `Encoding::Int`.
    pub fn int(&mut self, _db: Db, _key: &Key) -> Option<i64> {
        todo!()
    }
    pub fn put(&mut self, _db: Db, _key: &Key, _put: &Put<'_>) -> Result<Stored, StoreError> {
        todo!()
    }
    /// True: there was such a key.
    pub fn remove(&mut self, _db: Db, _key: &Key, _event: Event) -> bool {
        todo!()
    }
    pub fn set_deadline(
        &mut self,
        _db: Db,
        _key: &Key,
        _deadline: Millis,
        _event: Event,
    ) -> Result<bool, StoreError> {
        todo!()
    }
    /// The CAS unique of a key, made now if it has none. `Ok(0)`: no such key.
    pub fn unique(&mut self, _db: Db, _key: &Key) -> Result<u64, StoreError> {
        todo!()
    }
    /// Needs all shards of the database (`write_all`). O(shards): the memory is freed by `maintain`.
    pub fn flush(&mut self, _db: Db) {
        todo!()
    }
    /// Needs `write_all`.
    pub fn swap(&mut self, _a: Db, _b: Db) {
        todo!()
    }
}
