//! What a command runs in: the store, the server, the client, the time and the reply buffer.

use crate::connection::ClientState;
use crate::host::Host;
use dolium_engine::{Millis, Session};

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
}

/// What the front end does after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    Continue,
    /// Send what `out` holds, then close the connection (QUIT, CLIENT KILL of oneself).
    Close,
}
