//! HTTP connections that the server has ended while their clients may still send.
//!
//! ```text
//!   answered, to be closed -> shutdown(write): the client sees the end behind the answer
//!                          -> what it still sends is thrown away, at most LINGER_READ_BYTES an event
//!                          -> closed: at its end, after LINGER_QUIET_MS of silence, or LINGER_MS in all
//! ```
//! A TCP socket that is closed with bytes unread answers with a reset, and a reset takes from the client what
//! it has not read yet: the answer that says why its upload was refused (RFC 9112, section 9.6). What lingers is no
//! client any more and holds nothing but a descriptor; when there are too many, the oldest is closed.

use super::Reactor;
use crate::connection::{Closing, Connection};
use crate::limits::*;
use crate::transport::Transport;
use dolium_protocol::detect::Protocol;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::RecvFlags;
use std::collections::VecDeque;
use std::os::fd::AsFd;

/// The lower half of these descriptors' event data; the number in the upper half is their own.
pub(super) const LINGERING: u32 = u32::MAX - 2;

/// The oldest first.
#[derive(Default)]
pub(super) struct Lingering {
    ended: VecDeque<Ended>,
    next: u32,
}

struct Ended {
    number: u32,
    transport: Transport,
    /// When it is closed if nothing comes before, and when it is in any case; Unix milliseconds.
    quiet_until: u64,
    until: u64,
}

impl Lingering {
    /// When the next of them is to be closed.
    pub fn next_end(&self) -> Option<u64> {
        self.ended.iter().map(|ended| ended.quiet_until).min()
    }

    /// Closes all: their descriptors are wanted.
    pub fn close_all(&mut self) {
        self.ended.clear();
    }

    /// Closes those whose time is over.
    pub fn close_over(&mut self, now: u64) {
        self.ended.retain(|ended| ended.quiet_until > now);
    }
}

impl Reactor {
    /// Takes over the descriptor of a connection that is removed, if its client is to be heard out.
    pub(super) fn linger(&mut self, mut connection: Box<Connection>) {
        let may_still_send = connection.protocol == Some(Protocol::Http)
            && connection.closing == Closing::AfterOutput
            && !connection.at_end
            && self.stop_at.is_none();
        if !may_still_send || !connection.transport.end_sending() {
            return;
        }
        let lingering = &mut self.lingering;
        let number = lingering.next;
        // Level-triggered: what one event leaves is announced again.
        let data = EventData::new_u64(u64::from(number) << 32 | u64::from(LINGERING));
        if epoll::modify(&self.epoll, connection.transport.as_fd(), data, EventFlags::IN).is_err() {
            return;
        }
        lingering.next = number.wrapping_add(1);
        if lingering.ended.len() == LINGER_MAX {
            lingering.ended.pop_front();
        }
        lingering.ended.push_back(Ended {
            number,
            transport: connection.transport,
            quiet_until: self.now + LINGER_QUIET_MS,
            until: self.now + LINGER_MS,
        });
    }

    /// Throws away what has come.
    #[cold]
    pub(super) fn hear_out(&mut self, number: u32) {
        let found = self.lingering.ended.iter_mut().position(|ended| ended.number == number);
        let Some(at) = found else { return };
        let ended = &mut self.lingering.ended[at];
        let mut dropped = [0; LINGER_READ_BYTES];
        match rustix::net::recv(ended.transport.as_fd(), &mut dropped, RecvFlags::DONTWAIT) {
            Ok((0, _)) => {}
            Ok(_) => {
                ended.quiet_until = ended.until.min(self.now + LINGER_QUIET_MS);
                return;
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
            Err(_) => {}
        }
        self.lingering.ended.remove(at);
    }
}
