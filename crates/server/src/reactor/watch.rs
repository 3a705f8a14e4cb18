//! What a connection's descriptor tells the thread of, each time once (edge-triggered).
//!
//! ```text
//!   TCP, TLS             input, room   registered once: a socket tells of room after there was none
//!   Unix socket, a ring  input         it tells of room whenever its peer has read something (or has
//!                                      heard a ring's bell, which is such a socket): it is asked for
//!                        input, room   that when there was none for the first time
//!   a busy socket        nothing      (`busy.rs`); watched again it tells of the input that there is, and
//!                                     of room only when it is asked for that, as a Unix socket
//! ```
//! A thread that answers one request at a time would otherwise be woken twice for each.

use super::Reactor;
use crate::clients::Token;
use crate::connection::Connection;
use crate::transport::Transport;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::os::fd::{AsFd, OwnedFd};

const READS: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);
const READS_AND_ROOM: EventFlags = READS.union(EventFlags::OUT);

impl Reactor {
    /// Watches a new connection; whether for room too.
    pub(super) fn watch(&self, transport: &Transport, token: Token) -> std::io::Result<bool> {
        let for_room = !transport.tells_of_every_read();
        let flags = if for_room { READS_AND_ROOM } else { READS };
        epoll::add(&self.epoll, transport.as_fd(), data(token), flags)?;
        Ok(for_room)
    }

    /// The descriptor of a connection that was silent tells of input again: at once if there is some.
    pub(super) fn watch_again(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        if connection.unsent() > 0 {
            return self.watch_for_room(token);
        }
        let fd = connection.transport.as_fd();
        if let Err(error) = epoll::modify(&self.epoll, fd, data(token), READS) {
            tracing::warn!(%error, "a connection cannot be watched again and is closed");
            self.doom(token);
        }
    }

    /// From now on the descriptor also tells of room: at once if there is some already.
    #[cold]
    pub(super) fn watch_for_room(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        let fd = connection.transport.as_fd();
        match epoll::modify(&self.epoll, fd, data(token), READS_AND_ROOM) {
            Ok(()) => connection.watches_room = true,
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be watched for room and is closed");
                self.doom(token);
            }
        }
    }
}

/// The descriptor tells of nothing any more but that the connection has broken, once. False: it does not
/// obey, and tells as before.
pub(super) fn silence(epoll: &OwnedFd, connection: &mut Connection) -> bool {
    let fd = connection.transport.as_fd();
    let is_silent = epoll::modify(epoll, fd, data(connection.token), EventFlags::ET).is_ok();
    if is_silent {
        connection.watches_room = false;
    }
    is_silent
}

/// A token as an event brings it back.
pub(super) fn data(token: Token) -> EventData {
    EventData::new_u64(u64::from(token.generation) << 32 | u64::from(token.index))
}
