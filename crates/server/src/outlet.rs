//! Replies with large values in them: the values go to the socket from the store's memory, in one
//! `sendmsg` with the replies around them. What the socket has no room for is copied.
//!
//! ```text
//! replies      | VALUE a 7 100000 |     | \r\nEND\r\nVALUE b 7 100000 |     | \r\nEND\r\n |
//! loans, at                       ^ a                              ^ b
//! ```

use crate::limits::{LOANS_BYTES_MAX, LOANS_MAX, LOANS_SEND};
use dolium_commands::outlet::Outlet;
use dolium_engine::{Db, Found, Key, Lease, Millis, Session};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// Values that belong into the replies of one connection, in order.
pub struct Loans<'s> {
    session: &'s Session,
    /// Each with its place: after so many bytes of replies.
    values: Vec<(usize, Lease<'s>)>,
    bytes: usize,
    is_closed: bool,
}

impl<'s> Loans<'s> {
    pub fn new(session: &'s Session) -> Loans<'s> {
        Loans { session, values: Vec::new(), bytes: 0, is_closed: false }
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Enough to be sent although more is to come: so many bytes, or so many values.
    #[inline(always)]
    pub fn is_much(&self, bytes: usize) -> bool {
        self.bytes >= bytes || self.values.len() >= LOANS_SEND
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.bytes = 0;
        self.is_closed = false;
    }

    /// Sends the replies with the values in them, until the socket has no room, and ends the loans.
    /// What was not sent is appended to `rest`. `Err`: the peer is gone.
    pub fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        replies: &[u8],
        rest: &mut Vec<u8>,
    ) -> Result<(), Errno> {
        let mut parts = Vec::with_capacity(2 * self.values.len() + 1);
        let mut from = 0;
        for (at, lease) in &self.values {
            parts.push(IoSlice::new(&replies[from..*at]));
            parts.push(IoSlice::new(lease.bytes()));
            from = *at;
        }
        parts.push(IoSlice::new(&replies[from..]));
        let mut left = &mut parts[..];
        let outcome = loop {
            if left.is_empty() {
                break Ok(());
            }
            let mut control = SendAncillaryBuffer::default();
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match rustix::net::sendmsg(socket, left, &mut control, flags) {
                Ok(sent) => IoSlice::advance_slices(&mut left, sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // Exactly: what it takes is counted by its capacity.
                    rest.reserve_exact(left.iter().map(|part| part.len()).sum());
                    left.iter().for_each(|part| rest.extend_from_slice(part));
                    break Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        self.clear();
        outcome
    }
}

impl Outlet for Loans<'_> {
    #[inline(always)]
    fn has_room(&self) -> bool {
        !self.is_closed && self.values.len() < LOANS_MAX && self.bytes < LOANS_BYTES_MAX
    }

    fn lend(
        &mut self,
        db: Db,
        key: &Key<'_>,
        now: Millis,
        out: &mut Vec<u8>,
        head: &mut dyn FnMut(&Found, &mut Vec<u8>) -> bool,
    ) -> bool {
        let Some((found, lease)) = self.session.lease(db, key, now) else { return false };
        if !head(&found, out) {
            return false;
        }
        self.bytes += found.len;
        self.values.push((out.len(), lease));
        true
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn count(&self) -> usize {
        self.values.len()
    }

    fn take_back(&mut self, count: usize) {
        let back = self.values.drain(count..).map(|(_, lease)| lease.bytes().len());
        self.bytes -= back.sum::<usize>();
    }

    fn close(&mut self) {
        self.is_closed = true;
    }
}
