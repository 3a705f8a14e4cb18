//! Room in the budget of buffers for a reply that is large: most of it waits for its peer in the
//! connection's own memory, as a large request does while it comes.
//!
//! ```text
//!   has run, its reply is large --> room is granted --------------> sent; given back with its last byte
//!            ^                         `-- not now: the reply is thrown away, the request is held
//!            `--------------------------------------------- until it is granted its room
//! ```
//! How large a reply is, nobody knows for certain before it is there. So who has to wait runs again; a request that
//! may change something cannot, and where there is no room its reply counts as a small one does.
//!
//! Where others have been granted room, a request that answers with values of its keys (GET, LPOP, EXEC, `gat` ...)
//! asks before it runs, for as much as those are long now: nothing is made to be thrown away, and nothing is taken
//! that cannot be handed over. That a value grows in between is rare, and costs what it did.
//!
//! One of less than a sixteenth of the budget asks only where a quarter of that is in use: when such replies
//! never asked, nine of seventeen clients with 4 MB each were closed.

use super::Stage;
use crate::clients::Token;
use crate::connection::{Connection, Hold};
use crate::limits::LARGE_REPLY_BYTES_MIN;
use crate::reactor::Reactor;
use dolium_commands::connection::ClientState;
use dolium_commands::outlet::Outlet;
use dolium_engine::Session;
use std::sync::atomic::Ordering::Relaxed;

impl Stage<'_> {
    /// Whether what has been answered behind the first `before` bytes of replies may be sent. False: it
    /// is taken back, and the connection is held; its request is to be kept.
    #[inline(always)]
    pub(super) fn has_room_for_reply(
        &mut self,
        connection: &mut Connection,
        before: usize,
        may_wait: bool,
    ) -> bool {
        let is_small = self.out.len() < before + LARGE_REPLY_BYTES_MIN;
        is_small || self.has_room_for_large(connection, before, may_wait)
    }

    #[cold]
    #[inline(never)]
    fn has_room_for_large(
        &mut self,
        connection: &mut Connection,
        before: usize,
        may_wait: bool,
    ) -> bool {
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        // Several values in one reply have doubled the buffer, and it is counted by its capacity.
        self.out.shrink_to_fit();
        let len = (self.out.len() - before) as u64;
        let is_free = self.server.buffers.used() + len <= budget / 4;
        if len < budget / 16 && is_free && connection.answering == 0 {
            return true;
        }
        let wanted = (connection.output.len() + self.out.len()) as u64;
        let more = wanted.saturating_sub(connection.answering);
        let buffers = &self.server.buffers;
        connection.wants = 0;
        if buffers.reserve_reply(more, connection.answering, budget) {
            connection.answering += more;
            return true;
        }
        if !may_wait {
            return true;
        }
        self.wait_for_room(connection, more);
        let lent = self.loans.count_before(before);
        self.loans.take_back(lent);
        self.out.truncate(before);
        self.out.shrink_to_fit();
        false
    }

    /// Others have been granted room: this connection may find none. Who is alone always does.
    #[inline(always)]
    pub(super) fn is_room_shared(&self, connection: &Connection) -> bool {
        self.server.buffers.replies() > connection.answering
    }

    /// Whether the request may run, whose reply is as long as `foretell` says. False: the connection is held.
    #[cold]
    #[inline(never)]
    pub(super) fn has_room_ahead(
        &mut self,
        connection: &mut Connection,
        foretell: impl FnOnce(&Session, &ClientState, u64) -> u64,
    ) -> bool {
        let len = foretell(self.session, &connection.client, self.now);
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        let buffers = &self.server.buffers;
        let is_free = buffers.used() + len <= budget / 4;
        let is_small = len < LARGE_REPLY_BYTES_MIN as u64;
        if is_small || len < budget / 16 && is_free && connection.answering == 0 {
            return true;
        }
        // What is not sent yet of earlier replies is in it, as where it is asked afterwards.
        let wanted = (connection.output.len() + self.out.len()) as u64 + len;
        let more = wanted.saturating_sub(connection.answering);
        connection.wants = 0;
        if buffers.reserve_reply(more, connection.answering, budget) {
            connection.answering += more;
            return true;
        }
        self.wait_for_room(connection, more);
        false
    }

    fn wait_for_room(&mut self, connection: &mut Connection, more: u64) {
        connection.wants = more;
        connection.hold = Hold::Reply;
        self.server.buffers.reply_waits();
        self.unanswered.push(connection.token);
    }
}

impl Reactor {
    /// Connections whose large replies waited for room ask again when some has come back, for as much as
    /// they were: only who is granted it runs its request again.
    pub(in crate::reactor) fn answer_waiting(&mut self) {
        let buffers = &self.server.buffers;
        let releases = buffers.reply_releases();
        if self.unanswered.is_empty() || releases == self.replies_seen {
            self.replies_seen = releases;
            return;
        }
        self.replies_seen = releases;
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        for token in std::mem::take(&mut self.unanswered) {
            let buffers = &self.server.buffers;
            match self.slab.get(token) {
                Some(connection) if connection.hold == Hold::Reply => {
                    let (more, own) = (connection.wants, connection.answering);
                    if !buffers.reserve_reply(more, own, budget) {
                        self.unanswered.push(token);
                        continue;
                    }
                    connection.answering += more;
                    connection.hold = Hold::No;
                    self.make_ready(token);
                }
                _ => {}
            }
            self.server.buffers.reply_waits_no_longer();
        }
    }

    /// The connection goes.
    pub(in crate::reactor) fn forget_unanswered(&mut self, token: Token) {
        if let Some(at) = self.unanswered.iter().position(|one| *one == token) {
            self.unanswered.swap_remove(at);
            self.server.buffers.reply_waits_no_longer();
        }
    }
}
