//! One TLS connection, which looks to the reactor like a socket.
//!
//! ```text
//!   socket -> read_tls -> [records] -> process -> [plain bytes] -> receive
//!   send   -> [plain bytes] -> writer -> [records] -> write_tls -> socket
//! ```
//! The reactor takes a short receive for an empty socket; where that is wrong, at the peer's end and
//! after as much as one receive may read, [`TlsStream::has_more`] says so. Records that find no room
//! in the socket wait here; [`TlsStream::is_behind`] says so, and nothing more is taken until they
//! are gone.

use super::Counts;
use crate::limits::TLS_SURPLUS_BYTES;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use rustls::{HandshakeKind, ServerConfig, ServerConnection};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub struct TlsStream {
    pub socket: OwnedFd,
    session: ServerConnection,
    buffer_bytes: usize,
    counts: Arc<Counts>,
    is_greeting: bool,
    has_more: bool,
    /// Nothing comes any more; what came before is received first.
    failure: Option<ErrorKind>,
}

/// The socket as rustls wants it.
struct Wire<'a>(&'a OwnedFd);

impl Read for Wire<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(self.0, into, RecvFlags::DONTWAIT).map(|(n, _)| n)?)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let mut nothing = SendAncillaryBuffer::default();
        Ok(rustix::net::sendmsg(self.0, parts, &mut nothing, flags)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TlsStream {
    pub(super) fn new(
        socket: OwnedFd,
        config: Arc<ServerConfig>,
        buffer_bytes: usize,
        counts: Arc<Counts>,
    ) -> Result<TlsStream, rustls::Error> {
        let mut session = ServerConnection::new(config)?;
        session.set_buffer_limit(Some(buffer_bytes));
        Ok(TlsStream {
            socket,
            session,
            buffer_bytes,
            counts,
            is_greeting: true,
            has_more: false,
            failure: None,
        })
    }

    /// As `recv`: a reset, or a record that is none, is told when all that came before it has been received.
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (mut filled, mut records) = (0, 0);
        self.has_more = false;
        while filled < into.len() {
            match self.session.reader().read(&mut into[filled..]) {
                Ok(n) if n > 0 => {
                    filled += n;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // With or without the peer's word that it is the end: requests say how long they are.
                Ok(_) | Err(_) => {
                    self.has_more = true;
                    break;
                }
            }
            if let Some(failure) = self.failure {
                self.has_more = true;
                match filled {
                    0 => return Err(failure.into()),
                    _ => break,
                }
            }
            if records > into.len() + TLS_SURPLUS_BYTES {
                // Records that carry nothing must not keep the thread from its other connections.
                self.has_more = true;
                match filled {
                    0 => return Err(ErrorKind::Interrupted.into()),
                    _ => break,
                }
            }
            match self.session.read_tls(&mut Wire(&self.socket)) {
                Ok(0) => {
                    self.has_more = true;
                    break;
                }
                Ok(n) => {
                    records += n;
                    // The records before a bad one were good.
                    self.failure = self.process().err().map(|error| error.kind());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => match filled {
                    0 => return Err(error),
                    _ => break,
                },
                Err(error) => self.failure = Some(error.kind()),
            }
        }
        Ok(filled)
    }

    fn process(&mut self) -> io::Result<()> {
        let outcome = self.session.process_new_packets();
        // Before the alert goes: whoever has seen it finds it counted.
        if outcome.is_err() && self.is_greeting {
            self.counts.handshake_errors.fetch_add(1, Relaxed);
        }
        // Handshakes and alerts; what finds no room waits for the socket.
        match self.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        if let Err(error) = outcome {
            tracing::debug!(%error, "a TLS connection is closed");
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        if self.is_greeting && !self.session.is_handshaking() {
            self.is_greeting = false;
            if self.session.handshake_kind() != Some(HandshakeKind::Resumed) {
                self.counts.new_sessions.fetch_add(1, Relaxed);
            }
        }
        Ok(())
    }

    /// As `send`: how many bytes were taken, `WouldBlock` if none.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let taken = self.session.writer().write(bytes)?;
        match self.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ if taken == 0 && !bytes.is_empty() => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(taken),
        }
    }

    /// Sends records that wait; `WouldBlock` if some still do.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Wire(&self.socket)) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Records wait for room in the socket.
    pub fn is_behind(&self) -> bool {
        self.session.wants_write()
    }

    /// Bytes of memory that records take which wait, at most.
    pub fn waiting_bytes(&self) -> usize {
        if self.is_behind() { self.buffer_bytes } else { 0 }
    }

    /// Tells the peer that this was all. One that has gone or does not read does without the word.
    pub fn end_sending(&mut self) {
        self.session.send_close_notify();
        let _ = self.flush();
    }

    /// Another receive would tell something, although the last one came back short.
    pub fn has_more(&self) -> bool {
        self.has_more
    }
}

impl Drop for TlsStream {
    fn drop(&mut self) {
        self.end_sending();
    }
}
