//! A client's ring as an event loop sees it.
//!
//! The loop reads until a receive comes up short, and then waits for an event. So a receive that
//! comes up short has told the client to ring for data, and a send that comes up short, to ring
//! for space; until the client does (and takes the wish back in doing so) the wish stays. While the
//! loop looks by itself (`reactor/rings.rs`) there is no wish for data.

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
    /// The loop looks for data by itself.
    is_looked_at: bool,
    is_gone: bool,
    /// The client's process, for the log.
    pid: i32,
    /// All ports there are, this one among them.
    count: Arc<AtomicUsize>,
}

impl Port {
    /// Counts itself in `count` while it lives.
    pub fn new(socket: OwnedFd, memory: RingMemory, pid: i32, count: Arc<AtomicUsize>) -> Port {
        count.fetch_add(1, Relaxed);
        let mut end = RingEnd::server(memory, &RingPlan::STANDARD);
        // The client has not got the ring yet: from its first request on it rings.
        let fresh = end.await_data(false);
        debug_assert_eq!(fresh, Ok(true));
        Port { socket, end, is_blocked: false, is_looked_at: false, is_gone: false, pid, count }
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

    /// Takes all bells off the socket but one, or notices its end. With the one the loop's event for it
    /// comes, and it looks for data: the wish for those was granted by the bell, and nobody has made it
    /// anew if what is sent now comes up whole.
    fn thin_bells(&mut self) {
        let mut bells = [MaybeUninit::uninit(); BELLS_MAX];
        let peek = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        let spare = match rustix::net::recv(&self.socket, &mut bells, peek) {
            Ok((_, 0)) => {
                self.is_gone = true;
                0
            }
            Ok((_, some)) => some - 1,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => 0,
            Err(_) => {
                self.is_gone = true;
                0
            }
        };
        if spare > 0 {
            // They are there: nobody else takes them.
            let _ = rustix::net::recv(&self.socket, &mut bells[..spare], RecvFlags::DONTWAIT);
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

    fn take_in(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // Before any wish is made: behind one, the bell that it has rung may be among them. And each time:
        // of a client that rings more often than it has to, the one that counts would not fit any more.
        if !self.is_looked_at {
            self.hear();
            if !self.is_blocked {
                self.end.awake();
            }
        }
        let mut filled = 0;
        loop {
            filled += self.end.receive_into(&mut into[filled..]).map_err(fault)?;
            let is_whole = filled == into.len() || self.is_looked_at;
            if is_whole || self.end.await_data(self.is_blocked).map_err(fault)? {
                break;
            }
        }
        self.ring_bell();
        if filled > 0 {
            return Ok(filled);
        }
        if self.is_looked_at {
            // It was an event that had the loop come here.
            self.hear();
        }
        // Bells may stand on the socket before its end, and the end is announced but once.
        if self.is_gone || self.is_deserted() {
            // What it sent before its end, or nothing: the end.
            return self.end.receive_into(into).map_err(fault);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn give_out(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // It may be many times that a client makes room without having something to say. Bells that
        // nobody takes off fill the socket, and the one that does not fit is the one that counts.
        if self.is_blocked {
            self.thin_bells();
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

    /// The loop closes the connection of a client that has spoiled its ring as that of one which has
    /// gone; the log says which it was.
    fn note_fault<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.inspect_err(|error| {
            if error.kind() == io::ErrorKind::InvalidData {
                tracing::info!(pid = self.pid, %error, "closed: an attached process has spoiled its ring");
            }
        })
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
        let received = self.take_in(into);
        self.note_fault(received)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.give_out(bytes);
        self.note_fault(sent)
    }

    fn begin_looks(&mut self) {
        self.is_looked_at = true;
        // One for room stays, and is one for data as well.
        if !self.is_blocked {
            self.end.awake();
        }
    }

    fn has_input(&self) -> bool {
        self.end.waiting() != Ok(0)
    }

    fn end_looks(&mut self) -> bool {
        self.is_looked_at = false;
        // Before the wish is made, as in `take_in`.
        self.hear();
        self.is_gone || self.end.await_data(self.is_blocked) != Ok(true)
    }
}

fn fault(fault: RingFault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault)
}

#[cfg(test)]
mod tests;
