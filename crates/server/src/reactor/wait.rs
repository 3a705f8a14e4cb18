//! Connections whose clients wait for an element of a list: held, served, or out of time.
//!
//! The table of who waits for what is the server's (`waiting.rs`). A thread keeps the times at which
//! waits of its own connections end, and asks the table whether one that is over had been served.
//! What such a client sends meanwhile is read ahead (`transport/ahead.rs`): its end may stand behind it.

use super::Reactor;
use crate::clients::Token;
use crate::connection::{Closing, Hold, Sent};
use crate::limits::{OWN_BUFFER_BYTES_PER_TURN, READ_BYTES_PER_TURN};
use dolium_commands::connection::ReplyMode;
use dolium_commands::redis::list::waiting;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;

/// When waits of this thread's connections end, the next one first.
#[derive(Default)]
pub(super) struct Deadlines(BTreeSet<(u64, u32, u32)>);

impl Deadlines {
    pub fn next(&self) -> Option<u64> {
        self.0.first().map(|(until, ..)| *until)
    }
}

impl Reactor {
    /// A command of this connection has begun to wait: its further requests stay where they are.
    #[cold]
    pub(super) fn begin_wait(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        connection.card.held.store(true, Relaxed);
        connection.waits_until = self.server.waiting.until(connection.client.id);
        if let Some(until) = connection.waits_until {
            self.deadlines.0.insert((until, token.index, token.generation));
        }
        if connection.readable {
            self.read_ahead(token);
        } else {
            self.close_if_left(token);
        }
    }

    /// A client that waits has sent more, or is gone.
    #[cold]
    pub(super) fn read_ahead(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        if connection.is_closing() {
            return;
        }
        // A ring's bell tells of the end whatever stands in the ring.
        let most = match connection.transport.sends_hear() {
            true => 0,
            false => OWN_BUFFER_BYTES_PER_TURN,
        };
        let (mut read, mut has_more) = (0, connection.readable);
        while has_more && read < most {
            match connection.transport.read_ahead(READ_BYTES_PER_TURN) {
                Ok(n) if n > 0 => read += n,
                // TLS has looked at enough records that carry nothing.
                Err(error) if error.kind() == ErrorKind::Interrupted => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => has_more = false,
                // Whoever is served first still reads the end behind what is stored.
                _ => (connection.hung_up, has_more) = (true, false),
            }
        }
        if read > 0 {
            connection.last_ms = self.now;
            self.counters.receives.add(1);
            // They count as input when they are received; what is long is so now.
            self.resumed += read as u64;
        }
        connection.readable = has_more || connection.hung_up || connection.transport.stored() > 0;
        let queued = connection.input.len() + connection.transport.stored();
        connection.card.query_bytes.store(queued as u64, Relaxed);
        if queued as u64 > self.server.config.live.query_buffer_max.load(Relaxed) {
            tracing::warn!(
                client = connection.client.id,
                addr = connection.client.addr,
                queued,
                "closed: what it sent while it waits passed client-query-buffer-limit"
            );
            self.server.statistics.query_limit_disconnections.fetch_add(1, Relaxed);
            return self.doom(token);
        }
        self.count_buffers(token);
        // Not of a ring, of which nothing was read: it would be looked at without end.
        if has_more && most > 0 {
            self.make_ready(token);
        }
        self.close_if_left(token);
    }

    /// Nobody is left to be answered: who waits would take an element to its grave.
    pub(super) fn close_if_left(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        // Where it waits no longer, it has been served, or killed, and the mail that says so is on its way: a peer
        // that has only ended its side still reads the reply.
        if connection.hold == Hold::Wait
            && (connection.hung_up || connection.at_end)
            && self.server.waiting.leave(connection.client.id)
        {
            self.doom(token);
        }
    }

    /// Those whose time is over and who were not served get the reply that says so.
    pub(super) fn end_waits(&mut self) {
        while let Some((until, index, generation)) = self.deadlines.0.first().copied() {
            if until > self.now {
                return;
            }
            self.deadlines.0.pop_first();
            let token = Token { index, generation };
            let Some(connection) = self.slab.get(token) else { continue };
            let mut reply = Vec::new();
            waiting::time_is_over(connection.client.resp, &mut reply);
            if self.server.waiting.leave(connection.client.id) {
                self.served(token, reply);
            }
        }
    }

    /// The reply that a client has waited for; its further requests go on.
    pub(super) fn served(&mut self, token: Token, mut reply: Vec<u8>) {
        let Some(connection) = self.slab.get(token) else { return };
        if connection.hold != Hold::Wait {
            return;
        }
        connection.hold = Hold::No;
        connection.client.end_wait();
        connection.card.held.store(false, Relaxed);
        connection.last_ms = self.now;
        if let Some(until) = connection.waits_until.take() {
            self.deadlines.0.remove(&(until, token.index, token.generation));
        }
        if !connection.hears_others() {
            return;
        }
        match connection.client.reply_mode {
            ReplyMode::Off => reply.clear(),
            ReplyMode::Skipping => {
                reply.clear();
                connection.client.end_skipping();
            }
            _ => {}
        }
        let counters = &self.counters;
        counters.bytes_out.add(reply.len() as u64);
        counters.sends.add(1);
        match connection.send(&mut reply) {
            Sent::All => {}
            Sent::Partly => self.after_output(token),
            Sent::Gone => return self.doom(token),
        }
        // Without the keys that it has waited for.
        self.count_buffers(token);
        // What the client has moved on may have been waited for as well.
        if self.server.notifier.is_on() {
            self.server.announce_changes();
        }
        let Some(connection) = self.slab.get(token) else { return };
        if connection.at_end && connection.input.is_empty() && !connection.is_closing() {
            // Nothing more comes that would have it closed at the end of a turn.
            connection.closing = Closing::AfterOutput;
            return self.after_output(token);
        }
        self.make_ready(token);
    }

    /// The connection goes: it waits for nothing any more.
    pub(super) fn forget_wait(&mut self, token: Token, client: u64, until: Option<u64>) {
        self.server.waiting.leave(client);
        if let Some(until) = until {
            self.deadlines.0.remove(&(until, token.index, token.generation));
        }
    }
}
