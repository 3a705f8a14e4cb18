//! A client's ring as an event loop sees it.
//!
//! The loop reads until a receive comes up short, and then waits for an event. So a receive that
//! comes up short has told the client to ring for data, and a send that comes up short, to ring
//! for space; until the client does (and takes the wish back in doing so) the wish stays.

use crate::transport::RingPort;
use dolium_engine::ring::{RingEnd, RingFault, RingMemory, RingPlan};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// More bells than a socket of the usual size has room for, of a byte each.
const BELLS_MAX: usize = 4096;

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

    /// Takes the bells that have rung off the socket, all that it has room for, or notices its end.
    fn hear(&mut self) {
        let mut bells = [MaybeUninit::uninit(); BELLS_MAX];
        match rustix::net::recv(&self.socket, &mut bells, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => self.is_gone = true,
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(_) => self.is_gone = true,
        }
    }

    /// Is nobody there any more? A full ring does not fail as a closed socket does, so who finds no
    /// room asks. Bells stay on the socket: one may have rung for a wish just made.
    fn is_deserted(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        poll(&mut fds, Some(&now)) == Ok(1) && fds[0].revents().intersects(ends)
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
        if filled > 0 {
            return Ok(filled);
        }
        // Bells may stand on the socket before its end, and the end is announced but once.
        if self.is_gone || self.is_deserted() {
            // What it sent before its end, or nothing: the end.
            return self.end.receive_into(into).map_err(fault);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // It may be many times that a client makes room without having something to say. Bells that
        // nobody takes off fill the socket, and the one that does not fit is the one that counts.
        if self.is_blocked {
            self.hear();
        }
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
        if self.is_blocked && self.is_deserted() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if sent == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(sent)
    }
}

fn fault(fault: RingFault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault)
}
