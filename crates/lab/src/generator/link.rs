//! A connection's way to its server: the socket itself, or a TLS session over it.
//!
//! ```text
//!   plain   requests -> send                              recv -> replies
//!   TLS     requests -> [records] -> sendmsg    recv -> [records] -> replies
//! ```
//!
//! To its user both look like a socket. Records that found no room in the socket wait in the
//! session: [`Link::is_behind`] says so, and nothing more is taken until they are gone.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use rustls::ClientConnection;

use super::arrival::Arrivals;
use super::disagreement::{CERTIFICATE_WANTED, why};
use super::tls::Tls;
use crate::LabError;
use crate::limits::HANDSHAKE;

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

/// TLS over a socket.
pub struct Secured {
    socket: OwnedFd,
    rustls: ClientConnection,
    tls: Tls,
    address: SocketAddr,
    /// What broke it.
    broken: Option<rustls::Error>,
    /// Whether any reply has come.
    is_heard: bool,
}

/// The socket as rustls wants it.
struct Wire<'a> {
    socket: &'a OwnedFd,
    arrivals: Option<&'a mut Arrivals>,
    at: Option<u64>,
    /// Whether less came than was asked for: there is no more for now.
    is_short: bool,
}

impl<'a> Wire<'a> {
    fn new(socket: &'a OwnedFd, arrivals: Option<&'a mut Arrivals>) -> Self {
        Self { socket, arrivals, at: None, is_short: false }
    }
}

impl Read for Wire<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = into.len();
        let count = match &mut self.arrivals {
            None => recv(self.socket, into, RecvFlags::empty())?.0,
            Some(arrivals) => {
                let (count, at) = arrivals.receive(self.socket, into)?;
                self.at = at;
                count
            }
        };
        self.is_short = count < size;
        Ok(count)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing = SendAncillaryBuffer::default();
        Ok(sendmsg(self.socket, parts, &mut nothing, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the system said; rustls' own complaints are none of its errors.
fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::PROTO)
}

impl Secured {
    /// Agrees on TLS over a socket that waits.
    pub(super) fn agree(
        socket: OwnedFd,
        tls: &Tls,
        address: SocketAddr,
    ) -> Result<Box<Self>, LabError> {
        let failed = |why: String| LabError::Tls { place: address.to_string(), why };
        let rustls = tls.session().map_err(|error| failed(why(&error)))?;
        let (tls, broken, is_heard) = (tls.clone(), None, false);
        let mut session = Box::new(Self { socket, rustls, tls, address, broken, is_heard });
        session.patience(true)?;
        let begun = Instant::now();
        while session.rustls.is_handshaking() {
            let mute = || {
                let seconds = HANDSHAKE.as_secs();
                let hint = "ask at its TLS port, or without --tls";
                failed(format!("no answer to the handshake within {seconds} seconds; {hint}"))
            };
            if crate::interrupt::asked() {
                return Err(LabError::Interrupted);
            }
            if begun.elapsed() > HANDSHAKE {
                return Err(mute());
            }
            let mut turn = || {
                session.flush()?;
                let mut wire = Wire::new(&session.socket, None);
                let count = session.rustls.read_tls(&mut wire).map_err(|error| errno(&error))?;
                session.process()?;
                Ok(count)
            };
            match turn() {
                Ok(0) | Err(Errno::CONNRESET | Errno::PIPE) => {
                    let hung_up = "the server hung up on the handshake; ask at its TLS port, or without --tls";
                    return Err(failed(session.why().unwrap_or_else(|| hung_up.into())));
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(mute()),
                Err(error) => return Err(Link::Tls(session).failed("agree on TLS", error)),
            }
        }
        session.flush().map_err(|error| LabError::system("agree on TLS", error))?;
        session.patience(false)?;
        Ok(session)
    }

    /// Whether calls wait for a limited time only.
    fn patience(&self, limited: bool) -> Result<(), LabError> {
        let time = limited.then_some(HANDSHAKE);
        for direction in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&self.socket, direction, time)
                .map_err(|error| LabError::system("limit the time of a handshake", error))?;
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        if !self.flush()? {
            return Err(Errno::AGAIN);
        }
        let taken = self.rustls.writer().write(bytes).map_err(|error| errno(&error))?;
        self.flush()?;
        Ok(taken)
    }

    fn flush(&mut self) -> Result<bool, Errno> {
        while self.rustls.wants_write() {
            match self.rustls.write_tls(&mut Wire::new(&self.socket, None)) {
                Ok(_) => {}
                Err(error) => match errno(&error) {
                    Errno::AGAIN => return Ok(false),
                    Errno::INTR => {}
                    other => return Err(other),
                },
            }
        }
        Ok(true)
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        mut arrivals: Option<&mut Arrivals>,
    ) -> Result<Bytes, Errno> {
        let (mut count, mut at, mut is_short) = (0, None, false);
        loop {
            while count < into.len() {
                match self.rustls.reader().read(&mut into[count..]) {
                    Ok(0) => break,
                    Ok(got) => count += got,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // The end without the peer's word that it is: replies say how long they are.
                    Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                    Err(error) => return Err(errno(&error)),
                }
            }
            if count > 0 {
                self.is_heard = true;
                return Ok(Bytes { count, at, more: !is_short || count == into.len() });
            }
            if is_short {
                return Err(Errno::AGAIN);
            }
            let mut wire = Wire::new(&self.socket, arrivals.as_deref_mut());
            let got = self.rustls.read_tls(&mut wire).map_err(|error| errno(&error))?;
            (at, is_short) = (wire.at, wire.is_short);
            if got == 0 {
                return Ok(Bytes { count, at, more: false });
            }
            self.process()?;
        }
    }

    /// Looks at the records that have come.
    fn process(&mut self) -> Result<(), Errno> {
        let done = self.rustls.process_new_packets();
        if let Err(error) = done {
            self.broken = Some(error);
            // The peer is told why; one that has gone is not.
            let _ = self.flush();
            return Err(Errno::PROTO);
        }
        Ok(())
    }

    /// What a user can do about its end, if TLS was the reason.
    fn why(&self) -> Option<String> {
        let unarmed = !self.is_heard && self.tls.went_unarmed();
        match &self.broken {
            _ if unarmed => Some(CERTIFICATE_WANTED.into()),
            Some(error) => Some(why(error)),
            None => None,
        }
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        self.rustls.send_close_notify();
        // A peer that does not read does without the word: nobody waits for it here.
        let _ = ioctl_fionbio(&self.socket, true);
        let _ = self.flush();
    }
}
