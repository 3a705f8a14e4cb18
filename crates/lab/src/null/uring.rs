//! The null server on io_uring: one receive and one send in flight a connection, all submissions
//! of a round in one system call.
//!
//! The only unsafe operation is handing an entry to the ring, because the kernel then reads or
//! writes memory that the entry names. `Ring::push` is where each entry's memory is accounted for.

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{IoUring, opcode, types};

use super::{Listener, NullSpec, Replies, Tail};
use crate::LabError;
use crate::limits::{NULL_BUFFER_BYTES, NULL_URING_CONNECTIONS};

/// A receive, a send or the accept of one connection each fit at once.
const RING_ENTRIES: u32 = 4096;
const ACCEPT: u64 = u64::MAX;
/// Set in the user data of a send.
const SEND: u64 = 1 << 32;

struct Peer {
    socket: OwnedFd,
    /// Boxed: its address stays while the vector of peers grows.
    buffer: Box<[u8]>,
    tail: Tail,
    owed: usize,
    sent: usize,
}

pub(super) fn serve(spec: &NullSpec, listener: &Listener) -> Result<(), LabError> {
    let failed = |error| LabError::system("run the io_uring null server", error);
    let mut ring = Ring {
        ring: IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(RING_ENTRIES)
            .map_err(failed)?,
        peers: Vec::new(),
        replies: Replies::new(spec),
        reply_len: spec.reply.len(),
    };
    let listening = match listener {
        Listener::Tcp(socket) => socket.as_raw_fd(),
        Listener::Unix(socket) => socket.as_raw_fd(),
    };
    ring.accept(listening)?;
    let mut completions = Vec::new();
    loop {
        ring.ring.submit_and_wait(1).map_err(failed)?;
        completions.clear();
        completions.extend(ring.ring.completion().map(|entry| (entry.user_data(), entry.result())));
        for &(token, result) in &completions {
            if token == ACCEPT {
                // The poll says that a peer waits; accepting it sets its options in one place.
                if let Ok(socket) = listener.accept() {
                    ring.adopt(socket)?;
                }
                ring.accept(listening)?;
                continue;
            }
            let number = (token & !SEND) as usize;
            if result <= 0 {
                ring.peers[number] = None;
                continue;
            }
            ring.advance(number, token & SEND != 0, result as usize, spec)?;
        }
    }
}

struct Ring {
    ring: IoUring,
    peers: Vec<Option<Peer>>,
    replies: Replies,
    reply_len: usize,
}

impl Ring {
    fn adopt(&mut self, socket: OwnedFd) -> Result<(), LabError> {
        let free = self.peers.iter().position(Option::is_none);
        if free.is_none() && self.peers.len() == NULL_URING_CONNECTIONS {
            return Ok(());
        }
        let number = free.unwrap_or_else(|| {
            self.peers.push(None);
            self.peers.len() - 1
        });
        let buffer = vec![0; NULL_BUFFER_BYTES].into_boxed_slice();
        self.peers[number] = Some(Peer { socket, buffer, tail: Tail::default(), owed: 0, sent: 0 });
        self.receive(number)
    }

    /// Carries on with a connection after its receive or send has completed.
    fn advance(
        &mut self,
        number: usize,
        sent: bool,
        amount: usize,
        spec: &NullSpec,
    ) -> Result<(), LabError> {
        let reply_len = self.reply_len;
        let Some(peer) = self.peers[number].as_mut() else { return Ok(()) };
        if sent {
            let done = peer.sent + amount;
            peer.owed -= done / reply_len;
            peer.sent = done % reply_len;
        } else {
            peer.owed = peer.tail.requests(&peer.buffer[..amount], spec.counting);
        }
        if peer.owed > 0 { self.send(number) } else { self.receive(number) }
    }

    fn accept(&mut self, listening: i32) -> Result<(), LabError> {
        const READABLE: u32 = libc::POLLIN as u32;
        let entry = opcode::PollAdd::new(types::Fd(listening), READABLE).build();
        self.push(entry.user_data(ACCEPT))
    }

    fn receive(&mut self, number: usize) -> Result<(), LabError> {
        let Some(peer) = self.peers[number].as_mut() else { return Ok(()) };
        let (address, len) = (peer.buffer.as_mut_ptr(), peer.buffer.len() as u32);
        let entry = opcode::Recv::new(types::Fd(peer.socket.as_raw_fd()), address, len).build();
        self.push(entry.user_data(number as u64))
    }

    fn send(&mut self, number: usize) -> Result<(), LabError> {
        let Some(peer) = self.peers[number].as_ref() else { return Ok(()) };
        let (bytes, _) = self.replies.take(peer.owed);
        let bytes = &bytes[peer.sent..];
        let socket = types::Fd(peer.socket.as_raw_fd());
        let entry = opcode::Send::new(socket, bytes.as_ptr(), bytes.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build();
        self.push(entry.user_data(number as u64 | SEND))
    }

    fn push(&mut self, entry: io_uring::squeue::Entry) -> Result<(), LabError> {
        if self.ring.submission().is_full() {
            self.ring.submit().map_err(|error| LabError::system("hand work to io_uring", error))?;
        }
        // SAFETY: the memory that an entry names outlives the operation. A receive names the boxed
        // buffer of a peer, a send the reply bytes, which never change or move; a peer and its
        // buffer are dropped only after the completion of its one operation in flight, and the
        // ring, declared before both, is closed first when the server ends.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| LabError::Options("the io_uring submission queue is full".into()))
    }
}
