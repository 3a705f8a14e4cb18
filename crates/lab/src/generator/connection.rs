//! One connection: requests that wait for a reply, and the count of replies as bytes arrive.
//!
//! ```text
//! outstanding   slice 812 due 1.20 ms | slice 77 due 1.45 ms | ...     answered in this order
//!               ^ `answered` of its requests have their replies
//! unsent        bytes of the newest slices that the socket did not take yet
//! ```

use std::collections::VecDeque;

use rustix::io::Errno;

use super::arrival::Arrivals;
use super::fresh::Fresh;
use super::link::Link;
use super::reply::{self, Verdict};
use super::stream::Stream;
use crate::LabError;
use crate::error::excerpt;
use crate::workload::pool::asking;
use crate::workload::walk::Walk;
use crate::workload::{Operation, Protocol, RequestPool};

/// Requests sent together, and when their time began.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub since: u64,
    /// When they were handed to the kernel; later than `since` if the client was late.
    pub sent: u64,
    pub slice: usize,
}

/// A connection and its unanswered requests.
pub(super) struct Connection {
    pub link: Link,
    walk: Walk,
    pipeline: usize,
    outstanding: VecDeque<Turn>,
    /// Slices at the end of `outstanding` that are not wholly sent.
    unsent: usize,
    /// Bytes already sent of the oldest unsent slice.
    sent_of_first: usize,
    /// Replies received for the oldest turn.
    answered: usize,
    /// Bytes that the reply now arriving still lacks.
    left: usize,
    /// Beginning of a reply of which too little has arrived to know it.
    carry: Vec<u8>,
    /// How far a reply of unknown length has been read.
    stream: Stream,
    /// What the reply now arriving will have been, if it ends with the bytes that it lacks.
    ending: Option<Verdict>,
    pub fresh: Option<Fresh>,
    /// Whether latencies of this connection are kept.
    pub timed: bool,
}

/// How a read ended.
#[derive(Default)]
pub(super) struct Received {
    /// Whether there may be more to read: the buffer was filled.
    pub more: bool,
    pub turns: usize,
    pub replies: u64,
    /// Those of the replies that a read asked for, and those of them without a value.
    pub reads: u64,
    pub misses: u64,
}

impl Connection {
    pub fn new(link: Link, walk: Walk, pipeline: usize, protocol: Protocol) -> Self {
        Self {
            link,
            walk,
            pipeline,
            outstanding: VecDeque::new(),
            unsent: 0,
            sent_of_first: 0,
            answered: 0,
            left: 0,
            carry: Vec::new(),
            stream: Stream::new(protocol),
            ending: None,
            fresh: None,
            timed: true,
        }
    }

    /// Whether all keys of its own are stored.
    pub fn exhausted(&self) -> bool {
        self.fresh.as_ref().is_some_and(|fresh| fresh.next >= fresh.end)
    }

    /// Queues the next slice, whose latency counts from `since`, and at `sent` sends what the socket
    /// takes.
    /// Returns whether bytes remain that only a writable socket can take.
    #[inline]
    pub fn ask(&mut self, pool: &RequestPool, since: u64, sent: u64) -> Result<bool, LabError> {
        self.outstanding.push_back(Turn { since, sent, slice: self.walk.step() });
        if let Some(fresh) = &mut self.fresh {
            fresh.fill(&pool.workload, self.pipeline);
        }
        self.unsent += 1;
        // Slices that wait already had a full socket before them: their turn comes by EPOLLOUT.
        if self.unsent > 1 { Ok(true) } else { self.flush(pool) }
    }

