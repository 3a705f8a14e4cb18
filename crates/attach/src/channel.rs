//! The ring to the server: requests, and as many replies.
//!
//! A request that got no reply is the ring's last: what comes later could be the reply to that one. The
//! socket is shut then, so that the server gives back what it keeps for the ring.

use crate::error::Error;
use crate::limits::{BUFFER_KEPT, END_WAIT, LOOK_LONG, RECEIVE_BYTES, SLEEP_MAX};
use crate::pairs::name_of_one_that_answers;
use crate::standing::Standing;
use dolium_engine::ring::{Patience, RingEnd, RingMemory, RingPlan, has_several_cores};
use dolium_protocol::Parse;
use dolium_protocol::resp::reply::{self, SkipState};
use dolium_protocol::resp::{RespWriter, Value, Version};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Channel {
    socket: Arc<UnixStream>,
    server_pid: u64,
    end: RingEnd<RingMemory>,
    patience: Patience,
    /// From which the times that it is told are counted.
    began: Instant,
    request: Vec<u8>,
    input: Vec<u8>,
    pub(crate) standing: Standing,
    /// Why nothing more can be asked.
    broken: Option<Break>,
}

#[derive(Clone, Copy, Debug)]
enum Break {
    ServerGone,
    Closed,
    OutOfStep,
}

impl Break {
    /// What there is to say to who asks afterwards.
    fn error(self) -> Error {
        match self {
            Break::ServerGone => Error::ServerGone,
            Break::Closed => Error::Closed,
            Break::OutOfStep => Error::OutOfStep,
        }
    }
}

impl Channel {
    pub fn new(socket: Arc<UnixStream>, ring: OwnedFd, server_pid: u64) -> Result<Channel, Error> {
        let memory = RingMemory::open(ring).map_err(Error::Ring)?;
        Ok(Channel {
            socket,
            server_pid,
            end: RingEnd::client(memory, &RingPlan::STANDARD),
            patience: Patience::new(has_several_cores(), LOOK_LONG),
            began: Instant::now(),
            request: Vec::new(),
            input: Vec::new(),
            standing: Standing::new(),
            broken: None,
        })
    }

    /// Has a command executed in a database, for which there is so much time.
    pub fn execute(
        &mut self,
        db: u16,
        args: &[&[u8]],
        limit: Option<Duration>,
    ) -> Result<Value, Error> {
        let name = name_of_one_that_answers(args)?;
        let deadline = self.begin(limit)?;
        self.select_for(db, name, deadline)?;
        let reply = self.ask(args, deadline)?;
        self.standing.note(db, name, &reply);
        Ok(reply)
    }

