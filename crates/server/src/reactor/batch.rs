//! The commands that were parsed and wait to be run together.
//!
//! ```text
//!   connection 7: GET a | GET b | END     connection 3: SET c | END     connection 9: GET d | ...
//! ```
//! Requests of one connection stand together and in order; END sends what they answered. While
//! later requests are parsed, the memory of earlier ones is already on its way into the cache.

use super::request::Request;
use crate::clients::Token;
use crate::limits::{BATCH_BYTES, BATCH_COMMANDS, BATCH_EXTRA_KEYS};
use dolium_engine::Fetch;
use dolium_protocol::resp::ArgVec;

pub struct Entry {
    pub token: Token,
    pub what: What,
    /// Where the request lies in the input: `start..end`.
    pub start: usize,
    pub end: usize,
    /// Where in the batch's `fetches` the request's first key is, if it has one.
    pub key: usize,
}

#[derive(Clone, Copy)]
pub enum What {
    /// A request; its arguments are in the slot of that number.
    Run { slot: usize, request: Request },
    /// All of the connection's input has been parsed: send.
    End,
}

pub struct Batch {
    pub entries: Vec<Entry>,
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
        self.entries.push(Entry { token, what, start, end, key: self.keys_before });
        self.keys_before = self.fetches.len();
    }

    /// The last entry is a request of this connection: its END is yet to come.
    pub fn last_is(&self, token: Token) -> bool {
        self.entries.last().is_some_and(|e| e.token == token && matches!(e.what, What::Run { .. }))
    }

    #[inline]
    pub fn end(&mut self, token: Token, at: usize) {
        self.entries.push(Entry { token, what: What::End, start: at, end: at, key: usize::MAX });
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.fetches.clear();
        self.keys_before = 0;
        self.used = 0;
        self.bytes = 0;
        self.has_commands = false;
    }
}
