//! The closed loop over a ring: as over a poller, but for how requests go and replies come.

use super::{Event, Ring};
use crate::LabError;
use crate::generator::closed::fetch_next;
use crate::generator::connection::Connection;
use crate::generator::idle;
use crate::generator::worker::Worker;
use crate::limits::{DRAIN, SILENCE};

/// Asks over all connections until told to stop and all are answered.
pub(in crate::generator) fn run<'p>(
    worker: &mut Worker<'p>,
    connections: &mut [Connection],
    ring: Ring<'p>,
) -> Result<(), LabError> {
    Loop { worker, ring, answered: Vec::new() }.run(connections)
}

struct Loop<'w, 'p> {
    worker: &'w mut Worker<'p>,
    ring: Ring<'p>,
    /// Connections that are to be asked again.
    answered: Vec<usize>,
}

impl Loop<'_, '_> {
    fn run(&mut self, connections: &mut [Connection]) -> Result<(), LabError> {
        self.answered.extend(0..connections.len());
        self.worker.turns_outstanding = connections.len();
        self.ask(connections)?;
        let shared = self.worker.shared;
        let mut stop_at = u64::MAX;
        while self.worker.turns_outstanding > 0 {
            let (gauge, ring) = (self.worker.gauge, &mut self.ring);
            let events = match shared.spec.spins {
                true => idle::spin(&shared.clock, gauge, || ring.look())?,
                false => ring.wait(SILENCE)?,
            };
            let is_stopping = shared.is_stopping();
            if is_stopping && stop_at == u64::MAX {
                stop_at = shared.clock.now() + DRAIN.as_nanos() as u64;
            }
            if events == 0 {
                return Err(LabError::Silent { seconds: SILENCE.as_secs() });
            }
            for number in 0..events {
                let event = self.ring.event(number);
                if let Some(index) = self.receive(connections, event)? {
                    if is_stopping {
                        self.worker.turns_outstanding -= 1;
                    } else {
                        self.answered.push(index);
                    }
                }
            }
            fetch_next(connections, &self.answered, shared.pool);
            self.ask(connections)?;
            if stop_at != u64::MAX && shared.clock.now() > stop_at {
                self.worker.give_up(connections);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Asks again on all that were answered, in that order: a request whose time is kept goes behind
    /// what is queued, and by itself.
    fn ask(&mut self, connections: &mut [Connection]) -> Result<(), LabError> {
        let shared = self.worker.shared;
        for index in self.answered.drain(..) {
            let connection = &mut connections[index];
            if !connection.timed {
                self.ring.send(index, connection.turn(shared.pool, 0, 0), false)?;
                continue;
            }
            self.ring.submit()?;
            let now = shared.clock.now();
            self.ring.send(index, connection.turn(shared.pool, now, now), false)?;
            self.ring.submit()?;
        }
        Ok(())
    }

    /// Takes in what an event brought; returns the connection if all that it asked is answered now.
    #[inline]
    fn receive(
        &mut self,
        connections: &mut [Connection],
        event: Event,
    ) -> Result<Option<usize>, LabError> {
        let (index, buffer, len, armed) = match event {
            Event::Came { index, buffer, len, armed } => (index, buffer, len, armed),
            Event::Starved { index } => {
                self.ring.arm(index, connections[index].timed)?;
                return Ok(None);
            }
            // Sends are not asked to tell.
            Event::Sent { .. } => return Ok(None),
            Event::Closed { index } => return Err(connections[index].link.closed()),
            Event::Failed { index, doing, error } => {
                return Err(connections[index].link.failed(doing, error));
            }
        };
        let connection = &mut connections[index];
        let mut done = None;
        let shared = self.worker.shared;
        let verify = shared.spec.verify;
        let (bytes, at) = self.ring.read(connection, &self.worker.arrivals, buffer, len)?;
        let got = connection.take(shared.pool, bytes, verify, |turn| done = Some((turn, at)))?;
        self.ring.give_back(buffer);
        if !armed {
            self.ring.arm(index, connection.timed)?;
        }
        self.worker.note(&got);
        let Some((turn, at)) = done else { return Ok(None) };
        self.worker.keep(connection.timed, turn, at);
        Ok(Some(index))
    }
}
