//! Connections whose clients wait for an element of a list: held, served, or out of time.
//!
//! The table of who waits for what is the server's (`waiting.rs`). A thread keeps the times at which
//! waits of its own connections end, and asks the table whether one that is over had been served.

use super::Reactor;
use crate::clients::Token;
use crate::connection::{Closing, Hold, Sent};
use dolium_commands::connection::ReplyMode;
use dolium_commands::redis::list::waiting;
use std::collections::BTreeSet;
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
        connection.client.waits = false;
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
        match connection.send(&mut reply) {
            Sent::All => {}
            Sent::Partly => self.after_output(token),
            Sent::Gone => return self.doom(token),
        }
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
