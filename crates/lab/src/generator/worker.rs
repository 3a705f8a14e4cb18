//! One generator thread: an epoll loop over its share of the connections.

use std::hint::black_box;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};

use hdrhistogram::Histogram;

use super::arrival::{self, Arrivals};
use super::connection::Connection;
use super::poller::Poller;
use super::series::{Interval, Recorder};
use super::{LoadSpec, Pace, histogram};
use crate::LabError;
use crate::clock::Clock;
use crate::limits::{DRAIN, OPEN_BACKLOG_MAX, READ_BEFORE_ASKING, RECEIVE_BYTES, SILENCE};
use crate::workload::{Mix, Operation, RequestPool};

/// Operations count, but no latency is kept.
pub(super) const WARMING: u8 = 0;
/// Latencies are kept.
pub(super) const MEASURING: u8 = 1;
/// Nothing new is asked; what is outstanding is awaited.
pub(super) const STOPPING: u8 = 2;

/// Operations whose latencies are told apart in a mix.
pub(super) const KINDS: [Operation; 3] = [Operation::Get, Operation::Set, Operation::Other];

/// What all threads and the sampling one share.
pub(super) struct Shared<'a> {
    pub spec: &'a LoadSpec,
    pub pool: &'a RequestPool,
    pub clock: Clock,
    pub phase: &'a AtomicU8,
    /// When the first request is due.
    pub begin: u64,
    /// Open loop: the instants between which a request must be due to be measured.
    pub window: (u64, u64),
}

/// What one thread shows while it runs. A cache line of its own: the owner writes it every turn.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Gauge {
    pub operations: AtomicU64,
    pub thread: AtomicI32,
}

/// What one thread brings home.
pub(super) struct Tally {
    pub latency: Histogram<u64>,
    /// Open loop: from the send.
    pub served: Histogram<u64>,
    pub lag: Histogram<u64>,
    /// By kind of operation, in the order of `KINDS`; empty if there is only one.
    pub kinds: Vec<Histogram<u64>>,
    pub misses: u64,
    pub unanswered: u64,
    pub series: Vec<Interval>,
}

/// Asks until told to stop, beginning at the clock's `begin`.
pub(super) fn work(
    shared: &Shared<'_>,
    gauge: &Gauge,
    connections: &mut [Connection],
    schedule: Option<Schedule>,
) -> Result<Tally, LabError> {
    gauge.thread.store(crate::cpu::thread_id(), Ordering::Relaxed);
    let mut worker = Worker {
        shared,
        gauge,
        poller: Poller::new(connections)?,
        arrivals: Arrivals::new(shared.clock),
        buffer: vec![0; RECEIVE_BYTES.max(2 * shared.pool.longest_reply())],
        operations: 0,
        turns_outstanding: 0,
        tally: Tally {
            latency: histogram(),
            served: histogram(),
            lag: histogram(),
            kinds: if mixed(shared) { KINDS.map(|_| histogram()).into() } else { Vec::new() },
            misses: 0,
            unanswered: 0,
            series: Vec::new(),
        },
        recorder: shared
            .spec
            .interval
            .map(|width| Recorder::new(shared.begin, width.as_nanos() as u64)),
    };
    match schedule {
        None => worker.closed(connections)?,
        Some(schedule) => worker.open(connections, schedule)?,
    }
    worker.tally.series = worker.recorder.map(Recorder::finish).unwrap_or_default();
    Ok(worker.tally)
}

/// Whether each turn is one request of several kinds, so that each kind has a latency of its own.
fn mixed(shared: &Shared<'_>) -> bool {
    shared.spec.pipeline == 1
        && shared.spec.fill.is_none()
        && !matches!(shared.pool.workload.mix, Mix::Get | Mix::Set)
}

/// Brings what the connections ask next near, all together: the pool is larger than the caches, and
/// in the sends, one after the other, each request would be waited for by itself.
#[inline]
fn fetch_next(connections: &[Connection], answered: &[usize], pool: &RequestPool) {
    let mut ends = 0;
    for &index in answered {
        ends ^= connections[index].next_ends(pool);
    }
    // That the bytes were loaded is what matters, and nobody may find out that it is all.
    black_box(ends);
}

#[inline]
fn record_kind(kinds: &mut [Histogram<u64>], pool: &RequestPool, place: usize, latency: u64) {
    if kinds.is_empty() {
        return;
    }
    let (operation, _) = pool.request(place);
    if let Some(kind) = KINDS.iter().position(|&kind| kind == operation) {
        kinds[kind].saturating_record(latency);
    }
}

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

struct Worker<'a> {
    shared: &'a Shared<'a>,
    gauge: &'a Gauge,
    poller: Poller,
    arrivals: Arrivals,
    buffer: Vec<u8>,
    operations: u64,
    turns_outstanding: usize,
    tally: Tally,
    recorder: Option<Recorder>,
}

impl Worker<'_> {
    fn closed(&mut self, connections: &mut [Connection]) -> Result<(), LabError> {
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
            let events = self.poller.wait(SILENCE.as_secs())?;
            let phase = self.shared.phase.load(Ordering::Relaxed);
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
        if connection.timed {
            let now = self.shared.clock.now();
            let waited = arrival::between(turn.since, at, now);
            let pipeline = self.shared.spec.pipeline as u64;
            if measuring {
                self.tally.latency.saturating_record_n(waited, pipeline);
                record_kind(&mut self.tally.kinds, self.shared.pool, turn.slice, waited);
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.record(now, waited, pipeline);
            }
        }
        Ok(true)
    }

    fn open(&mut self, connections: &mut [Connection], schedule: Schedule) -> Result<(), LabError> {
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

    #[inline]
    fn note(&mut self, replies: u64, misses: u64) {
        self.operations += replies;
        self.tally.misses += misses;
        // Only this thread writes the gauge, so a plain store is enough.
        self.gauge.operations.store(self.operations, Ordering::Relaxed);
    }
}
