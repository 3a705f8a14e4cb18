//! Sends large values from the store's memory: one `sendmsg` of what was answered before, the value
//! and its end. What the socket has no room for is copied to the connection's own output.

use crate::transport::Transport;
use dolium_commands::outlet::Outlet;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use std::io::IoSlice;
use std::os::fd::OwnedFd;

/// The sending side of a connection while one of its requests runs.
pub struct SocketOutlet<'a> {
    socket: &'a OwnedFd,
    output: &'a mut Vec<u8>,
    sent: &'a mut usize,
    pub passed: Passed,
}

/// What became of the values that passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passed {
    /// Sent, or kept to be sent.
    pub bytes: u64,
    /// The peer is gone.
    pub is_gone: bool,
}

impl<'a> SocketOutlet<'a> {
    /// `None`: the connection has no socket, or something that was to be sent earlier waits.
    #[inline(always)]
    pub fn of(
        transport: &'a Transport,
        output: &'a mut Vec<u8>,
        sent: &'a mut usize,
    ) -> Option<SocketOutlet<'a>> {
        match transport {
            Transport::Socket(socket) if output.len() == *sent => {
                Some(SocketOutlet { socket, output, sent, passed: Passed::default() })
            }
            _ => None,
        }
    }

    fn send(&self, parts: &[&[u8]; 3]) -> Result<usize, Errno> {
        let parts = parts.map(IoSlice::new);
        let mut control = SendAncillaryBuffer::default();
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        rustix::net::sendmsg(self.socket, &parts, &mut control, flags)
    }
}

impl Outlet for SocketOutlet<'_> {
    fn pass(&mut self, out: &mut Vec<u8>, value: &[u8], end: &[u8]) {
        let mut parts = [out.as_slice(), value, end];
        self.passed.bytes += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        // What waits goes first: a request for many keys may have filled the socket before.
        while self.output.len() == *self.sent && parts.iter().any(|part| !part.is_empty()) {
            match self.send(&parts) {
                Ok(mut n) => {
                    for part in &mut parts {
                        let sent = n.min(part.len());
                        *part = &part[sent..];
                        n -= sent;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    self.passed.is_gone = true;
                    break;
                }
            }
        }
        if !self.passed.is_gone && parts.iter().any(|part| !part.is_empty()) {
            if self.output.len() == *self.sent {
                self.output.clear();
                *self.sent = 0;
            }
            parts.iter().for_each(|part| self.output.extend_from_slice(part));
        }
        out.clear();
    }
}
