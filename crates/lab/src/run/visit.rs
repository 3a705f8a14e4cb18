//! One measurement: load by the generator, samples of the system beside it (`system.rs`), figures of both.

use std::time::{Duration, Instant};

use super::results::{Series, Visit};
use super::system::{self, Span};
use crate::generator::{self, Counts, LoadReport, LoadSpec, Side};
use crate::probes::process::Process;
use crate::probes::sampler::{at, moment, over};
use crate::probes::{Moment, Sampler, counters};
use crate::statistics::warm_up;
use crate::workload::{Operation, RequestPool};
use crate::{LabError, cpu};

/// Window of system calls: long enough for thousands, short enough to be no burden.
const COUNTING: Duration = Duration::from_millis(300);
/// Time around the window in which perf starts and ends.
const COUNTING_AROUND: Duration = Duration::from_millis(700);

/// Runs `spec` and measures.
pub fn measure(spec: &LoadSpec, pool: &RequestPool) -> Result<Visit, LabError> {
    let sampler = Sampler::start(spec.servers.clone());
    let report = generator::run(spec, pool)?;
    let moments = sampler.finish();
    let mut visit = figures(spec, pool, &report);
    let span = Span::of_window(&report);
    system::put(&mut visit, &report, &moments, &span, !spec.servers.is_empty());
    if spec.interval.is_some() {
        visit.series = Some(series(spec, &report, &moments));
    }
    Ok(visit)
}

/// Before the name of a figure: the same figure of the reference's turns.
pub const REFERENCE: &str = "reference_";

/// Measures several stores that take short turns in a closed loop; `first` begins. One visit of
/// each, in their order. The turns of the one that is the `reference` are kept with all others.
pub fn measure_in_turns(
    loads: &[(LoadSpec, &RequestPool)],
    first: usize,
    reference: Option<usize>,
) -> Result<Vec<Visit>, LabError> {
    let mut sides = Side::all(loads.iter().map(|(spec, pool)| (spec.clone(), *pool)))?;
    // Counters of the system at the beginning, and grown by each of a store's own turns.
    let mut grown: Vec<Option<(Moment, Moment)>> = loads.iter().map(|_| None).collect();
    let mut before: Option<Moment> = None;
    // What the kernel delivered meanwhile in threads of its own, in nanoseconds.
    let mut delivered: Vec<Option<u64>> = vec![Some(0); loads.len()];
    let mut delivered_before = None;
    let turns = generator::take_turns(&mut sides, first, |number, report| {
        let spec = &loads[number].0;
        let now = moment(&spec.servers);
        let server = spec.servers.first().filter(|_| !spec.cores.is_empty());
        let delivered_now = server.and_then(|&pid| cpu::softirqd_run_ns(pid, &spec.cores));
        let was = std::mem::replace(&mut delivered_before, delivered_now);
        if report.is_some() {
            let more = delivered_now.zip(was).map(|(now, was)| now.saturating_sub(was));
            delivered[number] = delivered[number].zip(more).map(|(sum, more)| sum + more);
        }
        let (Some(_), Some(was)) = (report, before) else {
            before = Some(now);
            return;
        };
        let (_, sum) = grown[number].get_or_insert((was, was));
        sum.at += now.at - was.at;
        sum.server = sum.server.grown(&was.server, &now.server);
        sum.machine = sum.machine.grown(&was.machine, &now.machine);
    })?;
    let grown = grown.into_iter().zip(delivered);
    let visits = loads.iter().zip(&turns).zip(grown).map(|(((spec, pool), turns), grown)| {
        let (grown, delivered) = grown;
        let Some((head, rest)) = turns.split_first() else { return Visit::default() };
        let mut all = head.clone();
        rest.iter().for_each(|turn| all.absorb(turn));
        let moments: Vec<Moment> = grown.map_or_else(Vec::new, |(from, to)| vec![from, to]);
        let mut visit = figures(spec, pool, &all);
        if let [from, to] = moments.as_slice() {
            let span = Span::of_turns(&all, (from.at, to.at));
            system::put(&mut visit, &all, &moments, &span, !spec.servers.is_empty());
        }
        if let (Some(server_us), Some(ns)) = (all.all_server_us(), delivered) {
            let operations = all.all_operations.max(1) as f64;
            visit.put("server_total_us", server_us + ns as f64 / 1e3 / operations);
        }
        let mut put = |name: &str, figure: &dyn Fn(&LoadReport) -> f64| {
            let values: Vec<f64> = turns.iter().map(|turn| rounded(figure(turn))).collect();
            if values.iter().all(|value| value.is_finite()) {
                visit.turns.insert(name.into(), values);
            }
        };
        put("rate", &LoadReport::rate);
        put("server_us", &|turn| turn.all_server_us().unwrap_or(f64::NAN));
        put("mean", &|turn| turn.latency.mean() / 1e3);
        put("p50", &|turn| turn.latency_us(0.50));
        put("p99", &|turn| turn.latency_us(0.99));
        visit
    });
    let mut visits: Vec<Visit> = visits.collect();
    if let Some(reference) = reference {
        let theirs = visits[reference].turns.clone();
        for (number, visit) in visits.iter_mut().enumerate() {
            for (name, turns) in theirs.iter().filter(|_| number != reference) {
                visit.turns.insert(format!("{REFERENCE}{name}"), turns.clone());
            }
        }
    }
    Ok(visits)
}