    /// The bytes of the next turn, whose latency counts from `since`, for a caller that sends them
    /// whole, at `sent`.
    #[inline]
    pub fn turn<'p>(&mut self, pool: &'p RequestPool, since: u64, sent: u64) -> &'p [u8] {
        let slice = self.walk.step();
        self.outstanding.push_back(Turn { since, sent, slice });
        pool.slice(slice, self.pipeline)
    }

    /// The first and the last byte of what it asks next, mixed: a short slice lies in two cache lines
    /// at most, a long one is fetched ahead by the processor while it is copied.
    #[inline]
    pub fn next_ends(&self, pool: &RequestPool) -> u8 {
        match pool.slice(self.walk.peek(), self.pipeline) {
            [first, .., last] => first ^ last,
            _ => 0,
        }
    }

    /// The slice of a turn that is never asked: the end has come first.
    pub fn pass(&mut self) -> usize {
        self.walk.step()
    }

    /// Sends queued slices; returns whether some remain.
    pub fn flush(&mut self, pool: &RequestPool) -> Result<bool, LabError> {
        const DOING: &str = "send requests";
        if self.link.is_behind()
            && !self.link.flush().map_err(|error| self.link.failed(DOING, error))?
        {
            return Ok(true);
        }
        while self.unsent > 0 {
            let turn = self.outstanding[self.outstanding.len() - self.unsent];
            let slice = match &self.fresh {
                None => pool.slice(turn.slice, self.pipeline),
                // A closed loop has one turn outstanding, so these bytes are that turn's.
                Some(fresh) => &fresh.bytes,
            };
            let bytes = &slice[self.sent_of_first..];
            match self.link.send(bytes) {
                Ok(sent) if sent == bytes.len() => {
                    self.unsent -= 1;
                    self.sent_of_first = 0;
                }
                Ok(sent) => self.sent_of_first += sent,
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.link.failed(DOING, error)),
            }
        }
        Ok(self.link.is_behind())
    }

    /// The unanswered turns, oldest first.
    pub fn unanswered(&self) -> impl Iterator<Item = &Turn> {
        self.outstanding.iter()
    }

    /// Receives once and counts. `finished` gets each turn whose last reply has come, and when it
    /// had come in, if the kernel noted it.
    #[inline]
    pub fn receive(
        &mut self,
        pool: &RequestPool,
        arrivals: &mut Arrivals,
        buffer: &mut [u8],
        verify: bool,
        mut finished: impl FnMut(Turn, Option<u64>),
    ) -> Result<Received, LabError> {
        let held = self.carry.len();
        if held > 0 {
            buffer[..held].copy_from_slice(&self.carry);
            self.carry.clear();
        }
        let none = |more| Received { more, ..Received::default() };
        let room = &mut buffer[held..];
        let arrivals = if self.timed { Some(arrivals) } else { None };
        let (got, at, more) = match self.link.receive(room, arrivals) {
            Ok(got) if got.count == 0 => return Err(self.link.closed()),
            Ok(got) => (got.count, got.at, got.more),
            Err(error @ (Errno::AGAIN | Errno::INTR)) => {
                self.carry.extend_from_slice(&buffer[..held]);
                return Ok(none(error == Errno::INTR));
            }
            Err(error) => return Err(self.link.failed("receive replies", error)),
        };
        let mut seen =
            self.count(pool, &buffer[..held + got], verify, &mut |turn| finished(turn, at))?;
        seen.more = more;
        Ok(seen)
    }

    /// Counts what was received for it. `finished` gets each turn whose last reply has come.
    #[inline]
    pub fn take(
        &mut self,
        pool: &RequestPool,
        bytes: &[u8],
        verify: bool,
        mut finished: impl FnMut(Turn),
    ) -> Result<Received, LabError> {
        if self.carry.is_empty() {
            return self.count(pool, bytes, verify, &mut finished);
        }
        let mut all = std::mem::take(&mut self.carry);
        all.extend_from_slice(bytes);
        self.count(pool, &all, verify, &mut finished)
    }

    #[inline]
    fn count(
        &mut self,
        pool: &RequestPool,
        bytes: &[u8],
        verify: bool,
        finished: &mut impl FnMut(Turn),
    ) -> Result<Received, LabError> {
        let mut seen = Received::default();
        let mut at = 0;
        loop {
            if self.left > 0 {
                let taken = self.left.min(bytes.len() - at);
                at += taken;
                self.left -= taken;
                if self.left > 0 {
                    return Ok(seen);
                }
                if let Some(verdict) = self.ending.take() {
                    self.reply_done(pool, verdict, &mut seen, finished);
                }
            }
            let rest = &bytes[at..];
            if rest.is_empty() {
                return Ok(seen);
            }
            let Some(turn) = self.outstanding.front() else {
                return Err(LabError::Unexpected { bytes: excerpt(rest) });
            };
            let place = turn.slice * self.pipeline + self.answered;
            let shape = if verify { None } else { pool.shape(place) };
            if let Some(shape) = shape {
                if rest.len() < shape.head.len() {
                    self.carry.extend_from_slice(rest);
                    return Ok(seen);
                }
                if rest[..4] == shape.head {
                    self.left = shape.len;
                    self.ending = Some(Verdict::Good);
                    continue;
                }
            }
            let (operation, id) = pool.request(place);
            if !verify || operation == Operation::Other {
                let Some(step) = self.stream.step(rest)? else {
                    self.carry.extend_from_slice(rest);
                    return Ok(seen);
                };
                self.left = step.len;
                self.ending = step.done;
                continue;
            }
            match reply::read(rest, operation, asking(&pool.workload, id), verify)? {
                None => {
                    self.carry.extend_from_slice(rest);
                    return Ok(seen);
                }
                Some((len, verdict)) => {
                    at += len;
                    self.reply_done(pool, verdict, &mut seen, finished);
                }
            }
        }
    }

    #[inline]
    fn reply_done(
        &mut self,
        pool: &RequestPool,
        verdict: Verdict,
        seen: &mut Received,
        finished: &mut impl FnMut(Turn),
    ) {
        let front = self.outstanding.front();
        let place = front.map_or(0, |turn| turn.slice * self.pipeline + self.answered);
        seen.replies += 1;
        seen.reads += u64::from(pool.is_read(place));
        seen.misses += u64::from(verdict == Verdict::Miss);
        self.answered += 1;
        if self.answered == self.pipeline {
            self.answered = 0;
            seen.turns += 1;
            if let Some(turn) = self.outstanding.pop_front() {
                finished(turn);
            }
        }
    }
}
