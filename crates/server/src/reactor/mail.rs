//! What other threads ask of this one, since nobody but its own thread touches a connection: deliver, close, wake,
//! take a new connection.

use super::Reactor;
use crate::connection::{Closing, Hold};
use crate::limits::*;
use crate::mailbox::Mail;
use std::sync::atomic::Ordering::Relaxed;

/// When in a round mail is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the requests of its connections, some of which may have been sent only after what the mail tells of.
    Begin,
    /// After them.
    End,
}

impl Moment {
    /// Who has sent something is not idle, and is answered before the end.
    fn puts_off(self, mail: &Mail) -> bool {
        self == Moment::Begin && matches!(mail, Mail::Tick | Mail::Stop)
    }
}

impl Reactor {
    pub(super) fn read_mail(&mut self, moment: Moment) {
        self.post.empty(&mut self.mail);
        let mut mail = std::mem::take(&mut self.mail);
        let (mut messages, mut deliveries, mut bytes) = (Vec::new(), 0, 0);
        for one in mail.drain(..) {
            if moment.puts_off(&one) {
                self.mail.push(one);
                continue;
            }
            if !matches!(one, Mail::Deliver { .. }) {
                self.deliver(&mut messages);
            }
            match one {
                Mail::Adopt { transport, door, addr, laddr } => {
                    self.adopt(transport, door, addr, laddr);
                }
                Mail::Deliver { to, message } => {
                    deliveries += to.len();
                    bytes += to.len() * message.bytes();
                    messages.push((to, message));
                    if deliveries >= DELIVERIES_AT_ONCE || bytes >= DELIVERED_BYTES_AT_ONCE {
                        (deliveries, bytes) = (0, 0);
                        self.deliver(&mut messages);
                    }
                }
                Mail::Kill(token) => self.doom(token),
                Mail::Served { token, reply } => self.served(token, reply),
                Mail::Watched(token) => self.feed(token),
                Mail::Relisten { door, listeners } => self.relisten(door, listeners),
                Mail::Paused(confirmation) => confirmation.pass(&self.server),
                Mail::Resume => self.resume_paused(),
                Mail::Tick => self.tick(),
                Mail::Stop => self.stop(),
            }
        }
        self.deliver(&mut messages);
        if self.mail.is_empty() {
            self.mail = mail;
        }
        // Kills must be done before a turn of the same connection answers anything more.
        self.close_doomed();
    }

    /// A kill has been posted in the midst of a round. Requests of whom it is about may have been sent after it was
    /// confirmed: they do not run. The rest comes when the mail is read, in its order.
    #[cold]
    pub(super) fn note_kills(&mut self) {
        self.post.take_kill(&mut self.mail);
        for one in &self.mail {
            if let Mail::Kill(token) = one
                && let Some(connection) = self.slab.get(*token)
                && connection.closing != Closing::Now
            {
                connection.closing = Closing::ByMail;
            }
        }
    }

    fn resume_paused(&mut self) {
        for token in self.slab.tokens() {
            let Some(connection) = self.slab.get(token) else { continue };
            if connection.hold == Hold::Pause {
                connection.hold = Hold::No;
                connection.card.held.store(false, Relaxed);
                self.server.pause.count_released(1);
                self.make_ready(token);
            }
        }
    }

    /// Once a second: idle clients go, and those that have been over a soft limit for too long; values
    /// that have stopped coming leave their items.
    fn tick(&mut self) {
        let counters = &self.counters;
        self.published.update(&self.session, counters);
        let timeout_ms = self.server.config.live.timeout_s.load(Relaxed) * 1000;
        for token in self.slab.tokens() {
            let Some(connection) = self.slab.get(token) else { continue };
            // A socket tells of room when a third of it is free, for which a slow peer takes minutes. That it has taken
            // something shows in what goes in now.
            if connection.unsent() > 0 && self.now.saturating_sub(connection.last_ms) > SLOW_PEER_MS
            {
                self.resume_output(token);
            }
            let Some(connection) = self.slab.get(token) else { continue };
            let idle = self.now.saturating_sub(connection.last_ms);
            if idle > LARGE_REQUEST_STALL_MS && connection.incoming.is_some() {
                connection.give_up_incoming();
                self.count_buffers(token);
            }
            let Some(connection) = self.slab.get(token) else { continue };
            // `timeout` is for peers that may be gone without a word, which a local process cannot be; and a
            // program that attaches once for all of its life asks seldom, and has no way to connect anew.
            let may_idle = connection.transport.sends_hear()
                || connection.client.subscriptions() > 0
                || matches!(
                    connection.hold,
                    Hold::Pause | Hold::Wait | Hold::Feed | Hold::Budget | Hold::Reply
                );
            if timeout_ms != 0 && idle > timeout_ms && !may_idle {
                self.server.memcached.counts.idle_kicks.fetch_add(1, Relaxed);
                connection.memcache.close_reason = "idle_timeout";
                self.doom(token);
            } else if connection.reserved > 0
                && matches!(connection.hold, Hold::No | Hold::Output | Hold::Wait)
                && idle > LARGE_REQUEST_STALL_MS
                && self.server.buffers.has_waiting()
            {
                tracing::warn!(
                    client = connection.client.id,
                    addr = connection.client.addr,
                    "closed: it announced a large request, did not send it or read, and others wait"
                );
                self.doom(token);
            } else if connection.answering > 0
                && connection.unsent() > 0
                && idle > LARGE_REQUEST_STALL_MS
                && self.server.buffers.has_replies_waiting()
            {
                tracing::warn!(
                    client = connection.client.id,
                    addr = connection.client.addr,
                    "closed: it did not read a large reply, and others wait"
                );
                self.doom(token);
            } else if connection.unsent() > 0 || connection.answering > 0 {
                // Its request has been answered with little after all, or waits for something else: it asks anew.
                if connection.hold != Hold::Reply {
                    connection.wants = 0;
                }
                self.after_output(token);
            }
        }
    }

    /// Takes nothing more; connections close when their output is sent, and a reply in pieces is
    /// output to its end.
    fn stop(&mut self) {
        self.unlisten();
        self.listeners.clear();
        self.resting_until = None;
        self.stop_at = Some(self.now + SHUTDOWN_DRAIN_MS);
        for token in self.slab.tokens() {
            if let Some(connection) = self.slab.get(token) {
                connection.memcache.close_reason = "shutdown";
                if connection.memcache.left.is_none() {
                    connection.closing = Closing::AfterOutput;
                }
                self.after_output(token);
            }
        }
        self.close_doomed();
    }
}
