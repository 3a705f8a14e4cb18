//! When a run was made, and what of the way in which it was measured is done otherwise by now: a table of
//! runs of several days must not be read as if they were one.

use crate::experiment::Kind;
use crate::experiment::sweep::Axis;
use crate::run::choice::is_program;
use crate::run::results::Results;
use crate::workload::Mix;

/// Since this day an open loop asks by io_uring (decision 136).
const OPEN_BY_RING: &str = "2026-11-24";
/// Since this minute clients check a value eight characters at a time (decision 169).
const CHECKED_BY_WORDS: &str = "2026-11-27 18:45";
/// Of values from here on, the check was a good part of what a client did.
const LONG_VALUE: f64 = 1000.0;
/// Figures that are made of latencies.
const WAITS: [&str; 5] = ["mean", "p50", "p90", "p99", "p999"];

/// The day, and what differs from how the lab measures today.
pub fn words(results: &Results) -> String {
    let day = results.began.split(' ').next().unwrap_or_default();
    let mut said = vec![day.to_string()];
    let Results { experiment, points, method, .. } = results;
    let load = &experiment.load;
    let has_turns = points.iter().any(|point| point.visits.iter().any(|one| !one.turns.is_empty()));
    let is_open = points.iter().any(|point| !point.rounds("lag_p99").is_empty());
    let servers = results.present().iter().filter(|store| !is_program(store)).count();
    let closed = experiment.kind == Kind::Load && load.interval <= 0.0 && !is_open;
    if closed && servers > 1 && !has_turns {
        said.push("whole visits in place of turns".into());
    }
    if is_open && results.began.as_str() < OPEN_BY_RING {
        said.push("an open loop by epoll".into());
    }
    let value = std::iter::once(experiment.workload.value.sizes().mean());
    let swept = points.iter().flat_map(|point| &point.settings);
    let swept = swept.filter(|(axis, _)| axis == Axis::Value.name());
    let is_long = value.chain(swept.filter_map(|(_, size)| size.number())).any(|n| n >= LONG_VALUE);
    if is_long && experiment.kind == Kind::Load && results.began.as_str() < CHECKED_BY_WORDS {
        said.push("values checked by single characters".into());
    }
    if *method == 0 {
        if closed && WAITS.contains(&experiment.figure.as_str()) {
            said.push("without the latencies that a window's end cut off".into());
        }
        if experiment.kind == Kind::Quality {
            said.push("searched by halves".into());
        }
        let inserts = matches!(experiment.workload.operations.mix(),
            Ok(Mix::Recipe(recipe)) if recipe.inserts());
        if inserts && load.repetitions > 1 {
            said.push("inserts overwrote from the second repetition on".into());
        }
    }
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Length, catalogue};
    use crate::run::judge::tests::points;

    #[test]
    fn what_was_measured_otherwise_is_said_and_what_was_not_is_not() {
        let told = |name: &str, method: u32, in_turns: bool| {
            let experiment = catalogue::find(name).unwrap().at(Length::Quick, 1.0);
            let mut both = [points("dolium", &[&[Some(1.0)]]), points("redis", &[&[Some(1.0)]])];
            for point in both.iter_mut().flatten().filter(|_| in_turns) {
                point.visits[0].turns.insert("rate".into(), vec![1.0]);
            }
            let entry = |label: &str| crate::run::results::StoreEntry {
                label: label.into(),
                ..Default::default()
            };
            words(&Results {
                began: "2026-11-21 15:07:11 UTC".into(),
                stores: vec![entry("dolium"), entry("redis")],
                points: both.concat(),
                method,
                ..Results::bare(experiment, Length::Quick)
            })
        };
        assert_eq!(told("pavlik16-fig1", 1, true), "2026-11-21");
        assert_eq!(
            told("ycsb-d", 0, false),
            "2026-11-21, whole visits in place of turns, values checked by single characters, \
             inserts overwrote from the second repetition on"
        );
        assert_eq!(
            told("pavlik16-fig2", 0, true),
            "2026-11-21, without the latencies that a window's end cut off"
        );
        assert_eq!(told("pavlik16-redis", 0, false), "2026-11-21, searched by halves");
        assert_eq!(told("pavlik16-redis", 1, false), "2026-11-21");
        assert_eq!(told("traces", 0, false), "2026-11-21");
    }
}
