//! What a connection sends: at once as far as the peer has room, then what was kept, and what that says of the
//! peer. Values that are lent go out from where they lie.

use super::Connection;
use crate::limits::LOANS_SEND_BYTES;
use crate::outlet::{Dropped, Loans};
use crate::transport::Transport;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

/// How the peer took the last values that were lent to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Appetite {
    #[default]
    Unknown,
    /// It took [`LOANS_SEND_BYTES`] or more at once, and has taken all that was lent to it since.
    Large,
    /// Its socket was full.
    Small,
}

impl Appetite {
    /// What is known of it when so many bytes that were lent have been sent.
    pub fn after(self, sent: Sent, lent: usize) -> Appetite {
        match sent {
            Sent::Partly => Appetite::Small,
            _ if lent >= LOANS_SEND_BYTES => Appetite::Large,
            // The last values of a reply are as many as they are: that it took these says little.
            _ if self == Appetite::Small => Appetite::Unknown,
            _ => self,
        }
    }
}

/// What became of an attempt to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    All,
    /// The rest is kept and goes on when the peer has room.
    Partly,
    /// The peer is gone.
    Gone,
}

impl Connection {
    /// Bytes that wait for the peer; where TLS has them already, only that there are some.
    pub fn unsent(&self) -> usize {
        self.output.len() - self.sent + usize::from(self.transport.is_behind())
    }

    /// Shows others how much waits for the peer, and since when that has taken nothing of it.
    pub fn note_unsent(&mut self, now: u64) {
        let unsent = self.unsent() as u64;
        self.card.output_bytes.store(unsent, Relaxed);
        let has_read = std::mem::take(&mut self.has_read);
        let since = &self.card.stuck_since_ms;
        if unsent == 0 {
            since.store(0, Relaxed);
        } else if has_read || since.load(Relaxed) == 0 {
            since.store(now, Relaxed);
        }
    }

    /// Sends `bytes`, after whatever has not been sent yet. What finds no room is kept; a large
    /// rest takes the buffer over instead of being copied.
    #[inline(always)]
    pub fn send(&mut self, bytes: &mut Vec<u8>) -> Sent {
        if self.unsent() > 0 {
            self.output.extend_from_slice(bytes);
            bytes.clear();
            return self.send_rest();
        }
        let mut at = 0;
        while at < bytes.len() {
            match self.transport.send(&bytes[at..]) {
                Ok(n) => at += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if bytes.len() > crate::limits::HOT_OUTPUT_KEPT {
                        self.output = std::mem::take(bytes);
                        self.sent = at;
                    } else {
                        self.output.clear();
                        self.output.extend_from_slice(&bytes[at..]);
                        self.sent = 0;
                        bytes.clear();
                    }
                    return Sent::Partly;
                }
                Err(_) => return Sent::Gone,
            }
        }
        bytes.clear();
        if self.transport.is_behind() { Sent::Partly } else { Sent::All }
    }

    /// Whether values may be lent for the replies to come: those cannot go through TLS or a ring
    /// as they lie, and what was not sent before goes first.
    #[inline(always)]
    pub fn may_borrow(&self) -> bool {
        matches!(self.transport, Transport::Socket(_)) && self.output.len() == self.sent
    }

    /// As [`Connection::send`], with values that are lent; there are some only where they may be.
    /// Of the values after the first `kept` some may be dropped in place of being kept.
    pub fn send_with(
        &mut self,
        bytes: &mut Vec<u8>,
        loans: &mut Loans<'_>,
        kept: usize,
    ) -> (Sent, Option<Dropped>) {
        let Transport::Socket(socket) = &self.transport else {
            unreachable!("values are lent to sockets")
        };
        debug_assert_eq!(self.output.len(), self.sent, "what waits goes first");
        self.output.clear();
        self.sent = 0;
        let outcome = loans.send(socket.as_fd(), bytes, &mut self.output, kept);
        bytes.clear();
        match outcome {
            Ok(None) if self.output.is_empty() => (Sent::All, None),
            Ok(dropped) => (Sent::Partly, dropped),
            Err(_) => (Sent::Gone, None),
        }
    }

    /// Sends what was kept.
    pub fn send_rest(&mut self) -> Sent {
        // The next event, whatever it is of, has the connection look for input too.
        self.readable |= self.transport.sends_hear();
        match self.transport.flush() {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Sent::Partly,
            Err(_) => return Sent::Gone,
        }
        while self.sent < self.output.len() {
            match self.transport.send(&self.output[self.sent..]) {
                Ok(n) => {
                    self.sent += n;
                    self.has_read = true;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Sent::Partly,
                Err(_) => return Sent::Gone,
            }
        }
        self.output = Vec::new();
        self.sent = 0;
        if self.transport.is_behind() {
            return Sent::Partly;
        }
        self.over_soft_since = None;
        self.card.output_bytes.store(0, Relaxed);
        self.card.stuck_since_ms.store(0, Relaxed);
        Sent::All
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_appetite_is_large_until_a_socket_is_full() {
        use Appetite::{Large, Small, Unknown};
        let much = LOANS_SEND_BYTES;
        let cases = [
            (Unknown, Sent::All, 10_000, Unknown),
            (Unknown, Sent::All, much, Large),
            (Large, Sent::All, 10_000, Large),
            (Large, Sent::Partly, much, Small),
            (Small, Sent::All, 10_000, Unknown),
            (Small, Sent::All, much, Large),
        ];
        for (before, sent, lent, after) in cases {
            assert_eq!(before.after(sent, lent), after, "{before:?}, {sent:?}, {lent} bytes");
        }
    }
}
