//! What carries a connection's bytes: a socket, TLS over one, or a ring in memory shared with a local
//! process; for a while with bytes in front of it that were read before their time (`ahead.rs`).
//!
//! The reactor treats all alike: a descriptor that becomes readable, bytes in, bytes out, and
//! `WouldBlock` when there is nothing or no room.

mod ahead;

use crate::tls::TlsStream;
use ahead::Ahead;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, sockopt};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A ring that a local process shares with the server.
pub trait RingPort: Send {
    /// Readable when the peer has put something in or has made room; at its end when it is gone.
    fn doorbell(&self) -> BorrowedFd<'_>;
    /// As `recv`: `Ok(0)` when the peer is gone, `WouldBlock` when the ring is empty. A ring must
    /// be able to hold at least one byte of a request of any length.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// As `send`: how many bytes there was room for, `WouldBlock` if for none. After that it may take
    /// off what made the doorbell readable.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// From now on the peer need not ring for what it puts in: who calls this asks `has_input`, until `end_looks`.
    fn begin_looks(&mut self);
    /// Something can be received, if only the end of a spoiled ring.
    fn has_input(&self) -> bool;
    /// From now on the peer rings again. True: something came before that, for which it will not ring.
    fn end_looks(&mut self) -> bool;
}

pub enum Transport {
    Socket(OwnedFd),
    Ring(Box<dyn RingPort>),
    Tls(Box<TlsStream>),
    Ahead(Box<Ahead>),
}

impl Transport {
    #[inline(always)]
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Socket(fd) => {
                Ok(rustix::net::recv(fd, into, RecvFlags::DONTWAIT).map(|(n, _)| n)?)
            }
            Transport::Ring(ring) => ring.receive(into),
            Transport::Tls(stream) => stream.receive(into),
            Transport::Ahead(_) => self.receive_stored(into),
        }
    }

    /// Whether an event that there is room comes whenever the peer has read something, and not only
    /// after there was none: a Unix socket does that, which a ring's bell is too. Nearly all of them
    /// would be for nothing.
    pub fn tells_of_every_read(&self) -> bool {
        sockopt::socket_domain(self.as_fd()) == Ok(AddressFamily::UNIX)
    }

    /// A part of what was given to `send` waits here for room in the socket.
    #[inline]
    pub fn is_behind(&self) -> bool {
        match self {
            Transport::Socket(_) | Transport::Ring(_) => false,
            Transport::Tls(stream) => stream.is_behind(),
            Transport::Ahead(ahead) => ahead.is_behind(),
        }
    }

    /// Sends what waits here; `WouldBlock` if some still does.
    #[inline]
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Transport::Socket(_) | Transport::Ring(_) => Ok(()),
            Transport::Tls(stream) => stream.flush(),
            Transport::Ahead(ahead) => ahead.flush(),
        }
    }

    /// Nothing more will be sent; the peer is told so. False: of this transport it cannot be.
    pub fn end_sending(&mut self) -> bool {
        match self {
            Transport::Socket(_) => {}
            Transport::Tls(stream) => stream.end_sending(),
            Transport::Ring(_) => return false,
            Transport::Ahead(ahead) => return ahead.carrier_mut().end_sending(),
        }
        rustix::net::shutdown(self.as_fd(), rustix::net::Shutdown::Write).is_ok()
    }

    /// Bytes of memory that wait here, for room in the socket (at most) or to be received.
    pub fn waiting_bytes(&self) -> usize {
        match self {
            Transport::Socket(_) | Transport::Ring(_) => 0,
            Transport::Tls(stream) => stream.waiting_bytes(),
            Transport::Ahead(ahead) => ahead.memory() + ahead.carrier().waiting_bytes(),
        }
    }

    /// A send may have taken the news of input off the descriptor.
    #[inline]
    pub fn sends_hear(&self) -> bool {
        match self {
            Transport::Socket(_) | Transport::Tls(_) => false,
            Transport::Ring(_) => true,
            Transport::Ahead(ahead) => ahead.sends_hear(),
        }
    }

    /// The ring, if it is one that carries the bytes.
    pub fn ring(&mut self) -> Option<&mut dyn RingPort> {
        match self {
            Transport::Socket(_) | Transport::Tls(_) => None,
            Transport::Ring(ring) => Some(ring.as_mut()),
            Transport::Ahead(ahead) => ahead.carrier_mut().ring(),
        }
    }

    /// Another receive would tell something, although the last one came back short.
    #[inline]
    pub fn has_more(&self) -> bool {
        match self {
            Transport::Socket(_) | Transport::Ring(_) => false,
            Transport::Tls(stream) => stream.has_more(),
            // What comes behind the stored bytes has not been looked at.
            Transport::Ahead(_) => true,
        }
    }

    /// How much [`Transport::receive_more`] would take: less than that is the end for now.
    pub fn room(&self, into: &Vec<u8>, most: usize) -> usize {
        let free = into.capacity() - into.len();
        match self {
            Transport::Socket(_) => free,
            Transport::Ring(_) | Transport::Tls(_) | Transport::Ahead(_) => free.min(most),
        }
    }

    /// Receives into the free capacity of `into`. What a ring or TLS gives goes through memory
    /// that is zeroed first, so from there it is at most `most` bytes.
    pub fn receive_more(&mut self, into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        match self {
            Transport::Socket(fd) => {
                let room = rustix::buffer::spare_capacity(into);
                let (n, _) = rustix::net::recv(fd, room, RecvFlags::DONTWAIT)?;
                Ok(n)
            }
            Transport::Ring(_) | Transport::Tls(_) | Transport::Ahead(_) => {
                let (start, room) = (into.len(), (into.capacity() - into.len()).min(most));
                into.resize(start + room, 0);
                let n = self.receive(&mut into[start..]);
                into.truncate(start + n.as_ref().copied().unwrap_or(0));
                n
            }
        }
    }

    #[inline(always)]
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Socket(fd) => {
                Ok(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
            }
            Transport::Ring(ring) => ring.send(bytes),
            Transport::Tls(stream) => stream.send(bytes),
            Transport::Ahead(ahead) => ahead.send(bytes),
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Socket(fd) => fd.as_fd(),
            Transport::Ring(ring) => ring.doorbell(),
            Transport::Tls(stream) => stream.socket.as_fd(),
            Transport::Ahead(ahead) => ahead.carrier().as_fd(),
        }
    }
}
