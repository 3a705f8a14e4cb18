//! When a reply arrived: by the kernel, which notes it as the packet comes in.
//!
//! ```text
//! request sent ---> server ---> packet comes in        this thread reads it
//! |<------------ latency ------------>|<--- the client's own queue --->|
//! ```
//!
//! A generator that asks over many connections finds several replies when it looks; the last of
//! them has waited for the others to be read. That wait is the client's, and at saturation it is as
//! long as the server's. So a reply counts from the kernel's note, where there is one: sockets of
//! TCP have it, Unix sockets do not.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use rustix::io::Errno;

use crate::clock::Clock;

/// Bytes of a note as it comes with a message.
pub(super) const NOTE_BYTES: usize = 32;

/// A message header that names nothing but room for a note.
pub(super) fn noting() -> libc::msghdr {
    libc::msghdr {
        msg_name: null_mut(),
        msg_namelen: 0,
        msg_iov: null_mut(),
        msg_iovlen: 0,
        msg_control: null_mut(),
        msg_controllen: NOTE_BYTES,
        msg_flags: 0,
    }
}

/// Asks the kernel to note when packets of `socket` come in. A socket that cannot has no notes.
pub(super) fn note(socket: &OwnedFd) {
    let _ = setsockopt(socket, sockopt::ReceiveTimestampns, &true);
}

/// How long a reply took that was asked for at `since` and came in `at`, as seen at `now`.
#[inline]
pub(super) fn between(since: u64, at: Option<u64>, now: u64) -> u64 {
    // A note from outside of the two tells that the day's clock was set meanwhile.
    let at = at.filter(|at| (since..=now).contains(at)).unwrap_or(now);
    at.saturating_sub(since)
}

/// Receives with the kernel's notes, translated to the clock of a run.
pub(super) struct Arrivals {
    /// Room for the note that comes with the bytes.
    room: Vec<u8>,
    /// Nanoseconds of the day's clock at which the run's clock read zero.
    zero: u64,
}

impl Arrivals {
    pub fn new(clock: Clock) -> Self {
        Self { room: nix::cmsg_space!(TimeSpec), zero: clock.zero_of_day() }
    }

    /// Bytes received, and when the last packet of them came in.
    #[inline]
    pub fn receive(
        &mut self,
        socket: &OwnedFd,
        buffer: &mut [u8],
    ) -> Result<(usize, Option<u64>), Errno> {
        let mut parts = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::empty();
        let got = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut self.room), flags)
            .map_err(|error| Errno::from_raw_os_error(error as i32))?;
        let mut at = None;
        // One note comes with the bytes; of others there would be no room.
        if let Some(ControlMessageOwned::ScmTimestampns(time)) =
            got.cmsgs().ok().and_then(|mut notes| notes.next())
        {
            at = since(self.zero, time.tv_sec(), time.tv_nsec());
        }
        Ok((got.bytes, at))
    }

    /// What a note says that was received without a parser: its length, its kind, the time.
    ///
    /// ```text
    /// | length 8 | level 4 | kind 4 | seconds 8 | nanoseconds 8 |
    /// ```
    pub fn of_note(&self, note: &[u8]) -> Option<u64> {
        let (head, time) = note.split_first_chunk::<16>()?;
        let int = |at: usize| Some(i32::from_ne_bytes(*head[at..].first_chunk()?));
        if (int(8)?, int(12)?) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            return None;
        }
        let (seconds, rest) = time.split_first_chunk()?;
        let (seconds, nanoseconds) = (*seconds, *rest.first_chunk()?);
        since(self.zero, i64::from_ne_bytes(seconds), i64::from_ne_bytes(nanoseconds))
    }
}

/// An instant of the day's clock, by one that read zero at `zero` of it.
fn since(zero: u64, seconds: i64, nanoseconds: i64) -> Option<u64> {
    let day = seconds.cast_unsigned() * 1_000_000_000 + nanoseconds.cast_unsigned();
    day.checked_sub(zero)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_reply_counts_from_its_coming_and_not_from_its_being_read() {
        const WAIT: Duration = Duration::from_millis(40);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut server = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let client = OwnedFd::from(listener.accept().unwrap().0);
        note(&client);
        let clock = Clock::start();
        let mut arrivals = Arrivals::new(clock);
        // The kernel begins to note a moment after it was asked for the first time.
        std::thread::sleep(WAIT);
        server.write_all(b"+OK\r\n").unwrap();
        let sent = clock.now();
        std::thread::sleep(WAIT);
        let mut buffer = [0; 64];
        let (got, at) = arrivals.receive(&client, &mut buffer).unwrap();
        assert_eq!(&buffer[..got], b"+OK\r\n");
        // Written before `sent` was read, so however busy the machine is, the note is not later.
        let at = at.expect("TCP has notes");
        assert!(at <= sent + 1_000_000 && sent < clock.now() - 40_000_000, "{at} {sent}");
    }
}
