//! Bytes that are read before their time, while the client waits for an element of a list: its end stands
//! behind them.
//!
//! ```text
//!   BLPOP q 0 | 3 MB of further requests | end        the socket's window holds some 100 kB
//!               `-- stored here --------'  `-- seen: the client waits no longer, nothing is popped for it
//! ```
//! A peer that closes is heard of when all that it sent before has been read, and not sooner. If its requests stayed in
//! the socket while it waits, a client that is gone would be served, and the element would be lost with it.
//! Received again, the stored bytes come first; after the last of them the carrier is used as it was.

use super::Transport;
use std::io;

#[derive(Default)]
pub struct Ahead {
    /// None only while the stored bytes are put in front of it, or it takes their place again.
    carrier: Option<Transport>,
    bytes: Vec<u8>,
    /// So many of them have been received.
    at: usize,
}

impl Ahead {
    pub(super) fn carrier(&self) -> &Transport {
        self.carrier.as_ref().expect("bytes are stored in front of a carrier")
    }

    pub(super) fn carrier_mut(&mut self) -> &mut Transport {
        self.carrier.as_mut().expect("bytes are stored in front of a carrier")
    }

    // These are functions of their own, and none is inlined: a function that calls itself is inlined nowhere, and
    // one that returns behind a system call is dear (decision 121).

    #[cold]
    #[inline(never)]
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.carrier_mut().send(bytes)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.carrier_mut().flush()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn is_behind(&self) -> bool {
        self.carrier().is_behind()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn sends_hear(&self) -> bool {
        self.carrier().sends_hear()
    }

    /// Memory that is taken here.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    fn read(&mut self, most: usize) -> io::Result<usize> {
        if self.at > self.bytes.len() / 2 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        // It doubles, so that no byte is copied more often than a few times.
        self.bytes.reserve(most);
        let carrier = self.carrier.as_mut().expect("bytes are stored in front of a carrier");
        carrier.receive_more(&mut self.bytes, most)
    }
}

impl Transport {
    /// Reads some `most` bytes that are received later. Returns as `receive` does: `Ok(0)` is the end.
    pub fn read_ahead(&mut self, most: usize) -> io::Result<usize> {
        if let Transport::Ahead(ahead) = self {
            return ahead.read(most);
        }
        let mut bytes = Vec::with_capacity(most);
        let n = self.receive_more(&mut bytes, most)?;
        if n > 0 {
            bytes.shrink_to_fit();
            let carrier = std::mem::replace(self, Transport::Ahead(Box::default()));
            if let Transport::Ahead(ahead) = self {
                **ahead = Ahead { carrier: Some(carrier), bytes, at: 0 };
            }
        }
        Ok(n)
    }

    /// Bytes that were read ahead and have not been received.
    pub fn stored(&self) -> usize {
        match self {
            Transport::Ahead(ahead) => ahead.bytes.len() - ahead.at,
            _ => 0,
        }
    }

    /// As `receive`, where bytes have been read ahead: those first, and then what the carrier has.
    #[cold]
    #[inline(never)]
    pub(super) fn receive_stored(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Transport::Ahead(ahead) = self else { return self.receive(into) };
        let stored = &ahead.bytes[ahead.at..];
        if !stored.is_empty() {
            let n = stored.len().min(into.len());
            into[..n].copy_from_slice(&stored[..n]);
            ahead.at += n;
            return Ok(n);
        }
        if let Some(carrier) = ahead.carrier.take() {
            *self = carrier;
        }
        self.receive(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
    use std::os::fd::OwnedFd;

    fn pair() -> (Transport, OwnedFd) {
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)
                .unwrap();
        (Transport::Socket(one), other)
    }

    fn say(peer: &OwnedFd, bytes: &[u8]) {
        assert_eq!(send(peer, bytes, SendFlags::empty()).unwrap(), bytes.len());
    }

    #[test]
    fn what_was_read_ahead_is_received_first_and_once() {
        let (mut transport, peer) = pair();
        assert_eq!(transport.read_ahead(4).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(matches!(transport, Transport::Socket(_)), "nothing to store");
        say(&peer, b"abcdefgh");
        let mut room = [0; 3];
        assert!(transport.read_ahead(4).unwrap() > 0);
        while transport.stored() < 8 {
            transport.read_ahead(4).unwrap();
        }
        assert_eq!(transport.receive(&mut room).unwrap(), 3);
        assert_eq!(&room, b"abc");
        say(&peer, b"ij");
        let mut all = Vec::new();
        // More is read ahead behind what has not been received yet.
        transport.read_ahead(4).unwrap();
        while all.len() < 7 {
            assert!(transport.has_more());
            let n = transport.receive(&mut room).unwrap();
            all.extend_from_slice(&room[..n]);
        }
        assert_eq!(all, b"defghij");
        assert!(transport.has_more(), "the socket itself has not been asked");
        assert_eq!(transport.receive(&mut room).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(matches!(transport, Transport::Socket(_)), "as it was before");
        drop(peer);
        assert_eq!(transport.read_ahead(4).unwrap(), 0, "the end");
    }

    #[test]
    fn the_end_comes_behind_what_was_read_ahead() {
        let (mut transport, peer) = pair();
        say(&peer, b"abc");
        drop(peer);
        assert_eq!(transport.read_ahead(8).unwrap(), 3);
        assert_eq!(transport.read_ahead(8).unwrap(), 0);
        let mut room = [0; 8];
        assert_eq!(transport.receive(&mut room).unwrap(), 3);
        assert_eq!(transport.receive(&mut room).unwrap(), 0, "and not before");
    }
}
