//! The engine: one arena, its index, its journal, and what the server's process keeps beside it.

mod changes;
mod options;
mod roots;

pub use options::{CreateError, EngineOptions, MemoryReport};

use crate::alloc::{Allocator, PageKind};
use crate::arena::header::ENGINE_WORDS_AT;
use crate::arena::layout::{SHARDS_AT, SHARDS_MAX};
use crate::arena::{Arena, ArenaOptions, Mem};
use crate::counters::Statistics;
use crate::cut::CutState;
use crate::departure::Hook;
use crate::ghosts::Ghosts;
use crate::graveyard::Buried;
use crate::hash::Hasher;
use crate::incoming::Expected;
use crate::index::read::View;
use crate::journal::{Journal, Ring};
use crate::large::Order;
use crate::lease::Leases;
use crate::limits::DATABASES_MAX;
use crate::session::Session;
use crate::summons::Summons;
use crate::sync::asymmetric;
use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::atomics::{AtomicU32, AtomicU64};
use crate::sync::blocking::Mutex;
use crate::trial::Trial;
use crate::verbs::*;
use crate::watch::Watches;
use std::sync::Arc;

/// Where the engine's own words lie in the arena's header.
pub(crate) const ROOTS_AT: usize = ENGINE_WORDS_AT as usize;
pub(crate) const JOURNAL_HEAD_AT: usize = ENGINE_WORDS_AT as usize + 256;

/// Fewest shards, and least bytes of the journal's ring. Models want few locks and short ways.
const SHARDS_MIN: u32 = if cfg!(shuttle) { 2 } else { 16 };
const JOURNAL_BYTES_MIN: u64 = if cfg!(any(shuttle, miri)) { 4096 } else { 1 << 20 };

/// One store.
#[derive(Debug)]
pub struct Engine {
    allocator: Allocator,
    hasher: Hasher,
    shard_bits: u32,
    databases: u16,
    policy: AtomicU32,
    /// One bit for each root whose shards have been committed.
    opened: AtomicU64,
    /// The two words of a lock that is held while a root is opened, and while everything is locked: no mutex,
    /// since whoever takes it and gives it back are different functions of a guard.
    opening: [AtomicU32; 2],
    /// Where the sequences of CAS uniques begin in a root that is opened, see `guard/uniques.rs`.
    sequence_floor: AtomicU64,
    /// How many segments there have been.
    segments: AtomicU32,
    /// Whether the ring has its memory.
    journal_committed: Mutex<bool>,
    journal: Journal,
    watches: Watches,
    cuts: CutState,
    graveyard: Mutex<Vec<Buried>>,
    leases: Leases,
    expected: Expected,
    ghosts: Ghosts,
    trial: Trial,
    large: Order,
    departures: Hook,
    summons: Summons,
    /// Items with less time left than this are not evicted; 0: there are none.
    spared_ms: AtomicU64,
    moves_above: AtomicU64,
    /// Where the counters stood at the last CONFIG RESETSTAT.
    statistics_reset_at: Mutex<Statistics>,
}

impl Engine {
    pub fn create(options: EngineOptions) -> Result<Arc<Engine>, CreateError> {
        if !options.shards.is_power_of_two() || !(SHARDS_MIN..=SHARDS_MAX).contains(&options.shards)
        {
            return Err(CreateError::Options("the number of shards is a power of two, 16 to 1024"));
        }
        if options.databases == 0 || options.databases > DATABASES_MAX {
            return Err(CreateError::Options("the number of databases is 1 to 64"));
        }
        if options.journal_bytes < JOURNAL_BYTES_MIN {
            return Err(CreateError::Options("the journal's ring takes 1 MiB at least"));
        }
        // While there are few threads. Where the system refuses, who waits for a lock looks again oftener.
        asymmetric::prepare();
        let arena = Arena::create(&ArenaOptions {
            max_bytes: options.max_bytes,
            shards: options.shards,
            databases: u32::from(options.databases),
            hash_seed: options.hash_seed,
            uuid: [options.hash_seed[0] ^ 0x5555_5555_5555_5555, options.hash_seed[1]],
            journal_bytes: options.journal_bytes,
        })
        .map_err(CreateError::Arena)?;
        let arena = Arc::new(arena);
        let ring = Ring {
            at: arena.layout().journal_at as usize,
            bytes: arena.layout().journal_bytes as usize,
            head_at: JOURNAL_HEAD_AT,
            secret: options.hash_seed[0].rotate_left(17) ^ options.hash_seed[1],
        };
        for db in 0..u32::from(DATABASES_MAX) {
            arena.u32_at((ROOTS_AT + 4 * db as usize) as u64).store(db, Relaxed);
        }
        let engine = Arc::new(Engine {
            allocator: Allocator::new(arena.clone()),
            hasher: Hasher::new(options.hash_seed),
            shard_bits: options.shards.trailing_zeros(),
            databases: options.databases,
            policy: AtomicU32::new(options.policy as u32),
            opened: AtomicU64::new(0),
            sequence_floor: AtomicU64::new(0),
            segments: AtomicU32::new(0),
            opening: [AtomicU32::new(0), AtomicU32::new(0)],
            journal_committed: Mutex::default(),
            journal: Journal::new(ring),
            watches: Watches::default(),
            cuts: CutState::default(),
            graveyard: Mutex::default(),
            leases: Leases::default(),
            expected: Expected::default(),
            ghosts: Ghosts::default(),
            trial: Trial::default(),
            large: Order::default(),
            departures: Hook::default(),
            summons: Summons::default(),
            spared_ms: AtomicU64::new(0),
            moves_above: AtomicU64::new(u64::MAX),
            statistics_reset_at: Mutex::default(),
        });
        Ok(engine)
    }

