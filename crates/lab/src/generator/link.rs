//! A connection's way to its server: the socket itself, or a TLS session over it.
//!
//! ```text
//!   plain   requests -> send                              recv -> replies
//!   TLS     requests -> [records] -> sendmsg    recv -> [records] -> replies
//! ```
//!
//! To its user both look like a socket. Records that found no room in the socket wait in the
//! session: [`Link::is_behind`] says so, and nothing more is taken until they are gone.

mod secured;

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};

pub use self::secured::Secured;
use super::arrival::Arrivals;
use crate::LabError;

/// A connected socket, with TLS or without.
pub enum Link {
    Plain(OwnedFd),
    Tls(Box<Secured>),
}

/// What one receive brought.
pub(super) struct Bytes {
    pub count: usize,
    /// When the last packet of them came in, if the kernel noted it.
    pub at: Option<u64>,
    /// Whether there may be more to read.
    pub more: bool,
}

impl Link {
    /// The socket, to be watched.
    pub fn socket(&self) -> &OwnedFd {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(session) => &session.socket,
        }
    }

    /// From now on a call waits so long at most.
    pub(super) fn set_patience(&self, time: Duration) -> Result<(), LabError> {
        set_socket_timeout(self.socket(), Timeout::Recv, Some(time))
            .map_err(|error| LabError::system("limit the time of a call", error))
    }

    /// From now on calls return in place of waiting.
    pub fn set_nonblocking(&self) -> Result<(), LabError> {
        ioctl_fionbio(self.socket(), true)
            .map_err(|error| LabError::system("make a socket non-blocking", error))
    }

    /// Sends what finds room; returns how many bytes were taken.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Plain(socket) => send(socket, bytes, SendFlags::NOSIGNAL),
            Self::Tls(session) => session.send(bytes),
        }
    }

    /// Whether bytes that were taken wait for room in the socket.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(session) => session.rustls.wants_write(),
        }
    }

    /// Sends bytes that wait; returns whether all are gone.
    pub(super) fn flush(&mut self) -> Result<bool, Errno> {
        match self {
            Self::Plain(_) => Ok(true),
            Self::Tls(session) => session.flush(),
        }
    }

    /// Receives once; with `arrivals` it asks the kernel when the bytes came in. No bytes are the
    /// end of the connection. AGAIN may also say that what came was no part of a reply.
    #[inline]
    pub(super) fn receive(
        &mut self,
        into: &mut [u8],
        arrivals: Option<&mut Arrivals>,
    ) -> Result<Bytes, Errno> {
        match self {
            Self::Plain(socket) => {
                let size = into.len();
                let (count, at) = match arrivals {
                    Some(arrivals) => arrivals.receive(socket, into)?,
                    None => (recv(socket, into, RecvFlags::empty())?.0, None),
                };
                Ok(Bytes { count, at, more: count == size })
            }
            Self::Tls(session) => session.receive(into, arrivals),
        }
    }

    /// The sentence for an error of a call that did what the text says.
    pub(super) fn failed(&self, doing: &str, error: Errno) -> LabError {
        if let Self::Tls(session) = self
            && let Some(why) = session.why()
        {
            return LabError::Tls { place: session.address.to_string(), why };
        }
        match error {
            Errno::PIPE | Errno::CONNRESET => LabError::Closed,
            error => LabError::system(doing, error),
        }
    }

    /// The sentence for the end of the connection.
    pub(super) fn closed(&self) -> LabError {
        self.failed("receive replies", Errno::CONNRESET)
    }
}
