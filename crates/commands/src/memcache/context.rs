//! What a Memcached command runs in, and what is kept for its connection between two requests.

use super::dump::Dump;
use super::server::Server;
use super::tally::Tally;
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
