//! An experiment within a given time: first shorter measurements, then fewer repetitions, at last
//! fewer keys, so that the published number of keys is kept as long as it can be.
//!
//! What an experiment takes is estimated from rates that two cores of a server reach; a slower
//! machine takes longer than it was given, a faster one less. How far a run stayed below the
//! published scale is said by `cuts.rs`.

use super::{Axis, Experiment, Kind, Setting};
use crate::LabError;

/// Repetitions below which no difference can be told from chance.
const REPETITIONS_TOLD: usize = 6;
/// Shortest window and shortest warm-up that are still worth a start.
const WINDOW_LEAST: f64 = 0.25;
const WARM_UP_LEAST: f64 = 0.1;
/// Starting, greeting and ending a store.
const START: f64 = 0.3;
/// What a visit takes besides its window: connections, samples, the last replies.
const AROUND: f64 = 0.1;
/// Loading in long pipelines: keys a second, and bytes a second where values are large.
const LOAD_KEYS: f64 = 400_000.0;
const LOAD_BYTES: f64 = 200e6;
/// Keys a second that are stored one by one, as users store them.
const FILL_KEYS: f64 = 50_000.0;
/// Bytes a second to and from a swap file, with its making and its emptying.
const SWAP_BYTES: f64 = 40e6;
/// Edges of a graph that all stores and Spark together work off in a second, all iterations.
const EDGES: f64 = 7_000.0;
/// Reads a second of one client that looks aside, and reads for each key.
const ASIDE: f64 = 120_000.0;
const READS: f64 = 6.0;
/// Bytes of records a second, where a record is a collection.
const RECORD_BYTES: f64 = 15e6;
/// Visits of one search for the highest rate: one in a closed loop, and the rates that are tried.
const SEARCH: f64 = 11.0;
/// A visit of a program of another system takes so long to begin.
const PROGRAM: f64 = 4.0;
/// Share of the time that loading may take before keys are cut.
const LOADING_MOST: f64 = 0.5;
/// Share of the machine's free memory that data may take; stores that keep it all at once count.
const MEMORY_MOST: f64 = 0.5;
/// Bytes that a store may take for each byte of a collection (published: 7.5).
const ENCODING_MOST: f64 = 8.0;
const KEYS_LEAST: f64 = 1_000.0;

/// Cuts `experiment` so that it takes about `seconds` with so many `stores`, and so that its data
/// fit into `memory` bytes. Returns the share of the keys that is left.
pub fn fit(
    experiment: &mut Experiment,
    stores: usize,
    seconds: f64,
    memory: f64,
) -> Result<f64, LabError> {
    let stores = stores.max(1) as f64;
    let each = experiment.workload.value.sizes().mean() + experiment.workload.key.sizes().mean();
    let keys = f64::from(experiment.workload.keys).max(1.0);
    let share = match experiment.kind {
        Kind::Load | Kind::Quality | Kind::Program | Kind::Commands | Kind::Mixed => {
            visits(experiment, stores, seconds)?
        }
        Kind::Fill => {
            let cases: f64 = experiment.fill.iter().map(|case| case.only.len().min(2) as f64).sum();
            let swap: f64 = experiment.fill.iter().map(|case| case.memory_share).sum::<f64>()
                / experiment.fill.len().max(1) as f64;
            let one = keys / FILL_KEYS + if swap > 0.0 { keys * each / SWAP_BYTES } else { 0.0 };
            repeat(experiment, cases.max(1.0) * one, seconds)
        }
        Kind::Pagerank => {
            repeat(experiment, keys * experiment.graph.edges_per_node / EDGES, seconds)
        }
        Kind::Hits => {
            let combinations = experiment.combinations()?.len() as f64;
            repeat(experiment, combinations * stores * keys * READS / ASIDE, seconds)
        }
        Kind::Memory => {
            let bytes: f64 = experiment.record.iter().map(super::Record::bytes).sum();
            repeat(experiment, stores * bytes / RECORD_BYTES, seconds)
        }
        Kind::Misses => 1.0,
    };
    let data = match experiment.kind {
        // One store at a time; the largest of the records, in the most wasteful of encodings.
        Kind::Memory => {
            let largest = experiment.record.iter().map(super::Record::bytes).fold(0.0, f64::max);
            largest * ENCODING_MOST
        }
        Kind::Fill => keys * each,
        _ => keys * each * stores,
    };
    let room = MEMORY_MOST * memory / data.max(1.0);
    let share = share.min(room).clamp((KEYS_LEAST / keys).min(1.0), 1.0);
    cap(experiment, share);
    experiment.scale(share);
    Ok(share)
}

