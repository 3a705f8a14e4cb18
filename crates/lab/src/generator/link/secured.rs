//! A TLS session over a connected socket: the handshake, records both ways, and what a user can do about its end.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use rustls::ClientConnection;

use super::super::arrival::Arrivals;
use super::super::disagreement::{CERTIFICATE_WANTED, why};
use super::super::tls::Tls;
use super::{Bytes, Link};
use crate::LabError;
use crate::limits::HANDSHAKE;

/// TLS over a socket.
pub struct Secured {
    pub(super) socket: OwnedFd,
    pub(super) rustls: ClientConnection,
    tls: Tls,
    pub(super) address: SocketAddr,
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
    pub(in crate::generator) fn agree(
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

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        if !self.flush()? {
            return Err(Errno::AGAIN);
        }
        let taken = self.rustls.writer().write(bytes).map_err(|error| errno(&error))?;
        self.flush()?;
        Ok(taken)
    }

    pub(super) fn flush(&mut self) -> Result<bool, Errno> {
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

    pub(super) fn receive(
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
    pub(super) fn why(&self) -> Option<String> {
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
