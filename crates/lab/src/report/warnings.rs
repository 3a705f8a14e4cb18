//! What a reader must know before he believes a figure: where the generator and not a store was at its
//! end, where stores did not do the same work, and what the machine did meanwhile.

use crate::experiment::{Kind, Setting};
use crate::run::results::{Point, Results};
use crate::statistics::median;

/// Share of its cores at which the generator itself is what limits a figure.
const CLIENT_FULL: f64 = 95.0;
/// Share of what a server can take at which it still has time to spare.
const SERVER_IDLE: f64 = 0.9;
/// Part of the 99th percentile by which the generator of an open loop may itself be late.
const LATE: f64 = 0.3;
/// Share by which the machine's speed may change before a reader must know.
const DRIFT: f64 = 0.03;
/// Percent of the reads that find nothing before a reader must know.
const MISSES_TOLD: f64 = 0.1;
/// Percentage points by which two stores may differ in these and still have done the same work.
const MISSES_ALIKE: f64 = 1.0;
/// Figures that a generator at its end keeps low.
const THROUGHPUT: [&str; 4] = ["rate", "value_mb_s", "closed_loop_rate", "quality_rate"];
/// Figures that have the lateness of the generator of an open loop in them.
const LATENCY: [&str; 13] = [
    "mean",
    "least",
    "p50",
    "p90",
    "p99",
    "p999",
    "p50_reads",
    "p99_reads",
    "p50_writes",
    "p99_writes",
    "p50_others",
    "p99_others",
    "worst",
];

fn typical(point: &Point, figure: &str) -> f64 {
    median(point.rounds(figure))
}

/// The generator of an open loop never sleeps, so that only how late it was says whether it kept up.
fn is_open(point: &Point) -> bool {
    typical(point, "lag_p99").is_finite()
}

/// Cores that the server could keep busy: one a thread. Pinned processes of one store share theirs.
fn server_cores(results: &Results, point: &Point) -> f64 {
    let of = |axis: &str| point.setting(axis).and_then(Setting::number);
    let load = &results.experiment.load;
    let is_pinned = match point.setting("pinned") {
        Some(Setting::Flag(is_pinned)) => *is_pinned,
        _ => load.pinned,
    };
    let threads = of("server-threads").unwrap_or(load.server_threads as f64);
    let processes = if is_pinned { 1.0 } else { of("nodes").unwrap_or(1.0) };
    (threads * processes).min(results.machine.cores as f64).max(1.0)
}

/// Whether the generator and not the server limits what is asked in a closed loop. Of a server whose CPU
/// is not seen nobody knows that it was at its end: then it is the generator that was.
fn is_client_full(results: &Results, point: &Point) -> bool {
    let busy = typical(point, "busy") / server_cores(results, point);
    !is_open(point)
        && typical(point, "client_busy") > CLIENT_FULL
        && (busy.is_nan() || busy < SERVER_IDLE)
}

/// Whether what was to be offered in an open loop was not: the generator itself was late.
fn is_client_late(point: &Point) -> bool {
    typical(point, "lag_p99") > LATE * typical(point, "p99")
}

/// Microseconds as a person says them.
fn time(us: f64) -> String {
    match us {
        ..1e3 => format!("{us:.0} µs"),
        ..1e4 => format!("{:.1} ms", us / 1e3),
        _ => format!("{:.0} ms", us / 1e3),
    }
}