/// Counts the server's system calls under the same load. Nothing of it is timed.
pub fn count_calls(spec: &LoadSpec, pool: &RequestPool, visit: &mut Visit) -> Result<(), LabError> {
    let Some(&pid) = spec.servers.first() else { return Ok(()) };
    let around = LoadSpec {
        warm_up: Duration::ZERO,
        window: COUNTING + COUNTING_AROUND,
        interval: Some(Duration::from_millis(50)),
        ..spec.clone()
    };
    let counting = std::thread::spawn(move || {
        std::thread::sleep(COUNTING_AROUND / 3);
        let begun = Instant::now();
        (counters::count(pid, COUNTING), begun)
    });
    let report = generator::run(&around, pool)?;
    let Ok((counts, begun)) = counting.join() else { return Ok(()) };
    // perf needs a moment to attach; the rate under it is taken from the middle of the window.
    let middle = begun.duration_since(report.begun).as_secs_f64() + COUNTING.as_secs_f64() / 2.0;
    let near: Vec<u64> = report
        .series
        .iter()
        .filter(|slice| (slice.at - middle).abs() < COUNTING.as_secs_f64() / 2.0)
        .map(|slice| slice.operations)
        .collect();
    let rate = near.iter().sum::<u64>() as f64 / (near.len() as f64 * 0.05);
    let operations = rate * COUNTING.as_secs_f64();
    let count = |name: &str| counts.get(name).copied().unwrap_or(f64::NAN);
    visit.put("calls_per_op", count("calls") / operations);
    visit.put("calls_s", count("calls") / COUNTING.as_secs_f64());
    visit.put("instructions_per_op", count("instructions") / operations);
    visit.put("l1d_miss_share", 100.0 * count("l1d_misses") / count("l1d_loads"));
    Ok(())
}

/// Resident memory of these processes.
pub fn resident_mib(pids: &[u32]) -> f64 {
    let kib: f64 = pids.iter().filter_map(|&pid| Process::read(pid)).map(|one| one.rss_kib).sum();
    kib / 1024.0
}

/// What the generator saw.
fn figures(spec: &LoadSpec, pool: &RequestPool, report: &LoadReport) -> Visit {
    let mut visit = Visit { latency: Counts::of(&report.latency), ..Visit::default() };
    visit.put("rate", report.rate());
    visit.put("value_mb_s", report.rate() * pool.workload.value_bytes.mean() / 1e6);
    visit.put("mean", visit.latency.mean_us());
    visit.put("least", report.latency.min() as f64 / 1e3);
    for (name, share) in
        [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("worst", 1.0)]
    {
        visit.put(name, visit.latency.quantile_us(share));
    }
    for (kind, latency) in report.kinds.iter().filter(|(_, latency)| !latency.is_empty()) {
        let name = match kind {
            Operation::Get => "reads",
            Operation::Set => "writes",
            Operation::Other => "others",
        };
        for (percentile, share) in [("p50", 0.5), ("p99", 0.99)] {
            let us = latency.value_at_quantile(share) as f64 / 1e3;
            visit.put(&format!("{percentile}_{name}"), us);
        }
    }
    visit.put("client_us", report.client_us());
    visit.put(
        "client_busy",
        report.client_cpu_ns as f64 / 1e7 / report.seconds / spec.threads.max(1) as f64,
    );
    visit.put("misses_share", report.misses_percent());
    if spec.pace != generator::Pace::Closed || report.unanswered > 0 {
        visit.put("unanswered", report.unanswered as f64);
    }
    if spec.pace != generator::Pace::Closed {
        visit.put("lag_p99", report.lag.value_at_quantile(0.99) as f64 / 1e3);
    }
    visit
}

/// Everything over time, on the intervals of the generator.
fn series(spec: &LoadSpec, report: &LoadReport, moments: &[Moment]) -> Series {
    let width = spec.interval.unwrap_or_default().as_secs_f64();
    let mut series = Series { warm_up: spec.warm_up.as_secs_f64(), ..Series::default() };
    let mut put = |name: &str, value: f64| {
        let line = series.lines.entry(name.to_string()).or_default();
        line.push(value.is_finite().then_some(rounded(value)));
    };
    let mut times = Vec::new();
    // What comes after the window is only answers to the last requests.
    let end = (spec.warm_up + spec.window).as_secs_f64();
    for interval in
        report.series.iter().filter(|one| spec.fill.is_some() || one.at + 0.9 * width <= end)
    {
        times.push(interval.at);
        put("rate", interval.operations as f64 / width);
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("worst", 1.0)] {
            put(name, interval.latency.quantile_us(share));
        }
        let from = report.begun + Duration::from_secs_f64(interval.at);
        let to = from + Duration::from_secs_f64(width);
        let during = |counter: &dyn Fn(&Moment) -> f64| over(moments, (from, to), counter);
        let total = during(&|moment| moment.machine.total_s());
        let idle = during(&|moment| moment.machine.idle_s);
        put("cpu", 100.0 * (total - idle) / total);
        put("rss_mib", at(moments, to, |moment| moment.server.rss_kib) / 1024.0);
        let pages =
            |moment: &Moment| moment.machine.swapped_in_pages + moment.machine.swapped_out_pages;
        put("swap", during(&pages) / width);
    }
    series.at = times;
    let medians: Vec<f64> = series
        .lines
        .get("p50")
        .into_iter()
        .flatten()
        .map(|value| value.unwrap_or(f64::NAN))
        .collect();
    series.settled = warm_up::intervals(&medians) as f64 * width;
    series
}

/// Five digits are more than any of it is worth, and half of the bytes.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powi(4 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
