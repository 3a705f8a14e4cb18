//! One client's connection, as the thread that owns it keeps it: its state in the order in which turns look at it,
//! and what that state means. How it sends is in `send.rs`.

mod send;

use crate::budget::BufferBudget;
use crate::clients::{Card, Token};
use crate::incoming::Incoming;
use crate::limits::LONG_TURN_BYTES;
use crate::listener::Door;
use crate::reactor::busy::Habit;
use crate::server::Server;
use crate::transport::Transport;
use dolium_commands::connection::ClientState;
use dolium_protocol::detect::Protocol;
use dolium_protocol::resp::ParseState;
use dolium_protocol::{http, memcache};
pub use send::{Appetite, Sent};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Why a connection's requests wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    No,
    /// Its peer does not read: until what was not sent is down to nothing.
    Output,
    /// CLIENT PAUSE.
    Pause,
    /// A large request waits for room in the budget of buffers.
    Budget,
    /// A request whose reply is large waits for room for that in the same budget.
    Reply,
    /// Its client waits for an element of a list.
    Wait,
    /// A dump is being sent, or the connection has become a watcher: its input is not looked at.
    Feed,
}

impl Hold {
    /// Requests that have been received wait too. Where one waits for room, those before it do not.
    #[inline(always)]
    pub fn stops_requests(self) -> bool {
        !matches!(self, Hold::No | Hold::Budget)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    No,
    /// As soon as its output is sent.
    AfterOutput,
    /// It was killed, and the mail that closes it has come but is not read yet: its requests do not run any more.
    /// What was mailed to it before is still sent.
    ByMail,
    /// Its peer is gone or it was killed: nothing more is sent.
    Now,
}

/// In the order in which it stands in memory: what every turn looks at is in the first [`HOT_BYTES`], so that it
/// can be asked for before the turn (`reactor/slab.rs`). With hundreds of connections none of it is near.
#[repr(C, align(64))]
pub struct Connection {
    // ---- whether and how it has a turn ----
    pub last_ms: u64,
    /// Bytes received and sent since its last turn began; as those of a long turn before its first.
    pub moved: usize,
    /// What its last turns say of its next one.
    pub habit: Habit,
    pub hold: Hold,
    pub closing: Closing,
    /// The descriptor has said that there is input, or the connection is busy and there should be some;
    /// and no read has come back short since.
    pub readable: bool,
    /// The peer has closed its side: a short read is not the end of what there is to read.
    pub hung_up: bool,
    /// The end of the input has been read: what was gathered runs, then the connection closes.
    pub at_end: bool,
    /// Its requests of one turn were as many as one connection may have: the rest is due another.
    pub yielded: bool,
    /// What it was answered last is sent at the end of the running batch.
    pub reply_waits: bool,
    /// Stands on the reactor's list of connections that are due another turn.
    pub is_ready: bool,
    /// Its peer has made room for unsent output; that goes with its next turn.
    pub is_writable: bool,
    /// Its descriptor tells when there is room to send.
    pub watches_room: bool,
    /// Its last request was larger than what goes through the shared buffer.
    pub expects_large: bool,
    /// Its last read with a long line was for much: what comes behind such a line is not gathered with
    /// it, for it would have to be held, and parsed anew.
    pub gets_much: bool,
    pub appetite: Appetite,
    /// Known after the first bytes.
    pub protocol: Option<Protocol>,
    pub door: Door,
    // ---- what comes in ----
    pub transport: Transport,
    /// Bytes of requests that have not run: an unfinished one, or all while held.
    pub input: Vec<u8>,
    /// A large value on its way into its item; what comes next belongs to it.
    pub incoming: Option<Box<Incoming>>,
    /// Bytes of the budget granted for the request that is being received.
    pub reserved: u64,
    // ---- what goes out ----
    /// Output that the peer had no room for, and how much of it has been sent since.
    pub output: Vec<u8>,
    pub sent: usize,
    /// Requests that were parsed when the connection was held; they go before `input`.
    pub held: Vec<u8>,
    /// Bytes of own buffers that the budget counts now.
    pub counted: u64,
    // ---- whose requests they are ----
    /// Memcached requests of this turn.
    pub taken: usize,
    pub parse: ParseState,
    pub card: Arc<Card>,
    pub token: Token,
    /// Its first fields are looked at as often.
    pub client: ClientState,
    // ---- what some connections and some turns look at ----
    pub memcache_parse: memcache::ParseState,
    pub http_parse: http::ParseState,
    pub memcache: dolium_commands::memcache::Client,
    /// Bytes of a refused binary request that are still to come.
    pub skipping: usize,
    /// That request without its value: it is answered when the value has come.
    pub refused: Box<[u8]>,
    /// The peer has taken some of what had been unsent.
    pub has_read: bool,
    /// Since when the output has been over its soft limit, in milliseconds.
    pub over_soft_since: Option<u64>,
    /// When the wait for an element of a list ends, if it does.
    pub waits_until: Option<u64>,
    /// An HTTP request was refused before all of it had come.
    pub is_refused_unread: bool,
    /// Bytes of the budget granted for a large reply, until it is sent.
    pub answering: u64,
    /// So many it waits for, or has been granted for a request that is to run again.
    pub wants: u64,
}

/// What of a connection every turn looks at.
pub const HOT_BYTES: usize = offset_of!(Connection, client) + offset_of!(ClientState, id);
const _: () = assert!(HOT_BYTES <= 5 * 64, "five cache lines");

impl Connection {
    pub fn is_closing(&self) -> bool {
        self.closing != Closing::No
    }

