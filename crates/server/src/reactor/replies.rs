//! Short replies of a batch, which are sent one after the other when all of its requests have run.
//!
//! ```text
//!   run 7, 3, 9 ...          bytes | of 7 | of 3 | of 9 |
//!   send to 7, to 3, to 9    ends         110    115    225
//! ```
//! Sending takes the system so much code that what runs requests is no longer near behind it. So replies
//! to GETs and SETs wait here until the batch has run, and the code of each step stays where it is
//! (decision 147). In which order different connections are answered, nobody is promised; within one it is kept, for
//! its next requests do not run before its reply is sent. Other commands, which may take long, do not run before
//! what waits has been sent either; and when something has been sent at once, it is sent next.

use super::Reactor;
use crate::clients::Token;
use crate::connection::{Closing, Connection, Hold, Sent};
use crate::limits::{HOT_OUTPUT_KEPT, REPLIES_WAIT_BYTES, REPLY_WAITS_BYTES};
use crate::statistics::ThreadCounters;
use crate::transport::Transport;

pub(super) struct Replies {
    bytes: Vec<u8>,
    /// To whom, and where in `bytes` the reply ends.
    ends: Vec<(Token, usize)>,
}

impl Default for Replies {
    fn default() -> Replies {
        Replies { bytes: Vec::with_capacity(REPLIES_WAIT_BYTES), ends: Vec::new() }
    }
}

impl Replies {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whose turns wait for their end.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Takes over what a connection's turn has answered, if that can be sent at the batch's end as well.
    /// False: it is to be sent now.
    #[inline(always)]
    pub fn take(&mut self, connection: &mut Connection, out: &mut Vec<u8>) -> bool {
        // A buffer that has become large goes at the end of its turn.
        let has_room = (1..=REPLY_WAITS_BYTES).contains(&out.len())
            && out.capacity() <= HOT_OUTPUT_KEPT
            && self.bytes.len() + out.len() <= REPLIES_WAIT_BYTES;
        let is_plain = matches!(connection.transport, Transport::Socket(_))
            && connection.unsent() == 0
            && connection.hold == Hold::No
            && !connection.is_closing();
        if !has_room || !is_plain {
            return false;
        }
        self.bytes.extend_from_slice(out);
        self.ends.push((connection.token, self.bytes.len()));
        connection.reply_waits = true;
        out.clear();
        true
    }
}

impl Connection {
    /// As `end_turn`, with a reply that has waited.
    #[inline(always)]
    fn end_turn_with(&mut self, reply: &[u8], counters: &ThreadCounters, now: u64) -> bool {
        self.reply_waits = false;
        self.last_ms = now;
        self.card.touch(&self.client, now);
        if self.closing != Closing::Now {
            counters.bytes_out.add(reply.len() as u64);
            counters.sends.add(1);
            self.moved += reply.len();
            match self.transport.send(reply) {
                Ok(sent) if sent == reply.len() => {}
                result => self.keep_unsent(&reply[result.unwrap_or(0)..]),
            }
        }
        self.is_settled()
    }

    /// What the first attempt did not send. Why, the second one will tell.
    #[cold]
    #[inline(never)]
    fn keep_unsent(&mut self, rest: &[u8]) {
        if self.send(&mut rest.to_vec()) == Sent::Gone {
            self.closing = Closing::Now;
        }
    }
}

impl Reactor {
    /// Sends what waits, and ends the turns that it is of.
    #[inline(always)]
    pub(super) fn send_replies(&mut self) {
        let mut start = 0;
        for number in 0..self.replies.ends.len() {
            let (token, end) = self.replies.ends[number];
            let reply = &self.replies.bytes[start..end];
            start = end;
            let Some(connection) = self.slab.get(token) else { continue };
            let is_settled = connection.end_turn_with(reply, &self.counters, self.now);
            if !is_settled || self.stop_at.is_some() {
                self.settle(token);
            }
        }
        self.replies.ends.clear();
        self.replies.bytes.clear();
    }
}
