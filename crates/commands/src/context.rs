//! What a command runs in: the store, the server, the client, the time and the reply buffer.

use crate::connection::ClientState;
use crate::host::Host;
use crate::outlet::Outlet;
use dolium_engine::{Db, Fetch, Key, Millis, Session, StoreError};
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

    /// Makes room for a value before any lock is taken. EXEC has done it for its commands: they
    /// run under locks, where evicting could wait for ever.
    #[inline]
    pub fn make_room(&self, bytes: usize) -> Result<(), StoreError> {
        if self.client.transaction.running {
            return Ok(());
        }
        self.session.make_room(bytes, self.now)
    }
}
