//! Replies with large values in them: the values go to the socket from the store's memory, in one
//! `sendmsg` with the replies around them. What the socket has no room for is copied, or, of a `get`
//! that can go on from any of its keys, asked for again when there is room.
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

/// A value with its place.
struct Loan<'s> {
    /// Where in the replies its item begins.
    item: usize,
    /// Where the value belongs: after so many bytes of replies.
    at: usize,
    lease: Lease<'s>,
    /// How to ask for it again (see [`Outlet::may_ask_again`]); 0: not at all.
    again: usize,
}

/// What the socket had no room for and was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Bytes of replies and values.
    pub bytes: usize,
    /// How to ask for it.
    pub again: usize,
}

/// Values that belong into the replies of one connection, in order.
pub struct Loans<'s> {
    session: &'s Session,
    values: Vec<Loan<'s>>,
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

    /// How many of them belong before that byte of the replies: what comes behind begins with some.
    pub fn count_before(&self, at: usize) -> usize {
        self.values.iter().take_while(|loan| loan.at <= at).count()
    }

    /// Sends the replies with the values in them, until the socket has no room, and ends the loans.
    /// What was not sent is appended to `rest`, or dropped from the first item on that may be asked
    /// for again: of those that were lent after the first `kept`. `Err`: the peer is gone.
    pub fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        replies: &[u8],
        rest: &mut Vec<u8>,
        kept: usize,
    ) -> Result<Option<Dropped>, Errno> {
        let mut parts = Vec::with_capacity(2 * self.values.len() + 1);
        let mut from = 0;
        for Loan { at, lease, .. } in &self.values {
            parts.push(IoSlice::new(&replies[from..*at]));
            parts.push(IoSlice::new(lease.bytes()));
            from = *at;
        }
        parts.push(IoSlice::new(&replies[from..]));
        let mut left = &mut parts[..];
        let mut sent = 0;
        let outcome = loop {
            if left.is_empty() {
                break Ok(None);
            }
            let mut control = SendAncillaryBuffer::default();
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match rustix::net::sendmsg(socket, left, &mut control, flags) {
                Ok(more) => {
                    IoSlice::advance_slices(&mut left, more);
                    sent += more;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let unsent = left.iter().map(|part| part.len()).sum::<usize>();
                    let dropped = self
                        .unbegun(sent, kept)
                        .map(|(begins, again)| Dropped { bytes: sent + unsent - begins, again });
                    let mut keep = unsent - dropped.map_or(0, |dropped| dropped.bytes);
                    // Exactly: what it takes is counted by its capacity.
                    rest.reserve_exact(keep);
                    for part in left.iter() {
                        let bytes = &part[..part.len().min(keep)];
                        rest.extend_from_slice(bytes);
                        keep -= bytes.len();
                    }
                    break Ok(dropped);
                }
                Err(error) => break Err(error),
            }
        };
        self.clear();
        outcome
    }

    /// The first item that begins behind the first `sent` bytes, and a byte more, and may be asked for
    /// again: where it begins, and how to. That byte waits in its place, for the socket to have room.
    /// Before it go as many bytes as are left of the request's line, so that a line of very many keys is
    /// not gone through more often than its reply is long.
    fn unbegun(&self, sent: usize, kept: usize) -> Option<(usize, usize)> {
        let mut lent = 0;
        for (number, loan) in self.values.iter().enumerate() {
            let begins = loan.item + lent;
            let may_be = number >= kept && loan.again > 0;
            if may_be && begins > sent && begins >= loan.again {
                return Some((begins, loan.again));
            }
            lent += loan.lease.bytes().len();
        }
        None
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
        let item = out.len();
        let Some((found, lease)) = self.session.lease(db, key, now) else { return false };
        if !head(&found, out) {
            return false;
        }
        self.bytes += found.len;
        self.values.push(Loan { item, at: out.len(), lease, again: 0 });
        true
    }

    fn may_ask_again(&mut self, bytes: usize) {
        if let Some(loan) = self.values.last_mut() {
            loan.again = bytes;
        }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn count(&self) -> usize {
        self.values.len()
    }

    fn take_back(&mut self, count: usize) {
        let back = self.values.drain(count..).map(|loan| loan.lease.bytes().len());
        self.bytes -= back.sum::<usize>();
    }

    fn close(&mut self) {
        self.is_closed = true;
    }
}
