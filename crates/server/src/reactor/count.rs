//! What the budget is told of a connection's memory, and the end of whoever has too much of it.
//!
//! ```text
//!   of this thread, with unsent output:  freed and closed here and now, and sent nothing more
//!   else:                                told to go by mail, behind what it has been served before
//! ```
//! Output for many, such as a message of a channel, is looked at here after each of them, and is gone for those who
//! are closed for it before the next is written to. So memory stays below the bound and, beside it, what each thread
//! writes at once: one message, or one reply.

use super::Reactor;
use crate::clients::{Card, Token};
use std::sync::atomic::Ordering::Relaxed;

impl Reactor {
    /// Tells the budget what the connection takes now. When all together take more than they may, somebody goes.
    pub(super) fn count_buffers(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        let buffers = &self.server.buffers;
        connection.give_back_answered(buffers);
        let card = &connection.card;
        let queued = connection.input.len() + connection.transport.stored();
        card.query_bytes.store(queued as u64, Relaxed);
        let bytes = connection.buffer_bytes();
        if bytes == connection.counted {
            return;
        }
        card.granted_bytes.store(connection.reserved + connection.answering, Relaxed);
        let used = buffers.resize(connection.counted, bytes);
        let grew = bytes > connection.counted;
        connection.counted = bytes;
        card.buffer_bytes.store(bytes, Relaxed);
        let free = connection.input.capacity() - connection.input.len();
        card.query_free.store(free as u64, Relaxed);
        // Who has been chosen to go already is not to take another with it.
        if card.is_leaving() {
            let before = card.leaving_bytes.swap(bytes.max(1), Relaxed);
            buffers.begin_leaving(bytes.max(1));
            buffers.end_leaving(before);
            return;
        }
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        let bound = buffers.bound(budget);
        if grew && used.saturating_sub(buffers.leaving()) > bound {
            self.close_some(bound);
        }
    }

    #[cold]
    fn close_some(&mut self, bound: u64) {
        let server = self.server.clone();
        let used = server.buffers.staying();
        for card in server.clients.choose_leaving(&server.buffers, bound, self.now) {
            tracing::warn!(
                client = card.id,
                addr = card.addr,
                bytes = card.buffer_bytes.load(Relaxed),
                used,
                bound,
                "closed: clients' buffers passed client-buffers-max, and its had not been read or were among the largest"
            );
            let Some(card) = server.clients.kill(card.id) else { continue };
            if !self.shed(&card) {
                // By mail, also where it is of this thread: what it was served before is sent to it before that.
                server.waiting.kill(&server, &card);
            }
        }
    }

    /// Frees the output of a connection of this thread that has been chosen to go, and closes it. False: it is
    /// another's, or has none, and may still be sent what it was served.
    pub(super) fn shed(&mut self, card: &Card) -> bool {
        let token = card.token;
        let Some(connection) = self.slab.get(token).filter(|_| card.thread == self.thread) else {
            return false;
        };
        if connection.unsent() == 0 {
            return false;
        }
        self.freed += connection.output.capacity() as u64;
        (connection.output, connection.sent) = (Vec::new(), 0);
        // From the middle of a reply on nothing else may follow.
        self.doom(token);
        self.count_buffers(token);
        self.give_back_freed();
        true
    }

    /// The allocator keeps what was freed for a second, beside what takes its place meanwhile: where many subscribers
    /// are closed in a row that is several times the budget. So it is told to let go, each time when the threads
    /// together have freed some quarter of the budget.
    fn give_back_freed(&mut self) {
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        let threads = self.server.posts.len() as u64;
        if self.freed >= budget / 4 / threads {
            self.freed = 0;
            self.server.config.heap.give_back();
        }
    }
}
