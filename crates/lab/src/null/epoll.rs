//! The null server on level-triggered epoll: one thread, one receive and one send a wake.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::busy::Busy;
use super::{Listener, NullSpec, Replies, Tail};
use crate::LabError;
use crate::limits::{EVENTS_PER_WAIT, NULL_BUFFER_BYTES};

const LISTENER: u64 = u64::MAX;

struct Peer {
    socket: OwnedFd,
    tail: Tail,
    /// Replies that are owed but that the socket did not take yet.
    owed: usize,
    /// Bytes already sent of the first reply owed.
    sent: usize,
}

pub(super) fn serve(spec: &NullSpec, listener: &Listener) -> Result<(), LabError> {
    let failed = |error: Errno| LabError::system("run the null server", error);
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
    let listening = epoll::EventData::new_u64(LISTENER);
    match listener {
        Listener::Tcp(socket) => epoll::add(&poll, socket, listening, epoll::EventFlags::IN),
        Listener::Unix(socket) => epoll::add(&poll, socket, listening, epoll::EventFlags::IN),
    }
    .map_err(failed)?;

    let none =
        epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
    let mut events = vec![none; EVENTS_PER_WAIT];
    let mut buffer = vec![0; NULL_BUFFER_BYTES];
    let replies = Replies::new(spec);
    let busy = Busy::new(spec.busy_ns);
    let mut peers: HashMap<u64, Peer> = HashMap::new();
    loop {
        let count = match epoll::wait(&poll, &mut events[..], None) {
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(failed(error)),
        };
        for event in &events[..count] {
            let token = event.data.u64();
            if token == LISTENER {
                // A peer that is gone before it was accepted is no reason to stop.
                let Ok(socket) = listener.accept() else { continue };
                let token = socket.as_raw_fd() as u64;
                let data = epoll::EventData::new_u64(token);
                epoll::add(&poll, &socket, data, epoll::EventFlags::IN).map_err(failed)?;
                peers.insert(token, Peer { socket, tail: Tail::default(), owed: 0, sent: 0 });
                continue;
            }
            let Some(peer) = peers.get_mut(&token) else { continue };
            let was_owing = peer.owed > 0;
            if !turn(peer, spec, &replies, busy, &mut buffer) {
                // Closing the descriptor takes it out of the epoll set.
                peers.remove(&token);
                continue;
            }
            if was_owing != (peer.owed > 0) {
                let data = epoll::EventData::new_u64(token);
                let flags =
                    if peer.owed > 0 { epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
                epoll::modify(&poll, &peer.socket, data, flags).map_err(failed)?;
            }
        }
    }
}

/// Receives once, unless replies are still owed, and sends. False when the peer is gone. Part of
/// its caller: a function that returns behind a system call costs as much as half of one, see
/// [`crate::returns`], and this is to be a floor.
#[inline(always)]
fn turn(
    peer: &mut Peer,
    spec: &NullSpec,
    replies: &Replies,
    busy: Busy,
    buffer: &mut [u8],
) -> bool {
    if peer.owed == 0 {
        match recv(&peer.socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return false,
            Ok((got, _)) => {
                peer.owed = peer.tail.requests(&buffer[..got], spec.counting);
                busy.work(peer.owed);
            }
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) => return false,
        }
    }
    while peer.owed > 0 {
        let (bytes, _) = replies.take(peer.owed);
        match send(&peer.socket, &bytes[peer.sent..], SendFlags::NOSIGNAL) {
            Ok(sent) => {
                let done = peer.sent + sent;
                peer.owed -= done / spec.reply.len();
                peer.sent = done % spec.reply.len();
                if done < bytes.len() {
                    return true;
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) => return false,
        }
    }
    true
}
