//! Rings of local processes that are looked into without waiting for a bell.
//!
//! ```text
//!   bell --event--> a turn with a request ----> looked into, once a round, no bell is rung
//!     ^                                          |         and before the thread sleeps, for a moment
//!     |                                          v
//!     `-- the client rings again <-- nothing found, 64 rounds without a request, held, closing
//! ```
//! A local process that asks one request after the other has the next one ready some microseconds after a reply.
//! To ring for it, and to be woken by that, takes both sides several system calls and ten times as long. So a thread
//! that has nothing else to do looks for a moment, as its client does meanwhile for the reply; then neither
//! has to be woken. It looks as long as that has paid of late (`Patience` in the engine's `ring`), offers
//! its core to others while it looks, and turns to sockets as soon as one of them has an event.
//!
//! The danger is a ring that nobody looks into and whose client does not ring. So whoever is not on the
//! list has been asked `end_looks`, which makes the wish for a bell and says what came before it. And a thread does
//! not sleep while one is on it, whatever it has stopped looking for: an event that was there may be gone by the time
//! that it asks for it, as a datagram is that another thread has taken.

use super::Reactor;
use crate::clients::Token;
use crate::connection::Hold;
use crate::limits::{RING_LOOK, RING_QUIET_ROUNDS};
use dolium_engine::ring::{Patience, has_several_cores};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Instant;

pub(super) struct Rings {
    looked: Vec<Looked>,
    patience: Patience,
    /// From which the times that it is told are counted.
    began: Instant,
}

struct Looked {
    token: Token,
    /// Rounds in a row without a request.
    quiet: u32,
}

/// What a ring is to do next.
enum Found {
    Request,
    Nothing,
    /// It is not to be looked into any longer.
    Leaves,
}

impl Rings {
    pub fn new() -> Rings {
        let patience = Patience::new(has_several_cores(), RING_LOOK);
        Rings { looked: Vec::new(), patience, began: Instant::now() }
    }

    /// There is one whose client does not ring: the thread is not to sleep.
    pub fn are_looked_into(&self) -> bool {
        !self.looked.is_empty()
    }
}

impl Reactor {
    /// A request has come through this ring: its client need not ring for the next.
    pub(super) fn begin_looks(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        if !connection.habit.is_busy()
            && let Some(ring) = connection.transport.ring()
        {
            ring.begin_looks();
            connection.habit.set_looked_into(true);
            self.rings.looked.push(Looked { token, quiet: 0 });
        }
    }

    /// Before the thread waits for events: whoever has a request is put onto the ready list. If nobody has, and there
    /// is nothing else to do, it looks on for a moment.
    #[inline]
    pub(super) fn look_into_rings(&mut self) {
        if self.rings.are_looked_into() {
            self.look_for_requests();
        }
    }

    fn look_for_requests(&mut self) {
        let began = self.rings.began;
        let mut is_first = true;
        loop {
            let found = self.look_once(is_first);
            if found || self.wait_ms() == Some(0) {
                self.rings.patience.found(|| began.elapsed());
                return;
            }
            is_first = false;
            if !self.rings.patience.look_on(began.elapsed()) {
                self.end_all_looks();
                return;
            }
            if self.has_events() {
                self.rings.patience.leave();
                return;
            }
        }
    }

    /// Looks into every ring once. True: there was a request. A round counts as one, however often it is looked.
    fn look_once(&mut self, counts: bool) -> bool {
        let mut found = false;
        let mut at = 0;
        while let Some(looked) = self.rings.looked.get_mut(at) {
            let token = looked.token;
            looked.quiet += u32::from(counts);
            let is_quiet = looked.quiet > RING_QUIET_ROUNDS;
            match self.look_into(token) {
                Found::Request => {
                    self.rings.looked[at].quiet = 0;
                    found = true;
                    at += 1;
                }
                Found::Nothing if !is_quiet => at += 1,
                _ => {
                    self.rings.looked.swap_remove(at);
                    self.end_looks(token);
                }
            }
        }
        found
    }

    fn look_into(&mut self, token: Token) -> Found {
        let Some(connection) = self.slab.get(token) else { return Found::Leaves };
        if connection.hold != Hold::No || connection.is_closing() || connection.at_end {
            return Found::Leaves;
        }
        if connection.is_ready {
            return Found::Request;
        }
        let Some(ring) = connection.transport.ring() else { return Found::Leaves };
        if !ring.has_input() {
            return Found::Nothing;
        }
        connection.readable = true;
        self.make_ready(token);
        Found::Request
    }

    /// The ring's client is to ring again; what came before it was told so is as if it had.
    fn end_looks(&mut self, token: Token) {
        let Some(connection) = self.slab.get(token) else { return };
        connection.habit.set_looked_into(false);
        let Some(ring) = connection.transport.ring() else { return };
        if !ring.end_looks() {
            return;
        }
        connection.readable = true;
        self.make_ready(token);
    }

    #[cold]
    fn end_all_looks(&mut self) {
        while let Some(looked) = self.rings.looked.pop() {
            self.end_looks(looked.token);
        }
    }

    /// A socket, or another thread, has something for this one, or had: the events stay where they are, and
    /// another thread may take what one of them tells of.
    fn has_events(&self) -> bool {
        let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
    }
}
