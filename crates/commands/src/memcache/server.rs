//! What Memcached's commands ask of the server around them, and the numbers that it tells them: all that they have
//! to do with it.

use super::census::Census;
use super::classes::CLASSES_MAX;
use super::details::Details;
use super::settings::Settings;
use super::tally::Totals;
use dolium_engine::{Db, Millis, Session};
use std::sync::Arc;

/// What Memcached commands ask of the server. It has no more to do with a command than these.
pub trait Server {
    /// Is this the password of the user? In constant time.
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool;
    /// Seconds since the start.
    fn uptime_s(&self) -> u64;
    /// Most memory that was ever in pages.
    fn pages_bytes(&self) -> u64;
    /// Numbers for `stats`.
    fn process(&self) -> Process;
    /// The tallies of all threads, added up.
    fn totals(&self) -> Totals;
    /// Zeroes every tally (`stats reset`).
    fn reset_statistics(&self);
    /// What Memcached's options and commands have set.
    fn settings(&self) -> &Settings;
    /// The first lines of `stats settings`: what the server's own configuration says.
    fn configured(&self) -> Vec<(&'static str, String)>;
    /// `verbosity`.
    fn set_verbosity(&self, level: u32);
    /// Longest value of an item, which appending must not get past either.
    fn value_bytes_max(&self) -> usize;
    /// `cache_memlimit`. `Err`: a sentence saying why not.
    fn set_max_memory(&self, bytes: u64) -> Result<(), String>;
    /// Flush the database at a time to come (`flush_all 60`), instead of any time told before for
    /// it; `None`: forget that.
    fn schedule_flush(&self, db: Db, at: Option<Millis>);
    /// How the items spread over Memcached's classes; it may be some moments old, of a large store some seconds.
    fn census(&self, session: &Session, db: Db, now: Millis) -> Arc<Census>;
    /// What expiry and eviction have taken from each class.
    fn departures(&self) -> [Departed; CLASSES_MAX + 1];
    /// Why a key that is not there is not, if it went lately.
    fn departed_lately(&self, hash: u64) -> Option<Reason>;
    /// Remembers that a key is not there, and why.
    fn note_departure(&self, hash: u64, reason: Reason);
    /// So many items were taken away by a `flush_all`.
    fn note_flushed(&self, items: u64);
    /// A request was refused because its replies would take too much memory.
    fn note_response_oom(&self);
    /// Counts by prefix.
    fn details(&self) -> &Details;
    fn set_details(&self, on: bool);
    /// The client becomes a watcher of these streams.
    fn watch(&self, client: u64, streams: u32);
    /// Tells watchers of a stream: the line from `type=` on.
    fn tell(&self, stream: u32, line: &str);
    /// Takes over what a command has changed in the live settings.
    fn apply_live(&self);
    /// What `-m` or `cache_memlimit` allows, in bytes.
    fn max_memory(&self) -> u64;
    /// Pages that `slabs reassign` has freed for a class and that its items do not fill yet.
    fn spare_pages(&self) -> [u64; CLASSES_MAX + 1];
    /// Takes about a page of memory from a class of items; Memcached's answer.
    fn reassign(&self, session: &Session, from: i64, to: usize, now: Millis) -> &'static str;
    /// Sweeps for expired items soon.
    fn crawl(&self);
    /// Reads the certificates of TLS listeners again (`refresh_certs`). `Err`: a sentence saying why
    /// not.
    fn refresh_certificates(&self) -> Result<(), String>;
    /// Ends the process, as `shutdown [graceful]` asks.
    fn shutdown(&self, graceful: bool);
    /// Descriptor, field and value of each line of `stats conns`; the client that asks is named.
    fn connections(&self, me: u64) -> Vec<(i32, &'static str, String)>;
}

/// What has left a class of items without being deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departed {
    pub evicted: u64,
    /// Of these, with a time to live.
    pub evicted_nonzero: u64,
    pub evicted_unfetched: u64,
    /// Age in seconds of the last one.
    pub evicted_time: u64,
    pub expired: u64,
    pub expired_unfetched: u64,
    pub out_of_memory: u64,
}

/// Why a key is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Expired,
    Flushed,
}

/// The process and its connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    pub pid: u32,
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    pub connections_max: u64,
    pub connections: u64,
    pub connections_total: u64,
    pub connections_rejected: u64,
    pub threads: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Items evicted and items expired so far.
    pub evictions: u64,
    pub expired: u64,
    /// Items that `flush_all` took away.
    pub flushed: u64,
    pub listen_disabled: u64,
    pub connection_yields: u64,
    pub idle_kicks: u64,
    pub response_oom: u64,
    pub read_buffer_oom: u64,
    pub read_buffers: u64,
    pub read_buffer_bytes: u64,
    pub watchers: u64,
    pub watcher_skipped: u64,
    pub watcher_sent: u64,
    pub maintenance_rounds: u64,
    pub crawls: u64,
    pub slabs_moved: u64,
    pub moved_blocks: u64,
    pub moved_in_chunks: u64,
    pub reassign_evictions: u64,
    /// Bytes that are free for pages of any class.
    pub pool_bytes: u64,
    pub hash_power: u32,
    pub hash_bytes: u64,
    pub tls: Option<TlsNumbers>,
}

/// Of servers with TLS listeners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsNumbers {
    /// Where sessions are remembered.
    pub new_sessions: Option<u64>,
    pub handshake_errors: u64,
    pub since_refresh_s: u64,
}
