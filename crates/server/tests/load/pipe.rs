//! A connection that reads while it writes. A client that first sends a whole pipeline and then
//! reads waits for ever once both directions are full; this one never does.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A server that says nothing for so long, when it was asked, hangs.
const PATIENCE_S: i64 = 30;
const READ_BYTES: usize = 64 << 10;

pub struct Pipe {
    pub socket: TcpStream,
    pub out: Vec<u8>,
    sent: usize,
    inbox: Vec<u8>,
    at: usize,
    /// What was asked last, for the sentence that a failure ends with.
    asked: Vec<u8>,
}

/// Most of a request that is remembered.
const ASKED_BYTES: usize = 100;

impl Pipe {
    pub fn open(address: SocketAddr) -> Pipe {
        let socket = TcpStream::connect(address).expect("the server lets us in");
        socket.set_nodelay(true).expect("a socket");
        socket.set_nonblocking(true).expect("a socket");
        Pipe { socket, out: Vec::new(), sent: 0, inbox: Vec::new(), at: 0, asked: Vec::new() }
    }

    /// Sends what can be sent, and reads what there is; waits until there is either.
    fn go_on(&mut self) -> Result<(), String> {
        let mut wanted = PollFlags::IN;
        if self.sent < self.out.len() {
            wanted |= PollFlags::OUT;
        }
        let mut polled = [PollFd::new(&self.socket, wanted)];
        let patience = Timespec { tv_sec: PATIENCE_S, tv_nsec: 0 };
        if poll(&mut polled, Some(&patience)).map_err(|e| e.to_string())? == 0 {
            return Err(format!("no answer within {PATIENCE_S} s"));
        }
        if self.sent < self.out.len() {
            match self.socket.write(&self.out[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(format!("sending: {error}")),
            }
            if self.sent == self.out.len() {
                self.asked.clear();
                self.asked.extend_from_slice(&self.out[..self.out.len().min(ASKED_BYTES)]);
                self.out.clear();
                self.sent = 0;
            }
        }
        if self.at > 0 {
            self.inbox.drain(..self.at);
            self.at = 0;
        }
        let len = self.inbox.len();
        self.inbox.resize(len + READ_BYTES, 0);
        let read = self.socket.read(&mut self.inbox[len..]);
        self.inbox.truncate(len + read.as_ref().map_or(0, |n| *n));
        match read {
            Ok(0) => Err("the server hung up".into()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(format!("reading: {error}")),
        }
    }

    /// Exactly so many bytes.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        while self.inbox.len() - self.at < len {
            self.must_go_on();
        }
        self.at += len;
        self.inbox[self.at - len..self.at].to_vec()
    }

    /// A line, without its end.
    pub fn line(&mut self) -> String {
        let mut looked = 0;
        loop {
            let rest = &self.inbox[self.at..];
            if let Some(at) = rest[looked..].windows(2).position(|end| end == b"\r\n") {
                let line = self.take(looked + at + 2);
                return String::from_utf8_lossy(&line[..line.len() - 2]).into_owned();
            }
            looked = rest.len().saturating_sub(1);
            self.must_go_on();
        }
    }

    fn must_go_on(&mut self) {
        if let Err(why) = self.go_on() {
            let end = self.inbox.len().min(self.at + ASKED_BYTES);
            let (unread, asked) = (&self.inbox[self.at..end], &self.asked);
            panic!("{why}; unread: {}, asked: {}", unread.escape_ascii(), asked.escape_ascii());
        }
    }
}