/// What stands beside the ratio of two stores, in a few words each.
pub fn marks(results: &Results, pairs: &[(&Point, &Point)]) -> Vec<String> {
    let in_some = |what: &str, is: &dyn Fn(&(&Point, &Point)) -> bool| {
        let count = pairs.iter().filter(|pair| is(pair)).count();
        match (count, pairs.len()) {
            (0, _) => None,
            (_, 1) => Some(what.to_string()),
            (count, all) => Some(format!("{what} in {count} of {all}")),
        }
    };
    let mut marks = Vec::new();
    let figure = results.experiment.figure.as_str();
    let is_throughput = THROUGHPUT.contains(&figure);
    if is_throughput {
        let full = |(one, other): &(&Point, &Point)| {
            is_client_full(results, one) || is_client_full(results, other)
        };
        marks.extend(in_some("generator full", &full));
    }
    if is_throughput || LATENCY.contains(&figure) {
        let late = |(one, other): &(&Point, &Point)| is_client_late(one) || is_client_late(other);
        let points = pairs.iter().flat_map(|(one, other)| [one, other]);
        let lags = points.filter(|point| is_client_late(point));
        let most = lags.map(|point| typical(point, "lag_p99")).fold(0.0, f64::max);
        let late = in_some("generator late", &late);
        marks.extend(late.map(|mark| format!("{mark}, by {} at most", time(most))));
    }
    if results.experiment.kind != Kind::Hits {
        let unlike = |(one, other): &(&Point, &Point)| {
            let misses = [*one, *other].map(|point| typical(point, "misses_share"));
            (misses[0] - misses[1]).abs() > MISSES_ALIKE
        };
        marks.extend(in_some("reads without a value differ, not the same work", &unlike));
    }
    marks
}

/// The points of one store.
fn of<'r>(results: &'r Results, store: &'r str) -> impl Iterator<Item = &'r Point> {
    results.points.iter().filter(move |point| point.store == store)
}

