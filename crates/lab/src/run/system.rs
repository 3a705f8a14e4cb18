//! What the system says of a measurement: the server's CPU, memory and waiting, and the whole machine.
//!
//! ```text
//! whole visit   warm-up |<------- window ------->| last replies      counters are sampled beside it
//! turn          rest |<-- first requests | window | last replies -->| rest      and read at both ends
//! ```
//!
//! Counters are divided by the operations and the seconds that they ran over and by no others: those of a
//! turn run from rest to rest, which is more of both than its window has.

use std::time::Instant;

use super::results::Visit;
use crate::generator::LoadReport;
use crate::probes::Moment;
use crate::probes::sampler::{at, over};

/// What counters are taken over.
pub struct Span {
    window: (Instant, Instant),
    operations: f64,
    seconds: f64,
    /// Server CPU an operation.
    server_us: Option<f64>,
}

impl Span {
    /// The window of a visit.
    pub fn of_window(report: &LoadReport) -> Self {
        Self {
            window: report.window,
            operations: report.operations.max(1) as f64,
            seconds: report.seconds,
            server_us: report.server_us(),
        }
    }

    /// All turns of a visit together, between two moments that stand as far apart as the turns were long.
    pub fn of_turns(report: &LoadReport, window: (Instant, Instant)) -> Self {
        Self {
            window,
            operations: report.all_operations.max(1) as f64,
            seconds: window.1.duration_since(window.0).as_secs_f64().max(1e-9),
            server_us: report.all_server_us(),
        }
    }
}

/// Adds it to the figures of a visit.
pub fn put(
    visit: &mut Visit,
    report: &LoadReport,
    moments: &[Moment],
    span: &Span,
    server_known: bool,
) {
    let &Span { window, operations, seconds, server_us } = span;
    let during = |counter: &dyn Fn(&Moment) -> f64| over(moments, window, counter);
    let total = during(&|moment| moment.machine.total_s()).max(1e-9);
    let share = |counter: &dyn Fn(&Moment) -> f64| 100.0 * during(counter) / total;
    visit.put("cpu_user", share(&|moment| moment.machine.user_s));
    visit.put("cpu_system", share(&|moment| moment.machine.system_s));
    visit.put("cpu_iowait", share(&|moment| moment.machine.iowait_s));
    visit.put("cpu_irq", share(&|moment| moment.machine.irq_s));
    visit.put("cpu_softirq", share(&|moment| moment.machine.softirq_s));
    visit.put("cpu_steal", share(&|moment| moment.machine.steal_s));
    visit.put("loopback_b_per_op", during(&|moment| moment.machine.loopback_bytes) / operations);
    let swapped =
        |moment: &Moment| moment.machine.swapped_in_pages + moment.machine.swapped_out_pages;
    visit.put("swap", during(&swapped) / seconds);
    if !server_known {
        return;
    }
    visit.put("server_us", server_us.unwrap_or(f64::NAN));
    visit.put("busy", report.server_busy().unwrap_or(f64::NAN));
    let user = during(&|moment| moment.server.user_s);
    let system = during(&|moment| moment.server.system_s);
    if user + system > 0.0 {
        // The ticks say how the time is split, the scheduler how much there was.
        let part = system / (user + system);
        visit.put("system_share", 100.0 * part);
        if let Some(us) = server_us {
            visit.put("server_system_us", us * part);
            visit.put("server_user_us", us * (1.0 - part));
        }
    }
    visit.put("waits_per_op", during(&|moment| moment.server.waits) / operations);
    visit.put("preemptions_per_op", during(&|moment| moment.server.preemptions) / operations);
    let faults = |moment: &Moment| moment.server.minor_faults + moment.server.major_faults;
    visit.put("faults_per_op", during(&faults) / operations);
    visit.put("rss_mib", at(moments, window.1, |moment| moment.server.rss_kib) / 1024.0);
    visit.put("growth_kib_s", during(&|moment| moment.server.rss_kib) / seconds);
    visit.put("swap_mib", at(moments, window.1, |moment| moment.server.swap_kib) / 1024.0);
    let written = |moment: &Moment| moment.server.written_bytes;
    visit.put("written_mb_s", during(&written) / 1e6 / seconds);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::generator::histogram;
    use crate::probes::machine::Whole;
    use crate::probes::process::Process;

    /// A tenth of what the counters of turns saw was outside of their windows, and was laid to what was
    /// inside.
    #[test]
    fn counters_of_turns_are_divided_by_what_they_ran_over() {
        let begun = Instant::now();
        let window = (begun, begun + Duration::from_secs(2));
        let report = LoadReport {
            operations: 900,
            seconds: 1.8,
            latency: histogram(),
            served: histogram(),
            lag: histogram(),
            kinds: Vec::new(),
            reads: 900,
            misses: 0,
            unanswered: 0,
            client_cpu_ns: 0,
            server_cpu_ns: Some(1_710_000),
            all_operations: 1_000,
            all_server_ns: Some(2_000_000),
            series: Vec::new(),
            begun,
            window,
            by_ring: false,
        };
        let server = Process {
            user_s: 0.5,
            system_s: 1.5,
            minor_faults: 100.0,
            waits: 1_000.0,
            rss_kib: 10.0,
            written_bytes: 4e6,
            ..Process::default()
        };
        let machine = Whole { loopback_bytes: 50_000.0, swapped_in_pages: 6.0, ..Whole::default() };
        let moments = [
            Moment { at: window.0, server: Process::default(), machine: Whole::default() },
            Moment { at: window.1, server, machine },
        ];
        let mut visit = Visit::default();
        put(&mut visit, &report, &moments, &Span::of_turns(&report, window), true);
        for (name, expected) in [
            ("waits_per_op", 1.0),
            ("faults_per_op", 0.1),
            ("loopback_b_per_op", 50.0),
            ("swap", 3.0),
            ("written_mb_s", 2.0),
            ("growth_kib_s", 5.0),
            ("server_us", 2.0),
            ("server_user_us", 0.5),
            ("server_system_us", 1.5),
            ("busy", 0.000_95),
        ] {
            let found = visit.figures[name];
            assert!((found - expected).abs() < 1e-9, "{name}: {found}");
        }
    }
}
