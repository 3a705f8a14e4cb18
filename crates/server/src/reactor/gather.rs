//! What is being gathered from one connection's input, until the batch is full or the input ends.
//!
//! ```text
//!   start ...... at ............ end      of a buffer
//!   |requests   |not yet parsed |
//! ```
//! A full batch is run by whoever gathers: most often by the event loop itself, which then has this
//! go on where it stopped (decision 121).

use super::Reactor;
use crate::clients::Token;
use crate::connection::Hold;
use crate::limits::LONG_TURNS_BYTES;
use crate::listener::Door;
use dolium_protocol::detect::{Detected, Protocol, detect, detect_memcached};

/// A connection's input while it is parsed: `start..end` of some buffer.
#[derive(Clone, Copy)]
pub(super) struct Intake {
    pub token: Token,
    start: usize,
    pub end: usize,
    /// Everything before has become requests.
    pub at: usize,
    /// Bytes that the unfinished request there needs, at least.
    pub need: usize,
    /// A request of this turn is in the batch or has run: what it answers is sent at the turn's end.
    gathered: bool,
}

impl Intake {
    pub fn new(token: Token, start: usize, end: usize) -> Intake {
        Intake { token, start, end, at: start, need: 0, gathered: false }
    }

    /// The rest of a turn of which a request has run already.
    pub fn behind_request(token: Token, start: usize, end: usize) -> Intake {
        Intake { gathered: true, ..Intake::new(token, start, end) }
    }

    /// A turn of which the requests before `at`, if there are any, are in the batch.
    pub fn behind_requests(token: Token, start: usize, at: usize, end: usize) -> Intake {
        Intake { at, gathered: at > start, ..Intake::new(token, start, end) }
    }
}

impl Reactor {
    /// Parses requests of one connection into the batch, which runs whenever it is full.
    pub(super) fn parse(&mut self, input: &[u8], intake: &mut Intake) {
        while self.parse_some(input, intake) {
            self.run_batch_over(input);
        }
    }

    /// Parses requests into the batch until it is full. True: it is to be run, and this to be
    /// called again.
    pub(super) fn parse_some(&mut self, input: &[u8], intake: &mut Intake) -> bool {
        let Intake { token, start, end, mut at, mut need, mut gathered } = *intake;
        if at == start
            && let Some(connection) = self.slab.get(token)
        {
            connection.taken = 0;
        }
        while at < end {
            if self.batch.is_full() {
                *intake = Intake { at, need, gathered, ..*intake };
                return true;
            }
            let Some(connection) = self.slab.get(token) else {
                intake.at = end;
                return false;
            };
            if connection.hold != Hold::No || connection.is_closing() {
                break;
            }
            if at > start && connection.moved as u64 >= LONG_TURNS_BYTES {
                connection.yielded = true;
                break;
            }
            let protocol = match connection.protocol {
                Some(protocol) => protocol,
                None if self.is_memcached && connection.door == Door::Memcached => {
                    *connection.protocol.insert(detect_memcached(input[at]))
                }
                None => match detect(&input[at..end], connection.door) {
                    Detected::Is(protocol) => *connection.protocol.insert(protocol),
                    Detected::NeedMore => break,
                },
            };
            let before = at;
            let progress = match protocol {
                Protocol::Resp => self.parse_resp(token, input, at, end),
                Protocol::MemcacheText => self.parse_memcache(token, input, at, end),
                Protocol::Http => self.parse_http(token, input, at, end),
                Protocol::MemcacheBinary => self.parse_memcache_binary(token, input, at, end),
            };
            (at, need) = (progress.at, progress.need);
            gathered |= at > before;
            if self.slab.get(token).is_some_and(|connection| connection.yielded) {
                break;
            }
            if need != 0 {
                break;
            }
        }
        let at_end = self.slab.get(token).is_some_and(|connection| connection.at_end);
        // HTTP's "100 Continue" is an answer without a request having been used up.
        let is_asked = self.batch.last_is(token);
        if gathered || at_end || is_asked {
            self.batch.end(token, at);
        }
        *intake = Intake { at, need, gathered, ..*intake };
        false
    }
}
