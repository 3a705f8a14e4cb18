//! What a Memcached command runs in, and what it asks of the server around it.

use super::census::Census;
use super::classes::CLASSES_MAX;
use super::details::Details;
use super::dump::Dump;
use super::settings::Settings;
use super::tally::{Tally, Totals};
use crate::outlet::{self, LENT_BYTES, Outlet};
use dolium_engine::{Db, Found, Key, Millis, Session};
use dolium_protocol::memcache::Words;

/// Everything a request of one connection needs.
pub struct McContext<'a> {
    /// This thread's handle on the store.
    pub session: &'a Session,
    /// What only the server can answer.
    pub server: &'a dyn Server,
    /// This thread's counts.
    pub tally: &'a Tally,
    pub client: &'a mut Client,
    /// What is to be told of each command: the streams that somebody watches (see
    /// [`super::events::stream`]) and [`super::DETAILS_ON`]; 0, and nobody looks any further.
    pub watched: u32,
    /// The database that this listener serves.
    pub db: Db,
    /// The time at which the batch began: every command of a batch sees the same.
    pub now: Millis,
    /// Replies are appended here.
    pub out: &'a mut Vec<u8>,
    /// When a retrieval of many keys leaves the others over, in [`Client::left`].
    pub piece: Piece,
    /// With more than this in `out`, a retrieval of many keys ends: nobody will be sent it.
    pub reply_bytes_max: usize,
    /// Past `out`, for large values; `None` if something that was to be sent earlier still waits.
    pub outlet: Option<&'a mut dyn Outlet>,
}

/// What is sent at once of the reply to one `get`: so many bytes in `out`, or so many that are lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub copied: usize,
    pub lent: usize,
}

impl Piece {
    /// Whatever it is.
    pub const ALL: Piece = Piece { copied: usize::MAX, lent: usize::MAX };
}

/// Keys of a `get` that are still to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// So many bytes at the end of the request's line.
    pub bytes: usize,
    /// Of a `gets`.
    pub cas: bool,
    /// So many of the first have been looked for, counted and shown to who watches already: the
    /// socket had no room for what there was of them.
    pub told: usize,
}

impl Left {
    /// The keys, of the request's line and whatever ended it.
    pub(super) fn of(self, line: &[u8]) -> &[u8] {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        &line[line.len() - self.bytes..]
    }

    /// What is left of a request whose reply was not sent from some key on, that with which the last
    /// `bytes` of its line begin. `after` is what had not been asked for.
    pub fn again(line: &[u8], bytes: usize, after: Option<Left>) -> Left {
        let cas = Words::new(line).next() == Some(b"gets");
        let left = Left { bytes, cas, told: 0 };
        let (not_asked, told) = after.map_or((0, 0), |after| (after.bytes, after.told));
        let keys = left.of(line);
        let asked = Words::new(&keys[..keys.len() - not_asked]).count();
        Left { told: asked + told, ..left }
    }

    /// A request for these alone.
    pub fn request(self, line: &[u8]) -> Vec<u8> {
        let verb: &[u8] = if self.cas { b"gets " } else { b"get " };
        [verb, self.of(line), b"\r\n"].concat()
    }
}

/// A place in the replies.
pub(super) struct Mark {
    pub len: usize,
    lent: usize,
    /// Bytes of what is lent.
    pub bytes: usize,
}

impl McContext<'_> {
    /// Whether a value is copied to `out`: a large one can pass it by.
    #[inline(always)]
    pub(super) fn copies(&self) -> impl Fn(&Found) -> bool + use<> {
        let may_pass = self.outlet.as_ref().is_some_and(|outlet| outlet.has_room());
        move |found| !(may_pass && LENT_BYTES.contains(&found.len))
    }

    /// Sends what `head` appends, the value of a key that [`McContext::copies`] does not copy, and
    /// `end`. False: the item is another one by now that does not `suit`, and it is copied from here on.
    pub(super) fn pass(
        &mut self,
        key: &Key<'_>,
        suits: impl FnMut(&Found) -> bool,
        head: impl FnMut(&Found, &mut Vec<u8>),
        end: &[u8],
    ) -> bool {
        let at = (self.db, self.now);
        let Some(outlet) = self.outlet.as_deref_mut() else { return false };
        let is_sent = outlet::pass(outlet, at, key, self.out, suits, head, end);
        if !is_sent {
            outlet.close();
        }
        is_sent
    }

    /// Whether there are replies that Memcached would still hold: it sends those of a classic retrieval and of
    /// `mn` at once, and with them what was there before.
    pub(super) fn has_unsent(&self) -> bool {
        !self.out.is_empty() && self.out.len() != self.client.sent_to
    }

    /// Memcached would have sent what there is by now.
    #[inline(always)]
    pub(super) fn note_sent(&mut self) {
        self.client.sent_to = self.out.len();
    }

    /// Where the replies stand: what comes now may be taken back.
    pub(super) fn mark(&self) -> Mark {
        let outlet = self.outlet.as_ref();
        let (lent, bytes) = outlet.map_or((0, 0), |outlet| (outlet.count(), outlet.bytes()));
        Mark { len: self.out.len(), lent, bytes }
    }

    /// Takes back what has been answered since: bytes, and values that are lent between them.
    pub(super) fn take_back(&mut self, mark: &Mark) {
        self.out.truncate(mark.len);
        if let Some(outlet) = self.outlet.as_deref_mut() {
            outlet.take_back(mark.lent);
        }
    }
}

/// What is kept for a connection between two requests.
#[derive(Debug, Default)]
pub struct Client {
    /// Number of the connection among all there have been.
    pub id: u64,
    /// Its descriptor, by which `watch` and `stats conns` name it.
    pub fd: i32,
    /// False: only an authentication is answered (see `authentication`).
    pub authenticated: bool,
    /// What is left of the last request, if its reply was too much to be sent at once. Nothing else
    /// runs before it, which goes on when what was answered is sent.
    pub left: Option<Left>,
    /// How much of its replies Memcached would have sent before this request, as far as is known: a retrieval
    /// or `mn` has said so.
    pub sent_to: usize,
    /// A dump that is being sent: no request is read until its end.
    pub dump: Option<Dump>,
    /// Why it closes, as `watch connevents` says; empty: the client wanted it.
    pub close_reason: &'static str,
    /// The connection has become a watcher: no request is read any more.
    pub watching: bool,
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
    /// How the items spread over Memcached's classes; of a large store it may be some seconds old.
    fn census(&self, session: &Session, db: Db, now: Millis) -> Census;
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
    /// Most memory that was ever in pages.
    pub pages_bytes: u64,
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
