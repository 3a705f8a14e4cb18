//! The open loop over a ring: while nothing is due and nothing came, it makes no system call.
//!
//! ```text
//! due      | connection 7 | connection 8 | ...   handed over together, if they are several: four at most
//! held     turns of a connection whose last send the kernel has not finished: a second one could
//!          go out before the rest of it. When it is finished they go out as one, as a client
//!          that is behind would write them
//! ```

use std::collections::VecDeque;

use super::{Event, Ring};
use crate::LabError;
use crate::generator::connection::Connection;
use crate::generator::open::{self, Road};
use crate::generator::worker::Worker;

/// Requests that are handed over together. A send takes some two microseconds, so the last is that much
/// later than it says for each before it; one by one, a generator that is behind does not catch up.
const TOGETHER: usize = 4;
/// Turns of one connection that go out as one.
pub(super) const HELD_TOGETHER: usize = 16;

/// A ring, and what each connection has still to send.
pub(in crate::generator) struct ByRing<'p> {
    ring: Ring<'p>,
    lines: Vec<Line>,
}

#[derive(Clone, Default)]
struct Line {
    is_sending: bool,
    /// When the turns behind it were due.
    held: VecDeque<u64>,
}

impl<'p> ByRing<'p> {
    pub fn new(ring: Ring<'p>, connections: usize) -> Self {
        Self { ring, lines: vec![Line::default(); connections] }
    }
}

impl<'p> Road<'p> for ByRing<'p> {
    #[inline]
    fn ask(
        &mut self,
        worker: &mut Worker<'p>,
        connections: &mut [Connection],
        index: usize,
        due: u64,
    ) -> Result<bool, LabError> {
        let (shared, line) = (worker.shared, &mut self.lines[index]);
        if line.is_sending {
            line.held.push_back(due);
            return Ok(false);
        }
        line.is_sending = true;
        let turn = connections[index].turn(shared.pool, due, shared.clock.now());
        self.ring.send(index, turn, true)?;
        self.submit_some()?;
        Ok(true)
    }

    #[inline]
    fn look(
        &mut self,
        worker: &mut Worker<'p>,
        connections: &mut [Connection],
    ) -> Result<bool, LabError> {
        let events = self.ring.look()?;
        let mut now = 0;
        for number in 0..events {
            match self.ring.event(number) {
                Event::Came { index, buffer, len, armed } => {
                    let connection = &mut connections[index];
                    self.receive(worker, connection, (buffer, len), &mut now)?;
                    if !armed {
                        self.ring.arm(index, connection.timed)?;
                    }
                }
                Event::Sent { index } => {
                    self.lines[index].is_sending = false;
                    self.ask_held(worker, &mut connections[index], index)?;
                }
                Event::Starved { index } => self.ring.arm(index, connections[index].timed)?,
                Event::Closed { index } => return Err(connections[index].link.closed()),
                Event::Failed { index, doing, error } => {
                    return Err(connections[index].link.failed(doing, error));
                }
            }
        }
        Ok(events > 0)
    }

    fn held(&self) -> impl Iterator<Item = (usize, u64)> {
        let lines = self.lines.iter().enumerate();
        lines.flat_map(|(index, line)| line.held.iter().map(move |&due| (index, due)))
    }
}

impl<'p> ByRing<'p> {
    /// Behind many others that are due a turn would go out long after it was said to.
    #[inline]
    fn submit_some(&mut self) -> Result<(), LabError> {
        if self.ring.queued() >= TOGETHER { self.ring.submit() } else { Ok(()) }
    }

    /// Sends the turns that connection `index` was not free for.
    fn ask_held(
        &mut self,
        worker: &mut Worker<'p>,
        connection: &mut Connection,
        index: usize,
    ) -> Result<(), LabError> {
        let (shared, line) = (worker.shared, &mut self.lines[index]);
        let count = line.held.len().min(HELD_TOGETHER);
        if count == 0 {
            return Ok(());
        }
        line.is_sending = true;
        self.ring.make_room(count)?;
        let now = shared.clock.now();
        for (number, due) in line.held.drain(..count).enumerate() {
            if due >= shared.window.0 {
                worker.tally.lag.saturating_record(now - due);
            }
            let turn = connection.turn(shared.pool, due, now);
            if number + 1 < count {
                self.ring.send_with_next(index, turn)?;
            } else {
                self.ring.send(index, turn, true)?;
            }
        }
        self.submit_some()
    }

    /// Counts what lies in a buffer, and gives it back. `now` is read when a turn ends first.
    #[inline]
    fn receive(
        &mut self,
        worker: &mut Worker<'p>,
        connection: &mut Connection,
        (buffer, len): (u16, usize),
        now: &mut u64,
    ) -> Result<(), LabError> {
        let shared = worker.shared;
        let (bytes, at) = self.ring.read(connection, &worker.arrivals, buffer, len)?;
        let (tally, recorder) = (&mut worker.tally, &mut worker.recorder);
        let got = connection.take(shared.pool, bytes, shared.spec.verify, |turn| {
            if *now == 0 {
                *now = shared.clock.now();
            }
            open::keep(tally, recorder, shared, turn, (at, *now));
        })?;
        self.ring.give_back(buffer);
        worker.turns_outstanding -= got.turns;
        worker.note(&got);
        Ok(())
    }
}
