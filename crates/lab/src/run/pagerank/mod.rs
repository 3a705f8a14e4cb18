//! `kind = "pagerank"`: the ranks of a graph that lies in a store, computed by its client; or by the
//! store's own script; or by Spark.
//!
//! One object for each node's neighbours and one for its rank, as in the study. An iteration reads
//! both of every node, sends rank / degree to the neighbours (in the driver's memory), and writes
//! every rank: 0.15 + 0.85 x what arrived.

mod graph;
mod objects;
pub mod spark;

use std::path::Path;
use std::time::{Duration, Instant};

use super::Stage;
use super::choice::{Choice, Player};
use super::results::Visit;
use super::servers::Fleet;
use crate::LabError;
use crate::probes::process::Process;
use crate::probes::sampler::over;
use crate::probes::{Sampler, counters};
use crate::stores::Store;
use crate::stores::talk::Talk;

pub use graph::Graph;
use objects::Objects;

/// As published.
const ITERATIONS: usize = 10;
/// Spark's formula: no mass of dangling nodes.
const BASE: f64 = 0.15;
const DAMPING: f64 = 0.85;
/// Window in which system calls are counted, in an iteration that is not timed.
const COUNTING: Duration = Duration::from_millis(300);

/// The whole computation inside Redis: its one thread does nothing else meanwhile.
const SCRIPT: &str = include_str!("pagerank.lua");

/// Runs every store in turns.
pub fn run(stage: &mut Stage<'_>, file: Option<&Path>) -> Result<(), LabError> {
    let experiment = stage.results.experiment.clone();
    stage.say("making the graph");
    let graph = match file {
        Some(path) => {
            let graph = Graph::read(path)?;
            // What was run is what was read, whatever the file of the experiment says.
            let asked = &mut stage.results.experiment;
            asked.workload.keys = graph.nodes();
            asked.graph.edges_per_node = graph.edges() as f64 / f64::from(graph.nodes().max(1));
            graph
        }
        None => Graph::make(experiment.workload.keys, experiment.graph.edges_per_node),
    };
    stage.note(&format!(
        "{} nodes, {} edges, {:.1} MB as a text of edges",
        graph.nodes(),
        graph.edges(),
        graph.text_bytes() as f64 / 1e6
    ));
    let expected = graph.ranks(ITERATIONS);
    let repetitions = experiment.load.repetitions;
    stage.live.expect(repetitions * stage.choices.len());
    for repetition in 0..repetitions {
        let choices = stage.choices.clone();
        for turn in 0..choices.len() {
            let choice = &choices[(turn + repetition) % choices.len()];
            if crate::interrupt::asked() {
                return Err(LabError::Interrupted);
            }
            stage.say(&format!("{} computes", choice.label));
            let count = experiment.load.count_calls && repetition == 0;
            let done = match choice.player {
                Player::Spark => spark::run(&graph, ITERATIONS, stage.around.directory()),
                _ => in_a_store(stage, choice, &graph, &expected, count),
            };
            match done {
                Ok(visit) => stage.put(&choice.label, &[], visit),
                Err(LabError::Interrupted) => return Err(LabError::Interrupted),
                Err(error) => stage.leave_out(&choice.label, &error.to_string()),
            }
        }
    }
    Ok(())
}

fn in_a_store(
    stage: &mut Stage<'_>,
    choice: &Choice,
    graph: &Graph,
    expected: &[f64],
    count: bool,
) -> Result<Visit, LabError> {
    let script = choice.player == Player::RedisLua;
    let server = if script {
        Choice { player: Player::Store(Store::Redis), ..choice.clone() }
    } else {
        choice.clone()
    };
    let experiment = stage.results.experiment.clone();
    let shape = (&experiment.load, &experiment.workload);
    let fleet = Fleet::start(&server, &stage.around, shape, 1, &[])?;
    stage.note_started(&fleet);
    let pids = fleet.pids();
    let resident = || -> f64 {
        pids.iter().filter_map(|&pid| Process::read(pid)).map(|one| one.rss_kib).sum()
    };
    let before = resident();
    let mut objects = Objects::open(&fleet.first().target, fleet.store.protocol())?;
    objects.store(graph)?;
    let grown = resident() - before;

    let sampler = Sampler::start(pids.clone());
    let begun = Instant::now();
    let driver_before = Process::read(std::process::id()).unwrap_or_default();
    for _ in 0..ITERATIONS {
        if crate::interrupt::asked() {
            return Err(LabError::Interrupted);
        }
        if script {
            let nodes = graph.nodes().to_string();
            Talk::open(&fleet.first().target)?.insist(&["EVAL", SCRIPT, "0", &nodes])?;
        } else {
            objects.iterate(graph.nodes())?;
        }
    }
    let window = (begun, Instant::now());
    let driver = Process::read(std::process::id()).unwrap_or_default();
    let moments = sampler.finish();
    let seconds = window.1.duration_since(window.0).as_secs_f64();
    let wrong = objects.compare(expected)?;
    if wrong > 0 {
        return Err(LabError::Options(format!("{wrong} ranks came out wrong")));
    }

    let mut visit = Visit::default();
    visit.put("iteration_s", seconds / ITERATIONS as f64);
    visit.put("rss_mib", resident() / 1024.0);
    visit.put("growth_of_disk", grown * 1024.0 / graph.text_bytes() as f64);
    visit.put("busy", over(&moments, window, |moment| moment.server.run_ns) / 1e9 / seconds);
    let user = over(&moments, window, |moment| moment.server.user_s);
    let system = over(&moments, window, |moment| moment.server.system_s);
    visit.put("system_share", 100.0 * system / (user + system));
    visit.put("client_busy", 100.0 * (driver.run_ns - driver_before.run_ns) / 1e9 / seconds);
    if count && let (Some(&pid), false) = (pids.first(), script) {
        let counting = std::thread::spawn(move || counters::count(pid, COUNTING));
        while !counting.is_finished() {
            objects.iterate(graph.nodes())?;
        }
        let calls = counting.join().unwrap_or_default().get("calls").copied();
        visit.put("calls_s", calls.unwrap_or(f64::NAN) / COUNTING.as_secs_f64());
    }
    Ok(visit)
}
