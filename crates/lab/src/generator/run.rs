//! One run: threads, phases, and the two instants at which everything is sampled.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::connection::{Connection, Fresh};
use super::schedule::Schedule;
use super::worker::{self, Gauge, MEASURING, STOPPING, Shared, Tally, WARMING};
use super::{LoadReport, LoadSpec, Pace, Target, arrival, histogram, series};
use crate::LabError;
use crate::clock::Clock;
use crate::cpu;
use crate::limits::{TIMED_LEAST, TIMED_STEP};
use crate::workload::{Mix, RequestPool};

/// Connections are up before the first request is due; this is the pause between the two.
const HEAD_START: Duration = Duration::from_micros(500);

/// After its last reply a server goes to sleep, and the kernel's account of it is then complete.
const REST: Duration = Duration::from_micros(200);

/// Counters of both sides at one instant.
struct Sample {
    at: Instant,
    operations: u64,
    client_run_ns: u64,
    client_idle_ns: u64,
    server_ns: Option<u64>,
}

/// Asks `spec.target` for the requests of `pool` and reports the measured window.
pub fn run(spec: &LoadSpec, pool: &RequestPool) -> Result<LoadReport, LabError> {
    Session::open(spec, pool)?.run(spec, pool)
}

/// Connections that stay open from one run to the next, dealt out to threads.
pub struct Session {
    shares: Vec<Vec<Connection>>,
}

impl Session {
    /// Connects as `spec` says.
    pub fn open(spec: &LoadSpec, pool: &RequestPool) -> Result<Self, LabError> {
        check(spec, pool)?;
        let protocol = pool.workload.protocol;
        let threads = spec.threads.min(spec.connections);
        let mut shares: Vec<Vec<Connection>> = (0..threads).map(|_| Vec::new()).collect();
        let step = timed_step(spec, pool);
        for number in 0..spec.connections {
            let target = match number % (1 + spec.more.len()) {
                0 => &spec.target,
                other => &spec.more[other - 1],
            };
            let link = target.link(protocol)?;
            link.set_nonblocking()?;
            let walk = pool.walk(number, spec.connections, spec.pipeline);
            let timed = number % step == 0;
            if timed {
                arrival::note(link.socket());
            }
            let mut connection = Connection::new(link, walk, spec.pipeline, protocol);
            connection.timed = timed;
            if let Some(keys) = spec.fill {
                if number >= keys as usize {
                    continue;
                }
                connection.fresh = Some(Fresh::new(number as u32, spec.connections as u32, keys));
            }
            shares[number % threads].push(connection);
        }
        Ok(Self { shares })
    }

    /// Whether every request has its reply, so that it can run again.
    pub fn at_rest(&self) -> bool {
        self.shares.iter().flatten().all(|connection| connection.unanswered().next().is_none())
    }

    /// Asks for a window. `spec` and `pool` are those that it was opened with, but for the times.
    pub fn run(&mut self, spec: &LoadSpec, pool: &RequestPool) -> Result<LoadReport, LabError> {
        check(spec, pool)?;
        measure(&mut self.shares, spec, pool)
    }
}

/// Of so many connections the latencies of one are kept. In a closed loop all are in the same
/// state, and a note of the kernel for each reply costs the client a tenth of its time.
fn timed_step(spec: &LoadSpec, pool: &RequestPool) -> usize {
    let alike = spec.pace == Pace::Closed
        && spec.interval.is_none()
        && spec.fill.is_none()
        && spec.more.is_empty()
        && !matches!(spec.target, Target::Unix(_))
        && matches!(pool.workload.mix, Mix::Get | Mix::Set);
    if alike && spec.connections >= TIMED_STEP * TIMED_LEAST { TIMED_STEP } else { 1 }
}

fn check(spec: &LoadSpec, pool: &RequestPool) -> Result<(), LabError> {
    if spec.connections == 0 || spec.threads == 0 || spec.pipeline == 0 {
        return Err(LabError::Options("connections, threads and pipeline are at least 1".into()));
    }
    if pool.slices(spec.pipeline) == 0 {
        return Err(LabError::Options("the pipeline is deeper than the pool of requests".into()));
    }
    let good = |rate: f64| rate.is_finite() && rate > 0.0;
    let paced = match spec.pace {
        Pace::Closed => true,
        Pace::Open { rate } => good(rate),
        Pace::Ramp { from, to } => good(from) && good(to),
    };
    if !paced {
        return Err(LabError::Options("a rate is a number above zero".into()));
    }
    if spec.between.is_some() && spec.pace == Pace::Closed {
        return Err(LabError::Options("a closed loop has no time between its requests".into()));
    }
    if spec.fill.is_some() && spec.pace != Pace::Closed {
        return Err(LabError::Options("keys are filled in by a closed loop".into()));
    }
    Ok(())
}

