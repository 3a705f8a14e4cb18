//! One run: threads, phases, and the two instants at which everything is sampled.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::schedule::Schedule;
use super::worker::{self, Gauge, Shared, Tally};
use super::{LoadReport, LoadSpec, Session, histogram, series};
use crate::LabError;
use crate::clock::Clock;
use crate::cpu;
use crate::workload::RequestPool;

/// Connections are up before the first request is due; this is the pause between the two.
const HEAD_START: Duration = Duration::from_micros(500);

/// After its last reply a server goes to sleep, and the kernel's account of it is then complete.
const REST: Duration = Duration::from_micros(200);

/// Counters of both sides at one instant.
struct Sample {
    at: Instant,
    operations: u64,
    reads: u64,
    misses: u64,
    client_run_ns: u64,
    client_idle_ns: u64,
    server_ns: Option<u64>,
}

/// Asks `spec.target` for the requests of `pool` and reports the measured window.
pub fn run(spec: &LoadSpec, pool: &RequestPool) -> Result<LoadReport, LabError> {
    Session::open(spec, pool)?.run(spec, pool)
}

/// Asks for a window over connections that are up, dealt out to threads.
pub(super) fn measure(
    shares: &mut [Vec<Connection>],
    spec: &LoadSpec,
    pool: &RequestPool,
) -> Result<LoadReport, LabError> {
    let threads = shares.len();
    let clock = Clock::start();
    let stopping = AtomicBool::new(false);
    let begin = HEAD_START.as_nanos() as u64;
    let from = begin + spec.warm_up.as_nanos() as u64;
    let to = from + spec.window.as_nanos() as u64;
    // Without a warm-up the first requests are among those that are measured, though a closed loop asks
    // them before the counters are read: a store that stands still from the beginning is seen by them.
    let kept_from = if spec.warm_up.is_zero() { 0 } else { from };
    let shared = Shared { spec, pool, clock, stopping: &stopping, begin, window: (kept_from, to) };
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
        sleep_until(&clock, to, failed);
        let last = sample(spec, &gauges);
        stopping.store(true, Ordering::Release);

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
    let sum = |counter: fn(&Gauge) -> &AtomicU64| -> u64 {
        gauges.iter().map(|gauge| counter(gauge).load(Ordering::Relaxed)).sum()
    };
    Ok(Sample {
        at: Instant::now(),
        operations: sum(|gauge| &gauge.operations),
        reads: sum(|gauge| &gauge.reads),
        misses: sum(|gauge| &gauge.misses),
        client_run_ns: gauges
            .iter()
            .map(|gauge| cpu::thread_run_ns(gauge.thread.load(Ordering::Relaxed)))
            .sum(),
        client_idle_ns: sum(|gauge| &gauge.idle_ns),
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
        reads: last.reads - first.reads,
        misses: last.misses - first.misses,
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
