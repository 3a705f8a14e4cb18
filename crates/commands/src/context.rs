//! What a command runs in: the store, the server, the client, the time and the reply buffer.

use crate::connection::ClientState;
use crate::host::Host;
use crate::limits::REWRITE_GROWTH_BYTES_MAX;
use crate::outlet::Outlet;
use crate::redis::error::CommandError;
use dolium_engine::{Db, Fetch, Found, Key, Kind, Millis, Session};
use dolium_protocol::resp::RespWriter;

pub struct Context<'a> {
    /// This thread's handle on the store.
    pub session: &'a Session,
    /// What only the server can answer.
    pub host: &'a dyn Host,
    pub client: &'a mut ClientState,
    /// The time at which the batch began: every command of a batch sees the same.
    pub now: Millis,
    /// Replies are appended here.
    pub out: &'a mut Vec<u8>,
    /// What the passes of the batch have seen of the command's first key; `Fetch::NONE` outside of
    /// a batch.
    pub fetch: &'a Fetch,
    /// Past `out`, for large values; `None` if their replies may not be sent yet, or not at all.
    pub outlet: Option<&'a mut dyn Outlet>,
}

/// What the front end does after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    Continue,
    /// Send what `out` holds, then close the connection (QUIT, CLIENT KILL of oneself).
    Close,
    /// Hold the connection's further requests back: its client waits for an element of a list.
    Wait,
}

impl Context<'_> {
    /// A writer of this client's protocol version.
    #[inline]
    pub fn reply(&mut self) -> RespWriter<'_> {
        RespWriter::new(self.out, self.client.resp)
    }

    #[inline]
    pub fn db(&self) -> Db {
        self.client.db
    }

    /// A key that is not the first one of its command.
    #[inline]
    pub fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        self.session.engine().key(bytes)
    }

    /// What is known of a key, counted as a hit or a miss. It is no use of the key.
    pub fn look(&self, key: &Key<'_>) -> Option<Found> {
        let found = self.session.peek(self.client.db, key, self.now);
        self.session.count_look(found.is_some());
        found
    }

    /// Makes room for a value before any lock is taken. EXEC has done it for its commands: they
    /// run under locks, where evicting could wait for ever.
    #[inline]
    pub fn make_room(&self, bytes: usize) -> Result<(), CommandError> {
        if self.client.transaction.running {
            return Ok(());
        }
        self.session.make_room(bytes, self.now).map_err(|_| CommandError::NoRoom)
    }

    /// The same for a change of a key that is there, which does not go for it.
    pub fn make_room_beside(&self, key: &Key<'_>, bytes: usize) -> Result<(), CommandError> {
        if self.client.transaction.running {
            return Ok(());
        }
        let room = self.session.make_room_beside(self.client.db, key, bytes, self.now);
        room.map_err(|_| CommandError::NoRoom)
    }
}

/// For how many bytes room is made before another copy of an item is, which a change of its form (a
/// first time to live, a first unique number) takes.
pub fn rewritten_bytes(key: &Key<'_>, found: &Found) -> usize {
    // The engine knows what comes on top of key and value. With more than these, room would be made for
    // a larger size of blocks, and the item's own could have none.
    match found.kind {
        Kind::String => key.bytes().len() + found.len,
        _ => found.block_bytes + REWRITE_GROWTH_BYTES_MAX,
    }
}
