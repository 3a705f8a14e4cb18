//! What a Memcached client is sent without asking again: the lines of a watcher, the rest of a dump.
//!
//! Each piece is made when the last has been sent, so that a client that does not read costs one
//! piece of memory, and other connections are served between two pieces.

use super::Reactor;
use crate::clients::Token;
use crate::connection::{Closing, Hold, Sent};
use crate::limits::MEMCACHE_DB;

impl Reactor {
    /// Sends the next piece, if the connection has room for it.
    pub(super) fn feed(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        if connection.hold != Hold::Feed || connection.is_closing() || connection.unsent() > 0 {
            return;
        }
        let mut piece = Vec::new();
        let mut is_last = false;
        if let Some(dump) = &mut connection.memcache.dump {
            let settings = &self.server.memcached.settings;
            is_last = dump.step(settings, &self.session, MEMCACHE_DB, self.now, &mut piece);
        } else if let Some(lines) = self.server.memcached.watchers.take(connection.client.id) {
            piece = lines;
        } else {
            return;
        }
        if is_last {
            connection.memcache.dump = None;
            connection.hold = Hold::No;
            connection.last_ms = self.now;
            if connection.at_end && connection.input.is_empty() {
                connection.closing = Closing::AfterOutput;
            }
        }
        self.counters.bytes_out.add(piece.len() as u64);
        self.counters.sends.add(1);
        let is_over = connection.is_closing();
        match connection.send(&mut piece) {
            Sent::All if is_over => self.after_output(token),
            // The next piece after everybody else's turn.
            Sent::All => self.make_ready(token),
            Sent::Partly => self.after_output(token),
            Sent::Gone => self.doom(token),
        }
    }
}
