//! The open loop: requests are due at instants that the server has no say in.

use std::sync::atomic::Ordering;

use super::Pace;
use super::arrival;
use super::connection::Connection;
use super::worker::{STOPPING, Shared, Worker, record_kind};
use crate::LabError;
use crate::limits::{DRAIN, OPEN_BACKLOG_MAX};

/// Due times of one thread's share of an open loop: send n is due when the area under the rate
/// reaches n. The threads' due times interleave evenly.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    begin: u64,
    /// Part of an interval by which this thread comes after the first.
    offset: f64,
    /// Sends a nanosecond at the beginning, and how many it grows by each nanosecond.
    rate: f64,
    growth: f64,
}

impl Schedule {
    /// The schedule of thread `number`; none in a closed loop.
    pub fn of(shared: &Shared<'_>, number: usize, threads: usize) -> Option<Self> {
        let (from, to) = match shared.spec.pace {
            Pace::Closed => return None,
            Pace::Open { rate } => (rate, rate),
            Pace::Ramp { from, to } => (from, to),
        };
        let sends = |rate: f64| rate / 1e9 / (shared.spec.pipeline * threads) as f64;
        let span = shared.window.1.saturating_sub(shared.begin).max(1);
        Some(Self {
            begin: shared.begin,
            offset: number as f64 / threads as f64,
            rate: sends(from),
            growth: (sends(to) - sends(from)) / span as f64,
        })
    }

    /// When send `number` is due.
    #[inline]
    fn due(&self, number: u64) -> u64 {
        let area = number as f64 + self.offset;
        let after = if self.growth == 0.0 {
            area / self.rate
        } else {
            // Past its end a falling ramp has no rate left, so nothing more is ever due.
            let root = self.rate * self.rate + 2.0 * self.growth * area;
            if root < 0.0 {
                return u64::MAX;
            }
            (root.sqrt() - self.rate) / self.growth
        };
        self.begin + after as u64
    }
}

impl Worker<'_> {
    pub fn open(
        &mut self,
        connections: &mut [Connection],
        schedule: Schedule,
    ) -> Result<(), LabError> {
        let clock = self.shared.clock;
        let (from, to) = self.shared.window;
        let mut blocked = vec![false; connections.len()];
        let mut sent = 0u64;
        let mut next = schedule.due(0);
        let mut turn_of = 0;
        let give_up = to + DRAIN.as_nanos() as u64;
        // The first thread has it.
        let mut between = self.shared.spec.between.as_ref().and_then(|one| one.try_lock().ok());
        loop {
            // In this order: a run that ends in time says so after the window, so a clock that is
            // read later shows it.
            let told = self.shared.phase.load(Ordering::Acquire) == STOPPING;
            let now = clock.now();
            while next <= now && next < to {
                if self.turns_outstanding >= OPEN_BACKLOG_MAX {
                    return Err(LabError::Overload { due: self.turns_outstanding });
                }
                let connection = &mut connections[turn_of];
                let full = connection.ask(self.shared.pool, next, clock.now())?;
                if full != blocked[turn_of] {
                    self.poller.want_write(connection, turn_of, blocked[turn_of], full)?;
                    blocked[turn_of] = full;
                }
                if next >= from {
                    self.tally.lag.saturating_record(now - next);
                }
                self.turns_outstanding += 1;
                turn_of = (turn_of + 1) % connections.len();
                sent += 1;
                next = schedule.due(sent);
            }
            if next >= to && self.turns_outstanding == 0 {
                return Ok(());
            }
            // Told to stop before the end of the window: the run is abandoned.
            if told && now < to {
                return Ok(());
            }
            if now > give_up {
                self.count_unanswered(connections, now);
                return Ok(());
            }
            // Sleeping would add the wake-up time of this thread to every latency: it spins.
            let events = self.poller.wait(0)?;
            if events == 0
                && let Some(between) = &mut between
            {
                between.act();
            }
            for event in 0..events {
                let (index, readable, writable) = self.poller.event(event);
                let connection = &mut connections[index];
                if writable && !connection.flush(self.shared.pool)? {
                    self.poller.want_write(connection, index, true, false)?;
                    blocked[index] = false;
                }
                while readable && self.receive_open(connection, from, to)? {}
            }
        }
    }

    /// Reads once; returns whether there may be more.
    fn receive_open(
        &mut self,
        connection: &mut Connection,
        from: u64,
        to: u64,
    ) -> Result<bool, LabError> {
        let clock = self.shared.clock;
        let pipeline = self.shared.spec.pipeline as u64;
        let (latency, kinds) = (&mut self.tally.latency, &mut self.tally.kinds);
        let served = &mut self.tally.served;
        let pool = self.shared.pool;
        let recorder = &mut self.recorder;
        let mut now = 0;
        let got = connection.receive(
            self.shared.pool,
            &mut self.arrivals,
            &mut self.buffer,
            self.shared.spec.verify,
            |turn, at| {
                if now == 0 {
                    now = clock.now();
                }
                let waited = arrival::between(turn.since, at, now);
                if (from..to).contains(&turn.since) {
                    latency.saturating_record_n(waited, pipeline);
                    served.saturating_record_n(arrival::between(turn.sent, at, now), pipeline);
                    record_kind(kinds, pool, turn.slice, waited);
                }
                if let Some(recorder) = recorder {
                    recorder.record(now, waited, pipeline);
                }
            },
        )?;
        self.turns_outstanding -= got.turns;
        self.note(got.replies, got.misses);
        Ok(got.more)
    }

    /// Requests that were never answered have waited at least until now.
    fn count_unanswered(&mut self, connections: &[Connection], now: u64) {
        let (from, to) = self.shared.window;
        let pipeline = self.shared.spec.pipeline as u64;
        for connection in connections {
            for turn in connection.unanswered() {
                if (from..to).contains(&turn.since) {
                    self.tally.unanswered += pipeline;
                    self.tally.latency.saturating_record_n(now - turn.since, pipeline);
                }
            }
        }
    }
}
