//! What commands ask of the server that runs them.
//!
//! The server implements [`Host`] once (a value for each thread, if it likes). Nothing in it knows
//! a command: names, filters and flags arrive parsed, replies are made by the caller. `me` is the
//! client that runs the command, borrowed, because its state is not shared.

use crate::connection::ClientState;
use crate::redis::list::waiting::Waiting;
use crate::redis::row::Row;
use dolium_engine::{Db, MemoryReport};
use dolium_protocol::resp::Args;

pub trait Host {
    // ---- time and chance (the engine has neither) ----

    /// Microseconds since the Unix epoch, now (TIME).
    fn unix_us(&self) -> u64;
    /// Nanoseconds since a moment that stays the same: for durations.
    fn clock_ns(&self) -> u64;
    fn random(&self) -> u64;

    // ---- access ----

    /// Is there a password for the default user (`requirepass`)?
    fn has_password(&self) -> bool;
    /// Compares in constant time. Without a password every one is right for `default`.
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool;

    // ---- configuration ----

    /// Every parameter with its value as `redis.conf` writes it. They are locked meanwhile: nothing of the
    /// configuration may be asked for by `visit`.
    fn visit_config(&self, visit: &mut dyn FnMut(&'static str, &str));
    /// As `visit_config`, of these names alone, whatever their case, each once and in the same order.
    fn visit_named_config(
        &self,
        names: &mut dyn Iterator<Item = &[u8]>,
        visit: &mut dyn FnMut(&'static str, &str),
    );
    /// Applies all pairs or none. Names come as the client wrote them, in any case. Where `me`
    /// connected from may decide what it may change.
    fn set_config(&self, me: &ClientState, pairs: &[(&[u8], &[u8])]) -> Result<(), ConfigError>;
    /// `proto-max-bulk-len`: the longest string that a command may make.
    fn string_bytes_max(&self) -> usize;
    fn rewrite_config(&self) -> Result<(), RewriteError>;
    /// Zeroes what INFO counts (CONFIG RESETSTAT), the engine's hits and misses included.
    fn reset_statistics(&self);

    // ---- what INFO and MEMORY read ----

    /// The text of INFO for these section names (any case; none: the default ones).
    fn info(&self, me: &ClientState, sections: &[&[u8]]) -> String;
    fn memory(&self) -> ServerMemory;
    /// Has the heap give back what is free in it (MEMORY PURGE).
    fn purge_heap(&self);
    /// The heap's own report (MEMORY MALLOC-STATS). `None`: its allocator has none.
    fn heap_report(&self) -> Option<String>;

    // ---- clients ----

    /// Visits every client, `me` included, in order of id.
    fn clients(&self, me: &ClientState, visit: &mut dyn FnMut(&ClientView));
    /// Closes every client for which `chosen` holds, but `me` (the caller closes itself by
    /// `Flow::Close`). Returns how many.
    fn kill_clients(&self, me: &ClientState, chosen: &dyn Fn(&ClientView) -> bool) -> usize;
    /// CLIENT PAUSE: holds commands back until the time; a longer pause or a wider mode stays.
    fn pause(&self, until_ms: u64, mode: PauseMode);
    /// A pause has begun, and `me` is to be told so with this reply. True: it gets it later, when no command runs
    /// any more that began before. False: there can be none, and it is to be answered now.
    fn confirm_pause(&self, me: &ClientState, reply: &[u8]) -> bool;
    fn unpause(&self);

    // ---- lists and sets ----

    /// A key holds a list that has got elements, or a list has come to it: who waits for it is to be
    /// served once the command, or the transaction that it is part of, is done.
    fn list_grew(&self, db: Db, key: &[u8]);
    /// Enters a client among those who wait. Before that, when everybody who pushes can see that
    /// somebody is about to wait, `once_more` looks again; true: there is no need to wait.
    /// False: it does not wait.
    fn wait_for_list(
        &self,
        me: &ClientState,
        waiting: Waiting,
        once_more: &mut dyn FnMut(&Waiting) -> bool,
    ) -> bool;
    /// Two databases have changed places, and with them their lists.
    fn databases_swapped(&self, a: Db, b: Db);
    /// CLIENT UNBLOCK: ends the wait of a client, as if its time were over or with an error.
    /// False: it does not wait.
    fn unblock(&self, me: &ClientState, client: u64, with_error: bool) -> bool;
    /// `set-max-intset-entries`.
    fn intset_members_max(&self) -> usize;

    // ---- pub/sub ----

    /// Number of clients that will get it.
    fn publish(&self, channel: &[u8], payload: &[u8]) -> usize;
    /// Enters `client` into the server's index of names. `client` keeps its own list.
    fn subscribe(&self, client: u64, kind: Subscription, name: &[u8]);
    fn unsubscribe(&self, client: u64, kind: Subscription, name: &[u8]);
    /// Visits every channel with at least one subscriber (not patterns).
    fn channels(&self, visit: &mut dyn FnMut(&[u8]));
    fn channel_subscribers(&self, channel: &[u8]) -> usize;
    /// Number of different patterns that clients are subscribed to.
    fn pattern_count(&self) -> usize;

    // ---- what is counted ----

    /// The thread that runs the commands of this client, for [`count_executed`](Host::count_executed):
    /// asked once for all that EXEC runs.
    fn thread_of(&self, me: &ClientState) -> usize;
    /// EXEC has run a command: it counts, and may be slow, as one that came by itself. Called while
    /// locks of the store are held.
    fn count_executed(&self, thread: usize, me: &ClientState, command: &Executed<'_>);

    // ---- slow log and latency ----

    /// Newest first, at most `count`.
    fn slowlog(&self, count: usize) -> Vec<SlowEntry>;
    fn slowlog_len(&self) -> usize;
    fn reset_slowlog(&self);
    /// The events of the latency monitor with their newest spike.
    fn latency_latest(&self) -> Vec<LatencyEvent>;
    /// (Unix seconds, milliseconds), oldest first.
    fn latency_history(&self, event: &[u8]) -> Vec<(u64, u64)>;
    /// Forgets the named events (all if none are named); how many there were.
    fn reset_latency(&self, events: &[&[u8]]) -> usize;
    /// Calls of a command and its cumulative histogram: (upper bound in microseconds, calls up to
    /// it). `None`: never called.
    fn latency_histogram(&self, row: &'static Row) -> Option<(u64, Vec<(u64, u64)>)>;

    // ---- the end ----

    /// SHUTDOWN. `Ok`: it has begun, and no reply is sent. `Err`: it could not, with the reason.
    fn shutdown(&self, how: Shutdown) -> Result<(), String>;
    /// SHUTDOWN ABORT. False: none was in progress.
    fn abort_shutdown(&self) -> bool;
}

/// Why CONFIG SET changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    Unknown {
        name: Vec<u8>,
    },
    /// `reason` is the sentence after the dash, such as "argument must be 'yes' or 'no'".
    Refused {
        name: Vec<u8>,
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewriteError {
    NoFile,
    Io(String),
}

/// One client as others see it: the fields of a line of CLIENT LIST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientView<'a> {
    pub id: u64,
    pub addr: &'a str,
    pub laddr: &'a str,
    pub fd: i32,
    pub name: &'a [u8],
    pub lib_name: &'a [u8],
    pub lib_ver: &'a [u8],
    pub user: &'a [u8],
    pub age_s: u64,
    pub idle_s: u64,
    /// Letters as in Redis: `N` none, `P` pub/sub, `x` in MULTI, `d` dirty, `e` no-evict, ...
    pub flags: &'a str,
    pub db: u16,
    pub channels: usize,
    pub patterns: usize,
    /// Commands queued by MULTI, or -1 outside of it.
    pub multi: i64,
    pub watch: usize,
    /// Bytes received and not yet consumed; of the client that asks, its running request is part.
    pub query_buffer_bytes: usize,
    pub query_buffer_free: usize,
    pub argument_bytes: usize,
    pub multi_bytes: usize,
    pub reply_buffer_bytes: usize,
    pub reply_buffer_peak: usize,
    pub output_buffer_bytes: usize,
    pub output_list_len: usize,
    pub output_list_bytes: usize,
    pub total_bytes: usize,
    /// Readiness the event loop waits for: "r", "w" or "rw".
    pub events: &'a str,
    /// Full name of the last command (`client|list`), or "NULL".
    pub command: &'a str,
    pub resp: u8,
    pub kind: ClientKind,
}

/// CLIENT LIST TYPE and CLIENT KILL TYPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    Normal,
    PubSub,
    Master,
    Replica,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseMode {
    /// Only commands that may write wait.
    Write,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subscription {
    Channel,
    Pattern,
}

/// A command that EXEC ran.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'a> {
    pub row: &'static Row,
    pub args: Args<'a>,
    pub ns: u64,
    /// Its reply, if that is an error.
    pub error: Option<&'a [u8]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowEntry {
    pub id: u64,
    pub unix_s: u64,
    pub duration_us: u64,
    /// Already shortened as Redis does (32 arguments of 128 bytes), and without passwords; see
    /// `redis::slow_arguments`.
    pub arguments: Vec<Vec<u8>>,
    pub addr: String,
    pub name: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyEvent {
    pub name: String,
    pub unix_s: u64,
    pub latest_ms: u64,
    pub max_ms: u64,
}

/// Memory outside of the arena, for MEMORY STATS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerMemory {
    pub resident: u64,
    pub peak: u64,
    /// What the process used before it held any data.
    pub startup: u64,
    pub client_buffers: u64,
    pub heap: HeapUsage,
}

/// Bytes of the heap, where everything but the data lives; zeros if its allocator tells nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapUsage {
    pub allocated: u64,
    /// Of the pages that hold something allocated.
    pub active: u64,
    /// With the pages that are free and were not given back, and with what describes them.
    pub resident: u64,
}

impl HeapUsage {
    /// The heap and the arena together: what Redis' `allocator` fields speak of, because its data
    /// live on its heap.
    pub fn with_arena(&self, arena: &MemoryReport) -> HeapUsage {
        HeapUsage {
            allocated: self.allocated + arena.live,
            active: self.active + arena.committed,
            resident: self.resident + arena.committed,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shutdown {
    /// `None`: as the configuration says (save if save points are set).
    pub save: Option<bool>,
    pub now: bool,
    pub force: bool,
}
