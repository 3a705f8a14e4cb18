//! What a Memcached command runs in, and what it asks of the server around it.

use super::tally::{Tally, Totals};
use dolium_engine::{Db, Millis, Session};

/// Everything a request of one connection needs.
pub struct McContext<'a> {
    /// This thread's handle on the store.
    pub session: &'a Session,
    /// What only the server can answer.
    pub server: &'a dyn Server,
    /// This thread's counts.
    pub tally: &'a Tally,
    pub client: &'a mut Client,
    /// The database that this listener serves.
    pub db: Db,
    /// The time at which the batch began: every command of a batch sees the same.
    pub now: Millis,
    /// Replies are appended here.
    pub out: &'a mut Vec<u8>,
}

/// What is kept for a connection between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// False: only an authentication is answered (see `authentication`).
    pub authenticated: bool,
}

/// What Memcached commands ask of the server. It has no more to do with a command than these.
pub trait Server {
    /// Is this the password of the user? In constant time.
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool;
    /// Numbers for `stats`.
    fn process(&self) -> Process;
    /// The tallies of all threads, added up.
    fn totals(&self) -> Totals;
    /// Zeroes every tally (`stats reset`).
    fn reset_statistics(&self);
    /// Name and value of each line of `stats settings`.
    fn settings(&self) -> Vec<(&'static str, String)>;
    /// `verbosity`.
    fn set_verbosity(&self, level: u32);
    /// `cache_memlimit`. `Err`: a sentence saying why not.
    fn set_max_memory(&self, bytes: u64) -> Result<(), String>;
    /// Flush the database at a time to come (`flush_all 60`), instead of any time told before for
    /// it; `None`: forget that.
    fn schedule_flush(&self, db: Db, at: Option<Millis>);
}

/// The process and its connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    pub pid: u32,
    pub uptime_s: u64,
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
}
