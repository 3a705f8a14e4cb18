//! A client's ring as an event loop sees it.
//!
//! The loop reads until a receive comes up short, and then waits for an event. So a receive that
//! comes up short has told the client to ring for data, and a send that comes up short, to ring
//! for space; until the client does (and takes the wish back in doing so) the wish stays.

use crate::transport::RingPort;
use dolium_engine::ring::{RingEnd, RingFault, RingMemory, RingPlan};
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub struct Port {
    socket: OwnedFd,
    end: RingEnd<RingMemory>,
    /// A send found no room, and none has come up whole since.
    is_blocked: bool,
    is_gone: bool,
    /// All ports there are, this one among them.
    count: Arc<AtomicUsize>,
}

impl Port {
    /// Counts itself in `count` while it lives.
    pub fn new(socket: OwnedFd, memory: RingMemory, count: Arc<AtomicUsize>) -> Port {
        count.fetch_add(1, Relaxed);
        let mut end = RingEnd::server(memory, &RingPlan::STANDARD);
        // The client has not got the ring yet: from its first request on it rings.
        let fresh = end.await_data(false);
        debug_assert_eq!(fresh, Ok(true));
        Port { socket, end, is_blocked: false, is_gone: false, count }
    }

    /// Takes the bells that have rung off the socket, or notices its end.
    fn hear(&mut self) {
        let mut bells = [0; 64];
        match rustix::net::recv(&self.socket, &mut bells, RecvFlags::DONTWAIT) {
            Ok((0, _)) => self.is_gone = true,
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(_) => self.is_gone = true,
        }
    }

    fn ring_bell(&mut self) {
        if self.end.bell_needed() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            // A full socket holds bells enough; a closed one is noticed at the next receive.
            let _ = rustix::net::send(&self.socket, &[1], flags);
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Relaxed);
    }
}

impl RingPort for Port {
    fn doorbell(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.hear();
        if !self.is_blocked {
            self.end.awake();
        }
        let mut filled = 0;
        loop {
            filled += self.end.receive_into(&mut into[filled..]).map_err(fault)?;
            if filled == into.len() || self.end.await_data(self.is_blocked).map_err(fault)? {
                break;
            }
        }
        self.ring_bell();
        match filled {
            0 if self.is_gone => Ok(0),
            0 => Err(io::ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_gone {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut sent = 0;
        while sent < bytes.len() {
            let n = self.end.send(&bytes[sent..]).map_err(fault)?;
            sent += n;
            if n == 0 && self.end.await_space().map_err(fault)? {
                break;
            }
        }
        self.is_blocked = sent < bytes.len();
        self.ring_bell();
        if sent == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(sent)
    }
}

fn fault(fault: RingFault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault)
}
