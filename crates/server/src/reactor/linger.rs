//! Connections that end behind an answer while their clients still send, or may: refused uploads, and whatever
//! stands behind a request that was to be the last.
//!
//! ```text
//!   the last answer is sent       -> shutdown(write): the client sees the end behind the answer
//!           -> what it still sends is thrown away, LINGER_READ_BYTES an event
//!           -> closed: at its end, after LINGER_QUIET_MS of silence, or in all LINGER_MS,
//!              LINGER_UPLOAD_MS for a refused upload
//! ```
//! A TCP socket that is closed with bytes unread answers with a reset, and a reset takes from the client what
//! has not come to it yet: the rest of a large reply, or why its upload was refused (RFC 9112, section 9.6). What lingers is no
//! client any more and holds nothing but a descriptor, and under TLS its session. When there are too many,
//! the oldest is closed; when descriptors are short, all are.

use super::Reactor;
use crate::connection::{Closing, Connection};
use crate::limits::*;
use crate::transport::Transport;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::collections::VecDeque;
use std::os::fd::AsFd;

/// The lower half of these descriptors' event data; the number in the upper half is their own.
pub(super) const LINGERING: u32 = u32::MAX - 2;

/// The oldest first.
#[derive(Default)]
pub(super) struct Lingering {
    refused: VecDeque<Refused>,
    next: u32,
}

struct Refused {
    number: u32,
    transport: Transport,
    /// When it is closed if nothing comes before, and when it is in any case; Unix milliseconds.
    quiet_until: u64,
    until: u64,
}

impl Refused {
    /// Throws away what has come. False: nothing more will.
    #[inline(never)]
    fn hear_out(&mut self, now: u64) -> bool {
        let mut dropped = [0; LINGER_READ_BYTES];
        match rustix::net::recv(self.transport.as_fd(), &mut dropped, RecvFlags::DONTWAIT) {
            Ok((0, _)) => false,
            Ok(_) => {
                self.quiet_until = self.until.min(now + LINGER_QUIET_MS);
                true
            }
            Err(error) => matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }
}

impl Lingering {
    /// When the next of them is to be closed.
    pub fn next_end(&self) -> Option<u64> {
        self.refused.iter().map(|refused| refused.quiet_until).min()
    }

    /// Closes those whose time is over. Where this process itself stood still meanwhile, what has
    /// come shows that the client has not.
    pub fn close_over(&mut self, now: u64) {
        self.refused.retain_mut(|refused| {
            let is_over = |refused: &Refused| refused.quiet_until <= now;
            !is_over(refused) || refused.hear_out(now) && !is_over(refused)
        });
    }

    /// Closes all: their descriptors are wanted.
    pub fn close_all(&mut self) {
        self.refused.clear();
    }
}

impl Reactor {
    /// Takes over the descriptor of a connection that is removed, if its client is to be heard out.
    pub(super) fn linger(&mut self, mut connection: Box<Connection>) {
        let may_linger = connection.closing == Closing::AfterOutput
            && !connection.at_end
            && self.stop_at.is_none();
        let still_sends = || {
            connection.is_refused_unread
                || !connection.input.is_empty()
                || rustix::io::ioctl_fionread(connection.transport.as_fd()).is_ok_and(|n| n > 0)
        };
        if !may_linger || !still_sends() || !connection.transport.end_sending() {
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
        if lingering.refused.len() == LINGER_MAX {
            lingering.refused.pop_front();
        }
        let in_all = if connection.is_refused_unread { LINGER_UPLOAD_MS } else { LINGER_MS };
        lingering.refused.push_back(Refused {
            number,
            transport: connection.transport,
            quiet_until: self.now + LINGER_QUIET_MS,
            until: self.now + in_all,
        });
    }

    /// Something has come of one of them.
    #[cold]
    pub(super) fn hear_out(&mut self, number: u32) {
        let refused = &mut self.lingering.refused;
        if let Some(at) = refused.iter().position(|refused| refused.number == number)
            && !refused[at].hear_out(self.now)
        {
            refused.remove(at);
        }
    }
}
