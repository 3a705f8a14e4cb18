//! One generator thread: a loop over its share of the connections, by epoll or by a ring.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use hdrhistogram::Histogram;

use super::arrival::{self, Arrivals};
use super::connection::{Connection, Received, Turn};
use super::open::{self, ByEpoll};
use super::poller::Poller;
use super::ring;
use super::schedule::Schedule;
use super::series::{Interval, Recorder};
use super::{LoadSpec, histogram};
use crate::LabError;
use crate::clock::Clock;
use crate::limits::RECEIVE_BYTES;
use crate::workload::{Mix, Operation, RequestPool};

/// Operations whose latencies are told apart in a mix.
pub(super) const KINDS: [Operation; 3] = [Operation::Get, Operation::Set, Operation::Other];

/// What all threads and the sampling one share.
pub(super) struct Shared<'a> {
    pub spec: &'a LoadSpec,
    pub pool: &'a RequestPool,
    pub clock: Clock,
    /// Nothing new is asked; what is outstanding is awaited.
    pub stopping: &'a AtomicBool,
    /// When the first request is due.
    pub begin: u64,
    /// The instants between which a request must be asked, in an open loop be due, for its latency to
    /// be kept, however late the reply comes: by when replies come, the longest waits would be lost.
    pub window: (u64, u64),
}

impl Shared<'_> {
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Whether the latency of a request is kept that was asked, or due, at `since`.
    #[inline]
    pub fn is_measured(&self, since: u64) -> bool {
        let (from, to) = self.window;
        (from..to).contains(&since)
    }
}

/// What one thread shows while it runs. A cache line of its own: the owner writes it every turn.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Gauge {
    pub operations: AtomicU64,
    /// Those of the operations that read, and those of the reads that found nothing.
    pub reads: AtomicU64,
    pub misses: AtomicU64,
    pub thread: AtomicI32,
    /// For how long it has looked for replies that were not there.
    pub idle_ns: AtomicU64,
}

/// What one thread brings home.
pub(super) struct Tally {
    pub latency: Histogram<u64>,
    /// Open loop: from the send.
    pub served: Histogram<u64>,
    pub lag: Histogram<u64>,
    /// By kind of operation, in the order of `KINDS`; empty if there is only one.
    pub kinds: Vec<Histogram<u64>>,
    pub unanswered: u64,
    pub series: Vec<Interval>,
    /// Whether an io_uring was asked with.
    pub by_ring: bool,
}

impl Tally {
    /// Keeps the age of a turn that was never answered.
    pub fn keep_unanswered(&mut self, shared: &Shared<'_>, turn: (u64, usize), now: u64) {
        let (since, slice) = turn;
        self.latency.saturating_record_n(now - since, shared.spec.pipeline as u64);
        record_kind(&mut self.kinds, shared.pool, slice, now - since);
    }
}

/// Asks until told to stop, beginning at the clock's `begin`.
pub(super) fn work(
    shared: &Shared<'_>,
    gauge: &Gauge,
    connections: &mut [Connection],
    schedule: Option<Schedule>,
) -> Result<Tally, LabError> {
    gauge.thread.store(crate::cpu::thread_id(), Ordering::Relaxed);
    let ring = ring::open(shared, connections, schedule.is_some());
    let watched = if ring.is_some() { &[] } else { &*connections };
    let mut worker = Worker {
        shared,
        gauge,
        poller: Poller::new(watched)?,
        arrivals: Arrivals::new(shared.clock),
        buffer: vec![0; RECEIVE_BYTES.max(2 * shared.pool.longest_reply())],
        operations: 0,
        reads: 0,
        misses: 0,
        turns_outstanding: 0,
        tally: Tally {
            latency: histogram(),
            served: histogram(),
            lag: histogram(),
            kinds: if mixed(shared) { KINDS.map(|_| histogram()).into() } else { Vec::new() },
            unanswered: 0,
            series: Vec::new(),
            by_ring: ring.is_some(),
        },
        recorder: shared
            .spec
            .interval
            .map(|width| Recorder::new(shared.begin, width.as_nanos() as u64)),
    };
    match (schedule, ring) {
        (None, Some(ring)) => ring::closed(&mut worker, connections, ring)?,
        (None, None) => worker.closed(connections)?,
        (Some(schedule), Some(ring)) => {
            let road = ring::ByRing::new(ring, connections.len());
            open::run(&mut worker, connections, schedule, road)?;
        }
        (Some(schedule), None) => {
            let road = ByEpoll::new(connections.len());
            open::run(&mut worker, connections, schedule, road)?;
        }
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

#[inline]
pub(super) fn record_kind(
    kinds: &mut [Histogram<u64>],
    pool: &RequestPool,
    place: usize,
    latency: u64,
) {
    if kinds.is_empty() {
        return;
    }
    let (operation, _) = pool.request(place);
    if let Some(kind) = KINDS.iter().position(|&kind| kind == operation) {
        kinds[kind].saturating_record(latency);
    }
}

pub(super) struct Worker<'a> {
    pub shared: &'a Shared<'a>,
    pub gauge: &'a Gauge,
    pub poller: Poller,
    pub arrivals: Arrivals,
    pub buffer: Vec<u8>,
    pub operations: u64,
    pub reads: u64,
    pub misses: u64,
    pub turns_outstanding: usize,
    pub tally: Tally,
    pub recorder: Option<Recorder>,
}

impl Worker<'_> {
    /// Keeps the latency of a turn of a closed loop whose last reply came in `at`.
    #[inline]
    pub fn keep(&mut self, timed: bool, turn: Turn, at: Option<u64>) {
        if !timed {
            return;
        }
        let now = self.shared.clock.now();
        let waited = arrival::between(turn.since, at, now);
        let pipeline = self.shared.spec.pipeline as u64;
        if self.shared.is_measured(turn.since) {
            self.tally.latency.saturating_record_n(waited, pipeline);
            record_kind(&mut self.tally.kinds, self.shared.pool, turn.slice, waited);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.record(now, waited, pipeline);
        }
    }

    #[inline]
    pub fn note(&mut self, got: &Received) {
        self.operations += got.replies;
        self.reads += got.reads;
        self.misses += got.misses;
        // Only this thread writes the gauge, so plain stores are enough.
        self.gauge.operations.store(self.operations, Ordering::Relaxed);
        self.gauge.reads.store(self.reads, Ordering::Relaxed);
        self.gauge.misses.store(self.misses, Ordering::Relaxed);
    }

    /// The end of a closed loop that has waited long enough for its last replies: what was never
    /// answered has waited at least until now.
    pub fn give_up(&mut self, connections: &[Connection]) {
        let now = self.shared.clock.now();
        let pipeline = self.shared.spec.pipeline as u64;
        for connection in connections {
            for turn in connection.unanswered() {
                self.tally.unanswered += pipeline;
                if connection.timed && self.shared.is_measured(turn.since) {
                    self.tally.keep_unanswered(self.shared, (turn.since, turn.slice), now);
                }
            }
        }
    }
}