/// What holds for the whole run, a sentence each.
pub fn all(results: &Results) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut limited = results.present();
    limited.retain(|store| of(results, store).any(|point| is_client_full(results, point)));
    if !limited.is_empty() {
        let is_unseen = |store: &&str| of(results, store).any(|one| typical(one, "busy").is_nan());
        let unseen = if limited.iter().any(is_unseen) { ", or was not seen" } else { "" };
        warnings.push(format!(
            "At some settings the generator's core was full and the server's was not{unseen} ({}): \
             throughput is a floor there; compare CPU an operation.",
            limited.join(", ")
        ));
    }
    if results.points.iter().any(is_client_late) {
        warnings.push(
            "At some settings the generator itself was late by a good part of the 99th percentile: \
             that part is not the server's."
                .into(),
        );
    }
    if results.experiment.kind != Kind::Hits {
        let mut missing = Vec::new();
        for store in results.present() {
            let shares = of(results, store).map(|point| typical(point, "misses_share"));
            missing.push((store, shares.filter(|share| !share.is_nan()).fold(0.0, f64::max)));
        }
        if missing.iter().any(|(_, share)| *share > MISSES_TOLD) {
            let each = missing.iter().map(|(store, share)| format!("{store} {share:.1} %"));
            let each = each.collect::<Vec<_>>().join(", ");
            warnings.push(format!("Reads that found no value, at the setting with most: {each}."));
        }
    }
    if let [before, after] = results.noise.as_slice() {
        let drift = after.drift(before);
        if drift > DRIFT {
            warnings.push(format!(
                "The machine's own speed changed by {:.0} % between the beginning and the end; only \
                 ratios of stores that took turns are to be trusted.",
                100.0 * drift
            ));
        }
        let away = before.away.max(after.away);
        if away > DRIFT {
            warnings.push(format!(
                "Other programs or the host took {:.0} % of the time from a core that had nothing \
                 else to do: tails of latency are theirs in part.",
                100.0 * away
            ));
        }
    }
    if results.points.iter().any(|point| typical(point, "cpu_steal") > 2.0) {
        warnings
            .push("The host took processor time from this virtual machine during the run.".into());
    }
    if results.interrupted {
        warnings.push("The run was ended early; what had been measured is shown.".into());
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Length, catalogue};
    use crate::run::results::{StoreEntry, Visit};

    /// One round of two stores, each with these figures.
    fn run(name: &str, figures: [&[(&str, f64)]; 2]) -> Results {
        let experiment = catalogue::find(name).unwrap().at(Length::Quick, 1.0);
        let mut results = Results::bare(experiment, Length::Quick);
        for (store, figures) in ["dolium", "redis"].iter().zip(figures) {
            let mut visit = Visit::default();
            figures.iter().for_each(|(figure, value)| visit.put(figure, *value));
            let (store, visits) = ((*store).to_string(), vec![visit]);
            results.stores.push(StoreEntry { label: store.clone(), ..StoreEntry::default() });
            results.points.push(Point { store, settings: Vec::new(), visits });
        }
        results
    }

    fn marked(results: &Results) -> String {
        marks(results, &[(&results.points[0], &results.points[1])]).join(", ")
    }

    #[test]
    fn a_full_generator_is_marked_beside_throughputs_only_and_a_late_one_beside_latencies_too() {
        let full: &[_] = &[("rate", 1.0), ("client_busy", 97.0), ("busy", 0.7)];
        let quiet: &[_] = &[("rate", 1.0), ("client_busy", 60.0), ("busy", 0.98)];
        assert_eq!(marked(&run("ems-throughput-read", [quiet, full])), "generator full");
        assert_eq!(marked(&run("ems-latency-read", [quiet, full])), "");
        assert_eq!(marked(&run("ems-throughput-read", [quiet, quiet])), "");
        let bound: &[_] = &[("rate", 1.0), ("client_busy", 97.0), ("busy", 0.99)];
        assert_eq!(marked(&run("ems-throughput-read", [quiet, bound])), "");
        // The generator of an open loop is always busy. What counts is whether it kept up.
        let [open, late] = [("lag_p99", 20.0), ("lag_p99", 65_000.0)].map(|lag| {
            [("rate", 1.0), ("client_busy", 99.0), ("busy", 0.4), ("p99", 120_000.0), lag]
        });
        assert_eq!(marked(&run("epfl19-collapse", [&open, &open])), "");
        let mark = marked(&run("epfl19-collapse", [&open, &late]));
        assert_eq!(mark, "generator late, by 65 ms at most");
        let few = [("rate", 1.0), ("client_busy", 99.0), ("p99", 1_000.0), ("lag_p99", 410.0)];
        let mark = marked(&run("epfl19-latency", [&few, &few]));
        assert_eq!(mark, "generator late, by 410 µs at most");
        let said = all(&run("epfl19-collapse", [&open, &late])).join(" ");
        assert!(said.contains("late by a good part") && !said.contains("core was full"), "{said}");
    }

    /// A store that somebody else started was never said to have been asked too little, and one of
    /// several threads was said to be full where each of them was half idle.
    #[test]
    fn a_server_of_several_threads_or_out_of_sight_may_have_been_idle() {
        let unseen: &[_] = &[("rate", 1.0), ("client_busy", 97.0)];
        let quiet: &[_] = &[("rate", 1.0), ("client_busy", 60.0), ("busy", 0.98)];
        let results = run("ems-throughput-read", [quiet, unseen]);
        assert_eq!(marked(&results), "generator full");
        let said = all(&results).join(" ");
        assert!(said.contains("the server's was not, or was not seen (redis)"), "{said}");
        let busy: &[_] = &[("rate", 1.0), ("client_busy", 97.0), ("busy", 1.2)];
        let with = |threads: u64, cores: usize| {
            let mut results = run("ems-throughput-read", [quiet, busy]);
            results.machine.cores = cores;
            for point in &mut results.points {
                point.settings = vec![("server-threads".into(), Setting::Whole(threads))];
            }
            marked(&results)
        };
        assert_eq!([with(2, 4), with(8, 2)], ["generator full", "generator full"]);
        assert_eq!([with(1, 4), with(8, 1)], ["", ""]);
    }

    #[test]
    fn misses_are_told_and_stores_that_missed_unlike_shares_are_marked() {
        let missing = |share| vec![("rate", 1.0), ("misses_share", share)];
        let told = |one, other| {
            let results = run("ycsb-d", [&missing(one), &missing(other)]);
            (marked(&results), all(&results).join(" "))
        };
        assert_eq!(told(0.05, 0.0), (String::new(), String::new()));
        let (mark, warning) = told(0.8, 0.0);
        assert_eq!((mark.as_str(), warning.contains("dolium 0.8 %, redis 0.0 %")), ("", true));
        let (mark, _) = told(11.4, 15.0);
        assert_eq!(mark, "reads without a value differ, not the same work");
        // A cache that is too small is asked how much it misses.
        let hits = run("traces", [&missing(40.0), &missing(50.0)]);
        assert_eq!((marked(&hits), all(&hits).len()), (String::new(), 0));
    }
}
