//! The closed loop over epoll: who was answered asks again.

use std::hint::black_box;

use super::connection::Connection;
use super::idle;
use super::worker::{MEASURING, STOPPING, Worker};
use crate::LabError;
use crate::limits::{DRAIN, READ_BEFORE_ASKING, SILENCE};
use crate::workload::RequestPool;

/// Brings what the connections ask next near, all together: the pool is larger than the caches, and
/// in the sends, one after the other, each request would be waited for by itself.
#[inline]
pub(super) fn fetch_next(connections: &[Connection], answered: &[usize], pool: &RequestPool) {
    let mut ends = 0;
    for &index in answered {
        ends ^= connections[index].next_ends(pool);
    }
    // That the bytes were loaded is what matters, and nobody may find out that it is all.
    black_box(ends);
}

impl Worker<'_> {
    pub fn closed(&mut self, connections: &mut [Connection]) -> Result<(), LabError> {
        for (index, connection) in connections.iter_mut().enumerate() {
            if connection.exhausted() {
                continue;
            }
            let now = self.shared.clock.now();
            let blocked = connection.ask(self.shared.pool, now, now)?;
            self.poller.want_write(connection, index, false, blocked)?;
            self.turns_outstanding += 1;
        }
        let mut stop_at = u64::MAX;
        let mut answered = Vec::with_capacity(READ_BEFORE_ASKING);
        while self.turns_outstanding > 0 {
            let (clock, gauge, poller) = (&self.shared.clock, self.gauge, &mut self.poller);
            let events = match self.shared.spec.spins {
                true => idle::spin(clock, gauge, || poller.look())?,
                false => poller.wait(SILENCE.as_secs())?,
            };
            let phase = self.shared.phase();
            if phase == STOPPING && stop_at == u64::MAX {
                stop_at = self.shared.clock.now() + DRAIN.as_nanos() as u64;
            }
            if events == 0 {
                return Err(LabError::Silent { seconds: SILENCE.as_secs() });
            }
            for event in 0..events {
                let (index, readable, writable) = self.poller.event(event);
                let connection = &mut connections[index];
                if writable && !connection.flush(self.shared.pool)? {
                    self.poller.want_write(connection, index, true, false)?;
                }
                if readable && self.receive_closed(connection, phase == MEASURING)? {
                    if phase == STOPPING || connection.exhausted() {
                        self.turns_outstanding -= 1;
                    } else {
                        answered.push(index);
                    }
                }
                if answered.len() == READ_BEFORE_ASKING || event + 1 == events {
                    fetch_next(connections, &answered, self.shared.pool);
                    for index in answered.drain(..) {
                        let connection = &mut connections[index];
                        let now = if connection.timed { self.shared.clock.now() } else { 0 };
                        if connection.ask(self.shared.pool, now, now)? {
                            self.poller.want_write(connection, index, false, true)?;
                        }
                    }
                }
            }
            if stop_at != u64::MAX && self.shared.clock.now() > stop_at {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads what has come; returns whether all requests of the connection are answered now.
    #[inline]
    fn receive_closed(
        &mut self,
        connection: &mut Connection,
        measuring: bool,
    ) -> Result<bool, LabError> {
        let mut done = None;
        loop {
            let got = connection.receive(
                self.shared.pool,
                &mut self.arrivals,
                &mut self.buffer,
                self.shared.spec.verify,
                |turn, at| done = Some((turn, at)),
            )?;
            self.note(got.replies, got.misses);
            if !got.more {
                break;
            }
        }
        let Some((turn, at)) = done else { return Ok(false) };
        self.keep(connection.timed, turn, at, measuring);
        Ok(true)
    }
}