    /// What others have for it is sent to it.
    pub fn hears_others(&self) -> bool {
        matches!(self.closing, Closing::No | Closing::ByMail)
    }

    /// Its last turn took long, or it has had none: it waits for its turn behind others.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.moved >= LONG_TURN_BYTES
    }

    /// Its requests may run, and there may be some: those that were held when the end of the input
    /// was read are still to be answered.
    pub fn is_due(&self) -> bool {
        let has_input = !(self.at_end && self.input.is_empty());
        self.hold == Hold::No && has_input && !self.is_closing()
    }

    /// Holds it back if CLIENT PAUSE does so with what `may_write`.
    #[cold]
    pub fn pause(&mut self, server: &Server, may_write: bool) {
        if server.pause.holds(server.unix_us() / 1000, may_write) {
            self.hold = Hold::Pause;
            self.card.held.store(true, Relaxed);
            server.pause.count_held();
        }
    }

    /// A Memcached client that came while there was a password may all when there is none any more.
    #[inline]
    pub fn look_for_password(&mut self, server: &Server) {
        if !self.memcache.authenticated && !server.memcached_wants_login() {
            self.memcache.authenticated = true;
        }
    }

    /// Nothing was begun, counted or put off that has to be seen to where its input has been used up.
    #[inline(always)]
    pub fn keeps_nothing(&self) -> bool {
        let may_have_more = self.yielded || self.readable || self.expects_large;
        !may_have_more && self.reserved == 0 && self.counted == self.buffer_bytes()
    }

    /// Puts requests that were parsed and then held back in front of the input, to be parsed anew.
    #[cold]
    pub fn restore_held(&mut self) {
        // A value that was begun meanwhile is of a later request, and waits for its turn.
        if let Some(incoming) = self.incoming.take() {
            incoming.copy_to(&incoming.end, &mut self.held);
        }
        self.held.append(&mut self.input);
        self.input = std::mem::take(&mut self.held);
        self.parse.reset();
        self.memcache_parse = memcache::ParseState::new();
        self.http_parse = http::ParseState::new();
    }

    /// A value that has stopped coming frees its item's place: what there is of it is input again.
    pub fn give_up_incoming(&mut self) {
        if let Some(incoming) = self.incoming.take() {
            incoming.copy_to(&incoming.end, &mut self.input);
        }
    }

    /// A large reply that has been sent needs its room no longer.
    #[inline]
    pub fn give_back_answered(&mut self, buffers: &BufferBudget) {
        if self.answering > 0 && self.wants == 0 && self.unsent() == 0 {
            buffers.release_reply(std::mem::take(&mut self.answering));
        }
    }

    /// Bytes of memory that this connection's own buffers take, and what its commands have had kept for it.
    pub fn buffer_bytes(&self) -> u64 {
        let own = self.input.capacity() + self.held.capacity() + self.output.capacity();
        (own + self.transport.waiting_bytes() + self.client.kept_bytes) as u64
    }
}