    /// Until when what is asked now may take.
    pub(crate) fn begin(&self, limit: Option<Duration>) -> Result<Option<Instant>, Error> {
        // Whose transaction it was matters to nobody any more.
        if let Some(broken) = self.broken {
            return Err(broken.error());
        }
        // A time that no clock reaches is none.
        Ok(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    /// Has the server select the handle's database, if the command needs that.
    pub(crate) fn select_for(
        &mut self,
        db: u16,
        name: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        if self.standing.needs_select(db, name)? {
            let reply = self.ask(&[b"SELECT", db.to_string().as_bytes()], deadline)?;
            self.standing.note_select(db, &reply)?;
        }
        Ok(())
    }

    /// A transaction of this process is being queued: a command gets no answer of its own.
    pub fn is_in_multi(&self) -> bool {
        self.standing.is_in_multi()
    }

    fn ask(&mut self, args: &[&[u8]], deadline: Option<Instant>) -> Result<Value, Error> {
        self.write(args);
        let mut replies = self.answers(1, deadline)?;
        Ok(replies.pop().expect("one was waited for"))
    }

    /// Adds a request to those that go next; says how long they are together.
    pub(crate) fn write(&mut self, args: &[&[u8]]) -> usize {
        let mut writer = RespWriter::new(&mut self.request, Version::V2);
        writer.array(args.len());
        for arg in args {
            writer.bulk(arg);
        }
        self.request.len()
    }

    /// Sends what was written, and waits for so many replies.
    pub(crate) fn answers(
        &mut self,
        count: usize,
        deadline: Option<Instant>,
    ) -> Result<Vec<Value>, Error> {
        let values = self.exchange(count, deadline).map_err(|error| self.break_off(error));
        self.request.clear();
        if self.request.capacity() > BUFFER_KEPT {
            self.request = Vec::new();
        }
        if self.input.capacity() > BUFFER_KEPT {
            self.input = std::mem::take(&mut self.input).into_boxed_slice().into_vec();
        }
        values
    }

    /// Nothing more is asked after an error.
    #[cold]
    fn break_off(&mut self, error: Error) -> Error {
        let (broken, error) = match error {
            Error::ServerGone if is_running(self.server_pid) => (Break::Closed, Error::Closed),
            Error::ServerGone => (Break::ServerGone, error),
            error => (Break::OutOfStep, error),
        };
        self.broken = Some(broken);
        // It fails where the server has shut it before, which is as good.
        let _ = self.socket.shutdown(Shutdown::Both);
        error
    }

    /// Sends what there is piece by piece while taking in the replies.
    fn exchange(&mut self, count: usize, deadline: Option<Instant>) -> Result<Vec<Value>, Error> {
        let mut sent = 0;
        let mut state = SkipState::default();
        let mut values = Vec::with_capacity(count);
        loop {
            let gone = |_| Error::ServerGone;
            let pushed = self.end.send(&self.request[sent..]).map_err(gone)?;
            sent += pushed;
            let pulled = self.end.receive(&mut self.input, RECEIVE_BYTES).map_err(gone)?;
            if self.end.bell_needed() {
                self.ring_bell()?;
            }
            if pushed + pulled > 0 {
                self.patience.found(|| self.began.elapsed());
            }
            if pulled > 0 {
                self.take_replies(count, &mut state, &mut values)?;
                if values.len() == count {
                    return Ok(values);
                }
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Error::TimedOut);
            }
            if pushed + pulled > 0 {
                continue;
            }
            if !self.patience.look_on(self.began.elapsed()) {
                self.sleep(sent < self.request.len(), deadline)?;
            }
        }
    }

    /// The replies at the input's beginning that are whole, until there are so many.
    fn take_replies(
        &mut self,
        count: usize,
        state: &mut SkipState,
        to: &mut Vec<Value>,
    ) -> Result<(), Error> {
        let mut taken = 0;
        while to.len() < count {
            let rest = &self.input[taken..];
            match reply::skip(rest, state) {
                Parse::Incomplete { .. } => break,
                Parse::Error(error) => return Err(Error::Reply(error)),
                Parse::Complete { consumed } => {
                    let decoded = reply::decode(&rest[..consumed]).map_err(Error::Reply)?;
                    taken += consumed;
                    *state = SkipState::default();
                    match decoded {
                        // A message that answers nothing (HELLO 3 allows them): not ours to show.
                        Some((Value::Push(_), _)) | None => {}
                        Some((value, _)) => to.push(value),
                    }
                }
            }
        }
        self.input.drain(..taken);
        Ok(())
    }

    fn ring_bell(&self) -> Result<(), Error> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match rustix::net::send(&*self.socket, &[1], flags) {
            // A full socket holds bells enough.
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(()),
            Err(_) => Err(Error::ServerGone),
        }
    }

    fn sleep(&mut self, more_to_send: bool, deadline: Option<Instant>) -> Result<(), Error> {
        if !self.end.prepare_sleep(more_to_send).map_err(|_| Error::ServerGone)? {
            return Ok(());
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let wait = left.unwrap_or(SLEEP_MAX).min(SLEEP_MAX);
        let wait =
            Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut fds = [PollFd::new(&*self.socket, PollFlags::IN)];
        // Interrupted or timed out: look again, that is all a bell says as well.
        let _ = poll(&mut fds, Some(&wait));
        self.end.awake();
        let mut bells = [0; 64];
        let heard = rustix::net::recv(&*self.socket, &mut bells, RecvFlags::DONTWAIT);
        match heard {
            // A server that answered and then ended has left its answer in the ring.
            Ok((0, _)) if self.end.waiting() == Ok(0) => Err(Error::ServerGone),
            Err(rustix::io::Errno::CONNRESET) => Err(Error::ServerGone),
            _ => Ok(()),
        }
    }
}

/// Is there a process of this number, and does it go on? A server in a container has a number of its own
/// there, and the answer is a guess; what there is to be done is the same.
pub fn is_running(pid: u64) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let Some(process) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return false;
    };
    // One that ends has closed its sockets a moment before. It is readable when it has ended, and there
    // until its parent has asked after it.
    let moment = Timespec { tv_sec: 0, tv_nsec: i64::from(END_WAIT.subsec_nanos()) };
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&moment)) == Ok(0)
}
