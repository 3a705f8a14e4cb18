//! The end of a connection's turn: its output is sent, its limits are looked at, or it is closed.

use super::Reactor;
use crate::clients::Token;
use crate::connection::{Closing, Connection, Hold, Sent};
use crate::limits::*;
use crate::statistics::ThreadCounters;
use dolium_engine::Key;
use std::sync::atomic::Ordering::Relaxed;

impl Connection {
    /// Sends what its requests of this turn have answered, and shows what they have changed. True: that is all
    /// there is to be done at the turn's end.
    #[inline(always)]
    pub(super) fn end_turn(
        &mut self,
        out: &mut Vec<u8>,
        counters: &ThreadCounters,
        now: u64,
    ) -> bool {
        self.last_ms = now;
        self.card.touch(&self.client, now);
        if self.closing != Closing::Now && !out.is_empty() {
            counters.bytes_out.add(out.len() as u64);
            counters.sends.add(1);
            self.moved += out.len();
            if self.send(out) == Sent::Gone {
                self.closing = Closing::Now;
            }
        }
        out.clear();
        if out.capacity() > HOT_OUTPUT_KEPT {
            *out = Vec::with_capacity(HOT_INPUT_BYTES);
        }
        self.is_settled()
    }

    /// Nothing is to be done for it at its turn's end.
    #[inline(always)]
    pub(super) fn is_settled(&self) -> bool {
        self.unsent() == 0 && self.hold == Hold::No && !self.is_closing() && !self.at_end
    }
}

impl Reactor {
    /// The connection's turn has ended, and its output is sent: it is held or closing, at its end, or
    /// has unsent output; or the server stops.
    #[cold]
    pub(super) fn settle(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        // Unless it has yielded: then what is left has another turn.
        let is_over = connection.at_end && connection.hold == Hold::No && !connection.is_ready;
        let is_over = is_over || self.stop_at.is_some() && connection.memcache.left.is_none();
        if is_over && !connection.is_closing() {
            connection.closing = Closing::AfterOutput;
        }
        if connection.unsent() > 0 || connection.is_closing() {
            self.after_output(token);
        } else if connection.hold == Hold::Output {
            // The peer has read meanwhile what it was held for. Its descriptor has nothing left to
            // say about room: nobody else would let it go on.
            self.resume_output(token);
        } else if connection.hold == Hold::Feed {
            self.feed(token);
        }
    }

    /// The connection has unsent output or is to be closed.
    pub(super) fn after_output(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        match connection.closing {
            Closing::Now => return self.doom(token),
            Closing::AfterOutput if connection.unsent() == 0 => return self.doomed.push(token),
            _ => {}
        }
        if !connection.watches_room && connection.unsent() > 0 {
            self.watch_for_room(token);
        }
        let Some(connection) = self.slab.get(token) else { return };
        let unsent = connection.unsent() as u64;
        connection.note_unsent(self.now);
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        let most = self.server.buffers.portion(budget).unsent as u64;
        if unsent > most && connection.hold == Hold::No {
            connection.hold = Hold::Output;
        }
        let limit = self.server.config.live.output_limit(connection.client.subscriptions() > 0);
        let is_over_soft = limit.soft != 0 && unsent > limit.soft;
        if !is_over_soft {
            connection.over_soft_since = None;
        }
        let since = match (is_over_soft, connection.over_soft_since) {
            (true, None) => *connection.over_soft_since.insert(self.now),
            (true, Some(since)) => since.min(self.now),
            (false, _) => self.now,
        };
        let is_too_long = is_over_soft && self.now - since > limit.seconds * 1000;
        if (limit.hard != 0 && unsent > limit.hard) || is_too_long {
            tracing::warn!(
                client = connection.client.id,
                addr = connection.client.addr,
                unsent,
                "closed: its unsent output passed client-output-buffer-limit"
            );
            self.server.statistics.output_limit_disconnections.fetch_add(1, Relaxed);
            self.doom(token);
        }
        self.count_buffers(token);
    }

    /// The peer has made room.
    pub(super) fn resume_output(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        let unsent = connection.unsent();
        let outcome = connection.send_rest();
        let sent = unsent.saturating_sub(connection.unsent());
        if sent > 0 {
            connection.last_ms = self.now;
            connection.note_unsent(self.now);
            self.counters.sends.add(1);
        }
        connection.moved += sent;
        self.resumed += sent as u64;
        match outcome {
            Sent::Gone => connection.closing = Closing::Now,
            Sent::Partly => {}
            Sent::All if connection.hold == Hold::Output => connection.hold = Hold::No,
            Sent::All => {}
        }
        if connection.hold == Hold::Feed && connection.unsent() == 0 && !connection.is_closing() {
            return self.feed(token);
        }
        let is_free = connection.hold == Hold::No;
        let has_input = connection.readable || !connection.input.is_empty();
        if is_free && connection.at_end && connection.input.is_empty() && !connection.is_closing() {
            connection.closing = Closing::AfterOutput;
        }
        if connection.is_closing() {
            self.after_output(token);
        } else if is_free && has_input {
            self.make_ready(token);
        }
        self.count_buffers(token);
    }

    /// The connection is closed as soon as nothing borrows it, and is sent nothing more. From now on it is not served
    /// any more either: what is pushed meanwhile would be lost with it.
    pub(super) fn doom(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        connection.closing = Closing::Now;
        if connection.hold == Hold::Wait {
            self.server.waiting.leave(connection.client.id);
        }
        self.doomed.push(token);
    }

    pub(super) fn close_doomed(&mut self) {
        while let Some(token) = self.doomed.pop() {
            self.close(token);
        }
    }

    fn close(&mut self, token: Token) {
        if !self.starved.is_empty() {
            self.end_starving(token);
        }
        self.forget_unanswered(token);
        let Some(connection) = self.slab.remove(token) else { return };
        let client = &connection.client;
        if let Some(flag) = &client.transaction.dirty {
            for watched in &client.transaction.watched {
                let key: Key<'_> = watched.key();
                self.session.unwatch(watched.db, &key, flag);
            }
        }
        for (kind, name) in client.subscribed() {
            self.server.pubsub.unsubscribe(client.id, kind, name);
        }
        if connection.hold == Hold::Pause {
            self.server.pause.count_released(1);
        }
        if connection.hold == Hold::Wait {
            self.forget_wait(token, client.id, connection.waits_until);
        }
        if connection.memcache.watching {
            self.server.memcached.watchers.remove(client.id);
        }
        let reason = match connection.memcache.close_reason {
            "" => "normal",
            reason => reason,
        };
        self.server.note_connection(&connection.card, Some(reason));
        self.server.buffers.resize(connection.counted, 0);
        self.server.buffers.release(connection.reserved);
        self.server.buffers.release_reply(connection.answering);
        self.server.clients.leave(client.id);
        // From here on nobody can choose it.
        self.server.buffers.end_leaving(connection.card.leaving_bytes.load(Relaxed));
        // Unless it lingers, dropping the transport closes the descriptor, which leaves the epoll set by itself.
        self.linger(connection);
    }
}