    /// A key with its hash.
    #[inline(always)]
    pub fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: self.hasher.hash(bytes) }
    }

    /// A handle for the calling thread; `None` if `limits::SESSIONS_MAX` are in use.
    pub fn session(self: &Arc<Engine>) -> Option<Session> {
        Session::claim(self.clone())
    }

    pub fn databases(&self) -> u16 {
        self.databases
    }

    /// Number of keys, due ones that nobody has met yet included (as in Redis).
    pub fn len(&self, db: Db) -> u64 {
        self.sum_of_shards(db, |shard| shard.items())
    }

    /// Number of keys with a TTL.
    pub fn volatile_len(&self, db: Db) -> u64 {
        self.sum_of_shards(db, |shard| shard.ttl_items())
    }

    fn sum_of_shards(&self, db: Db, of: impl Fn(crate::index::shard::Shard<'_>) -> u64) -> u64 {
        let root = self.view().root_of(db);
        if !self.is_open(root) {
            return 0;
        }
        (0..self.view().shard_count()).map(|n| of(self.view().shard_at(root, n))).sum()
    }

    /// Number of keys in all databases.
    pub fn item_count(&self) -> u64 {
        (0..self.databases).map(|db| self.len(Db(db))).sum()
    }

    pub fn memory(&self) -> MemoryReport {
        let usage = self.allocator.usage();
        let pages = usage.classes.iter().filter(|class| class.kind == PageKind::Item);
        let item_pages = usage.large_bytes + pages.map(|class| class.page_bytes()).sum::<u64>();
        MemoryReport {
            max: self.arena().limit(),
            committed: self.arena().committed(),
            live: usage.live_bytes,
            index: usage.index_bytes,
            items: self.item_count(),
            item_pages,
        }
    }

    /// The limit within `EngineOptions::max_bytes`; 0 = that maximum.
    pub fn set_max_memory(&self, bytes: u64) {
        self.arena().set_limit(if bytes == 0 { u64::MAX } else { bytes });
    }

    pub fn policy(&self) -> Policy {
        Policy::NAMES[self.policy.load(Relaxed) as usize].1
    }

    pub fn set_policy(&self, policy: Policy) {
        self.policy.store(policy as u32, Relaxed);
    }

    /// Items with less than this left to live are not evicted: they go by themselves soon.
    pub fn spare_short_lived(&self, ms: u64) {
        self.spared_ms.store(ms, Relaxed);
    }

    /// Has compaction count the items above this size that it moves.
    pub fn count_moves_above(&self, bytes: u64) {
        self.moves_above.store(bytes, Relaxed);
    }

    pub(crate) fn moves_counted_above(&self) -> u64 {
        self.moves_above.load(Relaxed)
    }

    /// Committed bytes that no block can lie in: headers, sessions' slots, descriptors.
    pub fn fixed_bytes(&self) -> u64 {
        self.allocator.usage().fixed_bytes()
    }

    /// A read-only descriptor of the arena for a process that attaches.
    pub fn attach_fd(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        self.arena().read_only_fd()
    }

    // ---- for the rest of the engine ----

    #[inline(always)]
    pub(crate) fn mem(&self) -> Mem<'_> {
        Mem::new(self.arena())
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> View<'_> {
        View {
            words: self.mem(),
            roots_at: ROOTS_AT,
            shards_at: SHARDS_AT as usize,
            shard_bits: self.shard_bits,
            shards_stride: SHARDS_MAX as usize,
        }
    }

    #[inline(always)]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash(key)
    }

    pub(crate) fn arena(&self) -> &Arena {
        self.allocator.arena()
    }

    pub(crate) fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(crate) fn watches(&self) -> &Watches {
        &self.watches
    }

    /// Whether anybody wants to know of changes: a reader of the journal, or a WATCH.
    #[inline(always)]
    pub(crate) fn is_heard(&self, event: Event) -> bool {
        self.journal.is_active() || event != Event::Quiet && self.watches.is_any()
    }

    pub(crate) fn cut_state(&self) -> &CutState {
        &self.cuts
    }

    pub(crate) fn graveyard(&self) -> &Mutex<Vec<Buried>> {
        &self.graveyard
    }

    pub(crate) fn expected(&self) -> &Expected {
        &self.expected
    }

    pub(crate) fn leases(&self) -> &Leases {
        &self.leases
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    pub(crate) fn large(&self) -> &Order {
        &self.large
    }

    pub(crate) fn departures(&self) -> &Hook {
        &self.departures
    }

    pub(crate) fn summons(&self) -> &Summons {
        &self.summons
    }

    /// Eviction leaves an item with this deadline alone.
    pub(crate) fn is_spared(&self, deadline: Millis, now: Millis) -> bool {
        let spared = self.spared_ms.load(Relaxed);
        spared != 0 && deadline != NEVER && deadline > now && deadline - now <= spared
    }

    pub(crate) fn ghosts(&self) -> &Ghosts {
        &self.ghosts
    }

    pub(crate) fn trial(&self) -> &Trial {
        &self.trial
    }

    pub(crate) fn statistics_reset_at(&self) -> &Mutex<Statistics> {
        &self.statistics_reset_at
    }
}