/// An axis of keys loses its largest values and keeps the others as they were published.
fn cap(experiment: &mut Experiment, share: f64) {
    for sweep in experiment.sweep.iter_mut().filter(|sweep| sweep.axis == Axis::Keys) {
        let number = |value: &Setting| value.number().unwrap_or(0.0);
        let most = sweep.values.iter().map(number).fold(0.0, f64::max) * share;
        let least = sweep.values.iter().map(number).fold(f64::INFINITY, f64::min);
        sweep.values.retain(|value| number(value) <= most.max(least));
    }
}

/// Experiments whose visits last as long as they are told to.
fn visits(experiment: &mut Experiment, stores: f64, seconds: f64) -> Result<f64, LabError> {
    let combinations = experiment.combinations()?;
    let mut loading = 0.0;
    let mut before = String::new();
    for one in &combinations {
        let work = &one.workload;
        let each = work.value.sizes().mean() + work.key.sizes().mean();
        let group = format!(
            "{} {:?} {:?} {} {} {}",
            work.keys, work.key, work.value, one.nodes, one.load.server_threads, one.load.pinned
        );
        if group != before {
            let keys = if work.preload { f64::from(work.keys) } else { 0.0 };
            loading += START + keys / LOAD_KEYS + keys * each / LOAD_BYTES;
            before = group;
        }
    }
    loading *= stores;
    let share = (LOADING_MOST * seconds / loading).min(1.0);
    let cells = match experiment.kind {
        Kind::Commands => experiment
            .record
            .iter()
            .map(|record| (record.sizes.len() * record.command.len()) as f64)
            .sum(),
        Kind::Mixed => experiment.fill.len() as f64,
        Kind::Quality => combinations.len() as f64 * SEARCH,
        _ => combinations.len() as f64,
    };
    // Programs of other systems start anew for every visit.
    let programs =
        experiment.stores.iter().filter(|name| ["spark", "ems"].contains(&name.as_str()));
    let slow = PROGRAM * programs.count() as f64 / stores;
    let left = (seconds - loading * share).max(0.0);
    let load = &mut experiment.load;
    let visit = |repetitions: usize| left / (cells * stores * repetitions as f64) - AROUND - slow;
    load.repetitions = load.repetitions.min(REPETITIONS_TOLD.max(
        // More rounds only where the published window fits into all of them.
        (left / (cells * stores * (load.seconds + load.warm_up + AROUND + slow))) as usize,
    ));
    while load.repetitions > 1 && visit(load.repetitions) < WINDOW_LEAST + WARM_UP_LEAST {
        load.repetitions -= 1;
    }
    let visit = visit(load.repetitions);
    load.warm_up = load.warm_up.min((visit / 4.0).max(WARM_UP_LEAST));
    load.seconds = load.seconds.min((visit - load.warm_up).max(WINDOW_LEAST));
    // Two digits: what a reader sees is what was measured.
    load.seconds = (load.seconds * 100.0).round() / 100.0;
    load.warm_up = (load.warm_up * 100.0).round() / 100.0;
    Ok(share)
}

/// Experiments that last until all keys are through: as many repetitions as fit, or a share of the
/// keys.
fn repeat(experiment: &mut Experiment, one: f64, seconds: f64) -> f64 {
    let fitting = (seconds / one.max(1e-9)) as usize;
    experiment.load.repetitions = experiment.load.repetitions.min(fitting.max(1));
    (seconds / one.max(1e-9)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Length, catalogue, cuts};

    #[test]
    fn time_is_cut_before_keys_and_what_was_cut_is_said() {
        let mut latency = catalogue::find("pavlik16-fig1").unwrap().at(Length::Full, 1.0);
        assert!(cuts::cuts(&latency).is_empty());
        let share = fit(&mut latency, 3, 180.0, 20e9).unwrap();
        assert_eq!((share, latency.workload.keys), (1.0, 10_000));
        let visit = latency.load.seconds + latency.load.warm_up + AROUND;
        let takes = visit * (36 * latency.load.repetitions) as f64;
        assert!((100.0..200.0).contains(&takes), "{takes}");
        let cuts = |run: &Experiment| cuts::cuts(run).join(", ");
        assert!(cuts(&latency).contains("s of 10 s"), "{}", cuts(&latency));

        let mut fill = catalogue::find("cao16-fig1").unwrap().at(Length::Full, 1.0);
        let share = fit(&mut fill, 3, 60.0, 20e9).unwrap();
        assert!(share < 0.2 && fill.load.repetitions == 1, "{share}");
        assert!(cuts(&fill).contains("of 5000000 keys, 1 of 5 repetitions"), "{}", cuts(&fill));
    }

    #[test]
    fn data_fit_into_the_memory_that_is_there() {
        let mut mixed = catalogue::find("mixed").unwrap().at(Length::Full, 1.0);
        fit(&mut mixed, 2, 1e6, 4e9).unwrap();
        assert!(f64::from(mixed.workload.keys) * 1_016.0 * 2.0 <= 2.01e9);
        assert!(mixed.workload.keys > 900_000, "{}", mixed.workload.keys);
    }
}