fn measure(
    shares: &mut [Vec<Connection>],
    spec: &LoadSpec,
    pool: &RequestPool,
) -> Result<LoadReport, LabError> {
    let threads = shares.len();
    let clock = Clock::start();
    let phase = AtomicU8::new(WARMING);
    let begin = HEAD_START.as_nanos() as u64;
    let from = begin + spec.warm_up.as_nanos() as u64;
    let to = from + spec.window.as_nanos() as u64;
    let shared = Shared { spec, pool, clock, phase: &phase, begin, window: (from, to) };
    let gauges: Vec<Gauge> = (0..threads).map(|_| Gauge::default()).collect();
    let ready = Barrier::new(threads + 1);
    let before = server_ns(spec)?;

    thread::scope(|scope| {
        let mut handles = Vec::new();
        for (number, share) in shares.iter_mut().enumerate() {
            let (shared, gauge, ready) = (&shared, &gauges[number], &ready);
            let core = spec.cores.get(number % spec.cores.len().max(1)).copied();
            handles.push(scope.spawn(move || {
                let pinned = cpu::pin(core.as_slice());
                ready.wait();
                pinned?;
                let schedule = Schedule::of(shared, number, threads);
                worker::work(shared, gauge, share, schedule)
            }));
        }
        ready.wait();
        let ended = thread::ScopedJoinHandle::is_finished;
        let failed = || match spec.fill {
            Some(_) => handles.iter().all(ended),
            None => handles.iter().any(ended),
        };
        sleep_until(&clock, from, failed);
        let first = sample(spec, &gauges);
        phase.store(MEASURING, Ordering::Relaxed);
        sleep_until(&clock, to, failed);
        let last = sample(spec, &gauges);
        phase.store(STOPPING, Ordering::Release);

        let mut tallies = Vec::new();
        let mut problem = None;
        for handle in handles {
            match handle.join() {
                Ok(Ok(tally)) => tallies.push(tally),
                Ok(Err(error)) => problem = problem.or(Some(error)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        match problem {
            _ if crate::interrupt::asked() => Err(LabError::Interrupted),
            Some(error) => Err(error),
            None => {
                let mut report = report(clock.origin(), first?, last?, tallies);
                let done = gauges.iter().map(|gauge| gauge.operations.load(Ordering::Relaxed));
                report.all_operations = done.sum();
                if let Some(before) = before {
                    thread::sleep(REST);
                    report.all_server_ns = server_ns(spec)?.map(|ns| ns.saturating_sub(before));
                }
                Ok(report)
            }
        }
    })
}

/// Sleeps until the clock reads `instant`, or until a thread has ended before its time.
fn sleep_until(clock: &Clock, instant: u64, failed: impl Fn() -> bool) {
    const STEP: Duration = Duration::from_millis(50);
    loop {
        let now = clock.now();
        if now >= instant || failed() || crate::interrupt::asked() {
            return;
        }
        thread::sleep(Duration::from_nanos(instant - now).min(STEP));
    }
}

fn server_ns(spec: &LoadSpec) -> Result<Option<u64>, LabError> {
    let mut all = None;
    for &pid in &spec.servers {
        all = Some(all.unwrap_or(0) + cpu::process_run_ns(pid)?);
    }
    Ok(all)
}

fn sample(spec: &LoadSpec, gauges: &[Gauge]) -> Result<Sample, LabError> {
    Ok(Sample {
        at: Instant::now(),
        operations: gauges.iter().map(|gauge| gauge.operations.load(Ordering::Relaxed)).sum(),
        client_run_ns: gauges
            .iter()
            .map(|gauge| cpu::thread_run_ns(gauge.thread.load(Ordering::Relaxed)))
            .sum(),
        client_idle_ns: gauges.iter().map(|gauge| gauge.idle_ns.load(Ordering::Relaxed)).sum(),
        server_ns: server_ns(spec)?,
    })
}

fn report(begun: Instant, first: Sample, last: Sample, tallies: Vec<Tally>) -> LoadReport {
    let ran = last.client_run_ns.saturating_sub(first.client_run_ns);
    let mut report = LoadReport {
        operations: last.operations - first.operations,
        seconds: last.at.duration_since(first.at).as_secs_f64(),
        latency: histogram(),
        served: histogram(),
        lag: histogram(),
        kinds: Vec::new(),
        misses: 0,
        unanswered: 0,
        client_cpu_ns: ran.saturating_sub(last.client_idle_ns - first.client_idle_ns),
        series: Vec::new(),
        begun: begun + HEAD_START,
        window: (first.at, last.at),
        all_operations: 0,
        all_server_ns: None,
        by_ring: tallies.iter().all(|tally| tally.by_ring),
        server_cpu_ns: last.server_ns.zip(first.server_ns).map(|(b, a)| b.saturating_sub(a)),
    };
    for tally in tallies {
        report.misses += tally.misses;
        report.unanswered += tally.unanswered;
        // All histograms are made with the same bounds, so adding them cannot fail.
        let _ = report.latency.add(&tally.latency);
        let _ = report.served.add(&tally.served);
        let _ = report.lag.add(&tally.lag);
        for (kind, more) in worker::KINDS.into_iter().zip(tally.kinds) {
            match report.kinds.iter_mut().find(|(known, _)| *known == kind) {
                None => report.kinds.push((kind, more)),
                Some((_, all)) => {
                    let _ = all.add(&more);
                }
            }
        }
        series::merge(&mut report.series, tally.series);
    }
    report
}
