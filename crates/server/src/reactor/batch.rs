//! The commands that were parsed and wait to be run together.
//!
//! ```text
//!   connection 7: DEL a | GETs b c d, ends     connection 3: SETs e f, ends     connection 9: ...
//! ```
//! Requests of one connection stand together and in order; what they answered is sent after the last. While
//! later requests are parsed, the memory of earlier ones is already on its way into the cache.
//! GETs in a row are one entry, and so are SETs: most of what has to be known of each is the same for
//! all of them.

use super::request::Request;
use crate::clients::Token;
use crate::limits::{BATCH_BYTES, BATCH_COMMANDS, BATCH_ENOUGH, BATCH_EXTRA_KEYS};
use dolium_engine::Fetch;
use dolium_protocol::resp::{ArgVec, Few};

pub struct Entry {
    pub token: Token,
    pub what: What,
    /// Where the request lies in the input, or all of a row: `start..end`.
    pub start: usize,
    pub end: usize,
    /// Where in the batch's `fetches` the request's first key is, if it has one; or a row's.
    pub key: usize,
    /// All of the connection's input has been parsed: what was answered is sent after it.
    pub ends: bool,
}

#[derive(Clone, Copy)]
pub enum What {
    /// A request; its arguments are in the slot of that number.
    Run { slot: usize, request: Request },
    /// GETs in a row: so many of the batch's `gets`, from that number on. Their keys are the entry's
    /// first and those that follow it.
    Gets { first: usize, count: usize },
    /// The same with SETs of a key and a value, of the batch's `sets`.
    Sets { first: usize, count: usize },
    /// Nothing, where a connection's turn ends and the request before it has run already.
    End,
}

/// A request in a row of such.
#[derive(Clone, Copy)]
pub struct InRow<const N: usize> {
    /// Where it begins in the input.
    pub start: usize,
    pub args: Few<N>,
}

pub struct Batch {
    pub entries: Vec<Entry>,
    pub gets: Vec<InRow<2>>,
    pub sets: Vec<InRow<3>>,
    /// Room for arguments, used again batch after batch.
    pub slots: Vec<ArgVec>,
    pub used: usize,
    bytes: usize,
    /// There are Redis' commands among the requests: their times are shown to who asks.
    pub has_commands: bool,
    /// What the passes have seen of the first keys, and of keys beyond the first (MGET).
    pub fetches: Vec<Fetch>,
    /// Keys of the requests that were pushed.
    keys_before: usize,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch {
            entries: Vec::with_capacity(2 * BATCH_COMMANDS),
            gets: Vec::with_capacity(BATCH_COMMANDS),
            sets: Vec::with_capacity(BATCH_COMMANDS),
            slots: (0..BATCH_COMMANDS).map(|_| ArgVec::new()).collect(),
            used: 0,
            bytes: 0,
            has_commands: false,
            fetches: Vec::with_capacity(BATCH_COMMANDS + BATCH_EXTRA_KEYS),
            keys_before: 0,
        }
    }
}

impl Batch {
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used == BATCH_COMMANDS || self.bytes >= BATCH_BYTES
    }

    /// Behind a connection's last request: whether to run before another connection's are gathered.
    #[inline(always)]
    pub fn is_enough(&self) -> bool {
        self.used >= BATCH_ENOUGH
    }

    /// How many requests there is room for.
    #[inline]
    pub fn room(&self) -> usize {
        BATCH_COMMANDS - self.used
    }

    /// With how many bytes the batch is full.
    #[inline]
    pub fn room_bytes(&self) -> usize {
        BATCH_BYTES.saturating_sub(self.bytes)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keeps the request whose arguments were just parsed into slot `used`, and whose keys are the
    /// last of `fetches`.
    #[inline(always)]
    pub fn push(&mut self, token: Token, request: Request, start: usize, end: usize) {
        self.has_commands |= matches!(request, Request::Redis(_));
        let what = What::Run { slot: self.used, request };
        self.used += 1;
        self.bytes += end - start;
        self.entries.push(Entry { token, what, start, end, key: self.keys_before, ends: false });
        self.keys_before = self.fetches.len();
    }

    /// Keeps a row whose `count` requests and fetches have been pushed.
    #[inline(always)]
    pub fn push_row(&mut self, token: Token, what: What, count: usize, start: usize, end: usize) {
        self.has_commands = true;
        self.used += count;
        self.bytes += end - start;
        self.entries.push(Entry { token, what, start, end, key: self.keys_before, ends: false });
        self.keys_before = self.fetches.len();
    }

    /// The last entry is a request of this connection, and its turn goes on behind it.
    pub fn last_is(&self, token: Token) -> bool {
        self.entries.last().is_some_and(|e| e.token == token && !e.ends)
    }

    /// The connection's turn ends behind its last request.
    #[inline(always)]
    pub fn end(&mut self, token: Token, at: usize) {
        match self.entries.last_mut() {
            Some(last) if last.token == token => last.ends = true,
            _ => self.push_end(token, at),
        }
    }

    fn push_end(&mut self, token: Token, at: usize) {
        let what = What::End;
        self.entries.push(Entry { token, what, start: at, end: at, key: usize::MAX, ends: true });
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.gets.clear();
        self.sets.clear();
        self.fetches.clear();
        self.keys_before = 0;
        self.used = 0;
        self.bytes = 0;
        self.has_commands = false;
    }
}
