//! The open loop: requests are due at instants that the server has no say in. What they go out and
//! come back by is a road: epoll here, an io_uring in `ring/open.rs`.

use super::arrival;
use super::connection::{Connection, Turn};
use super::schedule::Schedule;
use super::worker::{Shared, Tally, Worker, record_kind};
use crate::LabError;
use crate::generator::series::Recorder;
use crate::limits::{DRAIN, OPEN_BACKLOG_MAX};

/// How the requests of an open loop go out and their replies come in.
pub(super) trait Road<'p> {
    /// Sends the next turn of connection `index`, due at `due`, or as soon as it takes it: then false, and
    /// the road notes how late it was.
    fn ask(
        &mut self,
        worker: &mut Worker<'p>,
        connections: &mut [Connection],
        index: usize,
        due: u64,
    ) -> Result<bool, LabError>;

    /// Takes in what came meanwhile, without waiting for more; returns whether anything had.
    fn look(
        &mut self,
        worker: &mut Worker<'p>,
        connections: &mut [Connection],
    ) -> Result<bool, LabError>;

    /// Those turns that wait for their connection: which one that is, and when they were due.
    fn held(&self) -> impl Iterator<Item = (usize, u64)>;
}

/// Asks on all connections in turn, as the schedule says, until all is answered.
pub(super) fn run<'p>(
    worker: &mut Worker<'p>,
    connections: &mut [Connection],
    schedule: Schedule,
    mut road: impl Road<'p>,
) -> Result<(), LabError> {
    let shared = worker.shared;
    let clock = shared.clock;
    let (from, to) = shared.window;
    let mut sent = 0u64;
    let mut next = schedule.due(0);
    let mut turn_of = 0;
    let give_up = to + DRAIN.as_nanos() as u64;
    // The first thread has it.
    let mut between = shared.spec.between.as_ref().and_then(|one| one.try_lock().ok());
    loop {
        // In this order: a run that ends in time says so after the window, so a clock that is
        // read later shows it.
        let told = shared.is_stopping();
        let now = clock.now();
        while next <= now && next < to {
            if worker.turns_outstanding >= OPEN_BACKLOG_MAX {
                return Err(LabError::Overload { due: worker.turns_outstanding });
            }
            let is_asked = road.ask(worker, connections, turn_of, next)?;
            if next >= from && is_asked {
                worker.tally.lag.saturating_record(now - next);
            }
            worker.turns_outstanding += 1;
            turn_of = (turn_of + 1) % connections.len();
            sent += 1;
            next = schedule.due(sent);
        }
        if next >= to && worker.turns_outstanding == 0 {
            return Ok(());
        }
        // Told to stop before the end of the window: the run is abandoned.
        if told && now < to {
            return Ok(());
        }
        if now > give_up {
            let asked = connections.iter().flat_map(Connection::unanswered);
            let mut turns: Vec<(u64, usize)> = asked.map(|turn| (turn.since, turn.slice)).collect();
            turns.extend(road.held().map(|(index, due)| (due, connections[index].pass())));
            count_unanswered(worker, turns, now);
            return Ok(());
        }
        // Sleeping would add the wake-up time of this thread to every latency: it spins.
        if !road.look(worker, connections)?
            && let Some(between) = &mut between
        {
            between.act();
        }
    }
}

/// Keeps the latency of a turn whose last reply came in `at` and was read `now`.
#[inline]
pub(super) fn keep(
    tally: &mut Tally,
    recorder: &mut Option<Recorder>,
    shared: &Shared<'_>,
    turn: Turn,
    (at, now): (Option<u64>, u64),
) {
    let pipeline = shared.spec.pipeline as u64;
    let waited = arrival::between(turn.since, at, now);
    if shared.is_measured(turn.since) {
        tally.latency.saturating_record_n(waited, pipeline);
        tally.served.saturating_record_n(arrival::between(turn.sent, at, now), pipeline);
        record_kind(&mut tally.kinds, shared.pool, turn.slice, waited);
    }
    if let Some(recorder) = recorder {
        recorder.record(now, waited, pipeline);
    }
}

/// Requests that were never answered, due at an instant and of a slice, have waited at least until now.
fn count_unanswered(worker: &mut Worker<'_>, turns: Vec<(u64, usize)>, now: u64) {
    let shared = worker.shared;
    for turn in turns.into_iter().filter(|&(since, _)| shared.is_measured(since)) {
        worker.tally.unanswered += shared.spec.pipeline as u64;
        worker.tally.keep_unanswered(shared, turn, now);
    }
}

/// The open loop over epoll, for which connections have a socket that was full.
pub(super) struct ByEpoll {
    blocked: Vec<bool>,
}

impl ByEpoll {
    pub fn new(connections: usize) -> Self {
        Self { blocked: vec![false; connections] }
    }
}

impl<'p> Road<'p> for ByEpoll {
    #[inline]
    fn ask(
        &mut self,
        worker: &mut Worker<'p>,
        connections: &mut [Connection],
        index: usize,
        due: u64,
    ) -> Result<bool, LabError> {
        let (shared, connection) = (worker.shared, &mut connections[index]);
        let full = connection.ask(shared.pool, due, shared.clock.now())?;
        let blocked = &mut self.blocked[index];
        if full != *blocked {
            worker.poller.want_write(connection, index, *blocked, full)?;
            *blocked = full;
        }
        // What a full socket does not take has been written all the same.
        Ok(true)
    }

    #[inline]
    fn look(
        &mut self,
        worker: &mut Worker<'p>,
        connections: &mut [Connection],
    ) -> Result<bool, LabError> {
        let events = worker.poller.wait(0)?;
        for event in 0..events {
            let (index, readable, writable) = worker.poller.event(event);
            let connection = &mut connections[index];
            if writable && !connection.flush(worker.shared.pool)? {
                worker.poller.want_write(connection, index, true, false)?;
                self.blocked[index] = false;
            }
            while readable && receive(worker, connection)? {}
        }
        Ok(events > 0)
    }

    fn held(&self) -> impl Iterator<Item = (usize, u64)> {
        // What a full socket did not take is its connection's all the same.
        std::iter::empty()
    }
}

/// Reads once; returns whether there may be more.
fn receive(worker: &mut Worker<'_>, connection: &mut Connection) -> Result<bool, LabError> {
    let shared = worker.shared;
    let (tally, recorder) = (&mut worker.tally, &mut worker.recorder);
    let mut now = 0;
    let got = connection.receive(
        shared.pool,
        &mut worker.arrivals,
        &mut worker.buffer,
        shared.spec.verify,
        |turn, at| {
            if now == 0 {
                now = shared.clock.now();
            }
            keep(tally, recorder, shared, turn, (at, now));
        },
    )?;
    worker.turns_outstanding -= got.turns;
    worker.note(&got);
    Ok(got.more)
}
