//! Somebody before the door who has not said hello yet.
//!
//! All of a hello's bytes have one time together: were it for each of them, one client that sends them
//! singly would stand there for seconds.

use crate::limits::ATTACH_HELLO_WAIT_MS;
use dolium_engine::ring::hello::HELLO_BYTES;
use rustix::io::Errno;
use rustix::net::{RecvFlags, sockopt};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

pub struct Knocker {
    socket: OwnedFd,
    bytes: [u8; HELLO_BYTES],
    filled: usize,
    until: Instant,
}

/// What has come of listening to one.
#[derive(Debug)]
pub enum Heard {
    /// Some of it is to come, and there is time.
    NotYet,
    /// So many bytes as a hello has.
    Hello([u8; HELLO_BYTES]),
    /// It has gone, or its time is over.
    Nothing(io::Error),
}

impl Knocker {
    pub fn new(socket: OwnedFd) -> Knocker {
        Knocker::with_time(socket, Duration::from_millis(ATTACH_HELLO_WAIT_MS))
    }

    fn with_time(socket: OwnedFd, time: Duration) -> Knocker {
        // What is said to it fits into its socket, unless its end is one that nobody made: then it is
        // not waited for.
        let _ = sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(time));
        Knocker { socket, bytes: [0; HELLO_BYTES], filled: 0, until: Instant::now() + time }
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// When its time is over.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// It has said something, or has gone. What it says behind its hello stays on the socket: those
    /// are bells.
    pub fn hear(&mut self) -> Heard {
        let room = &mut self.bytes[self.filled..];
        match rustix::net::recv(&self.socket, room, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Heard::Nothing(io::ErrorKind::UnexpectedEof.into()),
            Ok((n, _)) => self.filled += n,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Heard::Nothing(error.into()),
        }
        if self.filled == HELLO_BYTES { Heard::Hello(self.bytes) } else { self.wait() }
    }

    /// It has said nothing.
    pub fn wait(&self) -> Heard {
        match Instant::now() < self.until {
            true => Heard::NotYet,
            false => Heard::Nothing(io::ErrorKind::TimedOut.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dolium_engine::ring::hello;
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap()
    }

    /// Each byte had the whole time for itself, and meanwhile nobody else came in.
    #[test]
    fn a_hello_in_single_bytes_has_no_more_time_than_one_in_a_piece() {
        let time = Duration::from_millis(100);
        let (ours, theirs) = pair();
        let mut one = Knocker::with_time(ours, time);
        let mut heard = Heard::NotYet;
        for byte in hello::hello() {
            std::thread::sleep(time / 4);
            rustix::net::send(&theirs, &[byte], SendFlags::NOSIGNAL).unwrap();
            heard = one.hear();
            if !matches!(heard, Heard::NotYet) {
                break;
            }
        }
        let Heard::Nothing(error) = heard else { panic!("{heard:?}") };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_hello_is_heard_whole_and_not_what_comes_behind_it() {
        let (ours, theirs) = pair();
        let mut one = Knocker::with_time(ours, Duration::from_secs(20));
        let whole = hello::hello();
        let (begun, rest) = whole.split_at(5);
        rustix::net::send(&theirs, begun, SendFlags::NOSIGNAL).unwrap();
        assert!(matches!(one.hear(), Heard::NotYet));
        rustix::net::send(&theirs, &[rest, &[1]].concat(), SendFlags::NOSIGNAL).unwrap();
        assert!(matches!(one.hear(), Heard::Hello(bytes) if bytes == hello::hello()));
        let mut bell = [0; 8];
        let left = rustix::net::recv(one.socket(), &mut bell, RecvFlags::DONTWAIT).unwrap();
        assert_eq!(left.0, 1);
        drop(theirs);
        assert!(matches!(one.hear(), Heard::Nothing(_)));
    }
}
