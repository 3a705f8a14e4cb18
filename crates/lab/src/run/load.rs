//! `kind = "load"` and `"quality"`: every combination of the sweep, the stores in turns.
//!
//! Combinations that need the same servers and the same data form a group. Within a group each
//! repetition visits every combination, and within a combination every store, beginning with
//! another store each time: what the machine does meanwhile meets all of them. In a closed loop the
//! stores of a visit and a reference take turns of milliseconds (`generator/turns.rs`). Where it costs little beside
//! the measuring, servers are started anew for each repetition, because two starts of one program
//! differ by more than many turns would leave to chance.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use super::attached::Attached;
use super::choice::{Choice, Player};
use super::results::Visit;
use super::servers::Fleet;
use super::{Stage, visit};
use crate::LabError;
use crate::experiment::sweep::Combination;
use crate::experiment::{Bytes, Kind, LoadShape, WorkloadShape};
use crate::generator::{LoadSpec, Pace};
use crate::statistics::median;
use crate::stores::Store;
use crate::workload::{RequestPool, Workload};

/// Halvings of a search for the highest rate.
const SEARCH_STEPS: usize = 7;
/// A store that keeps up with more than its closed loop showed is tried up to this multiple.
const SEARCH_TOP: f64 = 1.25;

/// Share of the time of a repetition for which servers may be started and filled anew.
const RESTART_SHARE: f64 = 0.25;
/// Keys that the reference is asked for at most: it looks at none of them.
const REFERENCE_KEYS: u32 = 100_000;
/// Seconds that a store takes to start and to end, about.
const START: f64 = 0.15;

/// Runs all combinations.
pub fn run(stage: &mut Stage<'_>) -> Result<(), LabError> {
    let experiment = stage.results.experiment.clone();
    let combinations = experiment.combinations()?;
    stage.expect(&combinations, experiment.load.repetitions);
    let mut groups: Vec<Vec<&Combination>> = Vec::new();
    for combination in &combinations {
        let same = |group: &&mut Vec<&Combination>| group_key(group[0]) == group_key(combination);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(combination),
            None => groups.push(vec![combination]),
        }
    }
    let mut fleets = Vec::new();
    let mut fleet_key = String::new();
    for group in groups {
        let key = server_key(group[0]);
        if fleet_key != key {
            // The old ones end first: two of each would share the memory.
            fleets.clear();
            fleets = start(stage, group[0])?;
            fleet_key = key;
        }
        run_group(stage, &group, &mut fleets, experiment.kind)?;
    }
    drop(fleets);
    programs(stage, &combinations)
}

/// Programs of other systems run after the servers: each takes all cores, so no turns are fair.
fn programs(stage: &mut Stage<'_>, combinations: &[Combination]) -> Result<(), LabError> {
    'choices: for choice in stage.choices.clone() {
        let mut memory = match choice.player {
            Player::Attached => match Attached::start(stage, &choice, &combinations[0]) {
                Ok(memory) => {
                    stage.note_started(memory.fleet());
                    Some(memory)
                }
                Err(error) => {
                    stage.leave_out(&choice.label, &error.to_string());
                    continue;
                }
            },
            _ => None,
        };
        for combination in combinations {
            for _ in 0..combination.load.repetitions {
                if crate::interrupt::asked() {
                    return Err(LabError::Interrupted);
                }
                let directory = stage.around.directory().to_path_buf();
                let directory = directory.as_path();
                let done = match (choice.player, &mut memory) {
                    (Player::Attached, Some(memory)) => {
                        memory.visit(stage, combination).map(|one| (one, None))
                    }
                    (Player::Ems, _) => {
                        super::ems::run(combination, directory).map(|one| (one, None))
                    }
                    (Player::Spark, _) => {
                        let (keys, seconds) = (combination.workload.keys, combination.load.seconds);
                        super::lookup::run(keys, seconds, directory)
                            .map(|(indexed, plain)| (indexed, Some(plain)))
                    }
                    _ => break,
                };
                match done {
                    Ok((visit, other)) => {
                        stage.put(&choice.label, &combination.settings, visit);
                        if let Some(other) = other {
                            stage.companion("spark without index");
                            stage.put("spark without index", &combination.settings, other);
                        }
                    }
                    Err(error) => {
                        stage.leave_out(&choice.label, &error.to_string());
                        continue 'choices;
                    }
                }
            }
        }
    }
    Ok(())
}

fn server_key(one: &Combination) -> String {
    // A null server answers one operation with one size: it is started for each anew.
    let shape = format!("{:?} {:?}", one.workload.value, one.workload.operations);
    let load = &one.load;
    format!("{} {} {} {shape}", load.server_threads, load.pinned, one.nodes)
}

fn group_key(one: &Combination) -> String {
    let work = &one.workload;
    format!("{} {:?} {:?} {:?}", server_key(one), work.keys, work.key, work.preload)
}

/// Starts every store that can take part; who cannot is noted and left out.
fn start(stage: &mut Stage<'_>, one: &Combination) -> Result<Vec<Fleet>, LabError> {
    let mut fleets = Vec::new();
    for choice in stage.servers() {
        stage.say(&format!("starting {}", choice.label));
        let shape = (&one.load, &one.workload);
        match Fleet::start(&choice, &stage.around, shape, one.nodes, &[]) {
            Ok(fleet) => {
                stage.note_started(&fleet);
                fleets.push(fleet);
            }
            Err(LabError::Interrupted) => return Err(LabError::Interrupted),
            Err(error) => stage.leave_out(&choice.label, &error.to_string()),
        }
    }
    Ok(fleets)
}

fn run_group(
    stage: &mut Stage<'_>,
    group: &[&Combination],
    fleets: &mut Vec<Fleet>,
    kind: Kind,
) -> Result<(), LabError> {
    let begun = Instant::now();
    let mut able = fill(stage, group[0], std::mem::take(fleets))?;
    let anew = worth_starting_anew(group, &able, kind, begun.elapsed());
    let mut pools: HashMap<String, RequestPool> = HashMap::new();
    for combination in group {
        for fleet in &able {
            let workload = workload(combination, fleet)?;
            let key = format!("{workload:?}");
            if let Entry::Vacant(entry) = pools.entry(key) {
                stage.say("preparing requests");
                entry.insert(RequestPool::build(&workload)?);
            }
        }
    }
    let mut reference = None;
    if group.iter().any(|one| takes_turns(&one.load, kind)) {
        reference = Reference::start(stage, group[0], &able)?;
    }
    let repetitions = group[0].load.repetitions;
    for repetition in 0..repetitions {
        if repetition > 0 && anew {
            // The old ones end first: two of each would share the memory.
            drop(able);
            able = start(stage, group[0])?;
            able = fill(stage, group[0], able)?;
            if reference.is_some() {
                drop(reference);
                reference = Reference::start(stage, group[0], &able)?;
            }
        }
        for combination in group {
            if takes_turns(&combination.load, kind)
                && able.len() + usize::from(reference.is_some()) > 1
            {
                in_turns(stage, combination, &able, reference.as_ref(), &pools, repetition)?;
                continue;
            }
            for turn in 0..able.len() {
                if crate::interrupt::asked() {
                    return Err(LabError::Interrupted);
                }
                let fleet = &able[(turn + repetition) % able.len()];
                let pool = &pools[&format!("{:?}", workload(combination, fleet)?)];
                let spec = spec(&combination.load, fleet, stage);
                let mut visit = match kind {
                    Kind::Quality => search(&spec, pool, &combination.load)?,
                    _ => match visit::measure(&spec, pool) {
                        // More was offered than it could ever answer: that is a finding.
                        Err(LabError::Overload { .. }) => overloaded(),
                        other => other?,
                    },
                };
                if combination.load.count_calls && repetition == 0 {
                    visit::count_calls(&spec, pool, &mut visit)?;
                }
                stage.put(&fleet.choice.label, &combination.settings, visit);
            }
        }
    }
    *fleets = able;
    Ok(())
}

/// Makes the data of all fleets those of a group; who cannot hold them takes no part.
fn fill(
    stage: &mut Stage<'_>,
    one: &Combination,
    fleets: Vec<Fleet>,
) -> Result<Vec<Fleet>, LabError> {
    let mut able = Vec::new();
    for mut fleet in fleets {
        if let Some(why) = fleet.cannot(&one.workload) {
            stage.note(&format!("{}: {why}", fleet.choice.label));
            continue;
        }
        stage.say(&format!("loading {}", fleet.choice.label));
        fleet.fill(&one.workload)?;
        able.push(fleet);
    }
    Ok(able)
}

/// Whether servers are started anew for every repetition, where filling them takes so long.
fn worth_starting_anew(
    group: &[&Combination],
    fleets: &[Fleet],
    kind: Kind,
    filling: Duration,
) -> bool {
    let stores = fleets.len() as f64;
    let visit = |one: &&Combination| one.load.warm_up + one.load.seconds;
    let repetition = group.iter().map(visit).sum::<f64>() * stores;
    let starting = filling.as_secs_f64() + START * stores;
    fleets.len() > 1
        && group.iter().any(|one| takes_turns(&one.load, kind))
        && !fleets.iter().any(|fleet| matches!(fleet.store, Store::External { .. }))
        && starting <= RESTART_SHARE * repetition
}

/// Whether stores are asked in short turns: in a closed loop that nobody watches over time.
fn takes_turns(load: &LoadShape, kind: Kind) -> bool {
    kind == Kind::Load && load.rate.is_none() && load.interval <= 0.0
}

/// A server that parses nothing and takes turns with the stores, so that a run of another day, when
/// the machine is in another mood, can be compared by the ratios to it.
struct Reference {
    fleet: Fleet,
    pool: RequestPool,
}

impl Reference {
    /// Starts it, unless one of the stores is such a server.
    fn start(
        stage: &Stage<'_>,
        one: &Combination,
        fleets: &[Fleet],
    ) -> Result<Option<Self>, LabError> {
        if fleets.is_empty() || fleets.iter().any(|fleet| fleet.store == Store::Null) {
            return Ok(None);
        }
        let size = |bytes: &Bytes| Bytes::Number((bytes.sizes().mean() as usize).max(1));
        let shape = WorkloadShape {
            keys: one.workload.keys.min(REFERENCE_KEYS),
            key: size(&one.workload.key),
            value: size(&one.workload.value),
            ..WorkloadShape::default()
        };
        let choice =
            Choice { label: "reference".into(), player: Player::Store(Store::Null), binary: None };
        let load = LoadShape { server_threads: 1, ..one.load.clone() };
        let fleet = Fleet::start(&choice, &stage.around, (&load, &shape), 1, &[])?;
        let pool = RequestPool::build(&shape.for_protocol(Store::Null.protocol())?)?;
        Ok(Some(Self { fleet, pool }))
    }
}

/// One visit of every store, in short turns.
fn in_turns(
    stage: &mut Stage<'_>,
    combination: &Combination,
    fleets: &[Fleet],
    reference: Option<&Reference>,
    pools: &HashMap<String, RequestPool>,
    repetition: usize,
) -> Result<(), LabError> {
    let mut loads = Vec::new();
    for fleet in fleets {
        let pool = &pools[&format!("{:?}", workload(combination, fleet)?)];
        loads.push((spec(&combination.load, fleet, stage), pool));
    }
    let mut place = fleets.iter().position(|fleet| fleet.store == Store::Null);
    if let Some(Reference { fleet, pool }) = reference {
        place = Some(loads.len());
        loads.push((spec(&combination.load, fleet, stage), pool));
    }
    let visits = visit::measure_in_turns(&loads, repetition % loads.len(), place)?;
    for ((fleet, mut visit), (spec, pool)) in fleets.iter().zip(visits).zip(&loads) {
        if combination.load.count_calls && repetition == 0 {
            visit::count_calls(spec, pool, &mut visit)?;
        }
        stage.put(&fleet.choice.label, &combination.settings, visit);
    }
    Ok(())
}

fn overloaded() -> Visit {
    let mut visit = Visit::default();
    visit.put("rate", 0.0);
    visit
}

fn workload(combination: &Combination, fleet: &Fleet) -> Result<Workload, LabError> {
    let mut workload = combination.workload.for_protocol(fleet.store.protocol())?;
    workload.keys = (workload.keys / combination.nodes.max(1) as u32).max(1);
    Ok(workload)
}

fn spec(load: &LoadShape, fleet: &Fleet, stage: &Stage<'_>) -> LoadSpec {
    let around = stage.around.with(load.unix_socket, load.server_threads, load.pinned);
    // All stores of a run are asked alike.
    let is_external =
        |choice: &Choice| matches!(choice.player, Player::Store(store) if store.is_external());
    let is_alone = around.client_is_alone(load.threads) && !stage.choices.iter().any(is_external);
    LoadSpec {
        target: fleet.first().door(load.tls).clone(),
        more: fleet.others(load.tls),
        connections: load.connections,
        pipeline: load.pipeline,
        threads: load.threads,
        cores: around.client_cores(),
        warm_up: seconds(load.warm_up),
        window: seconds(load.seconds),
        pace: match (load.rate, load.ramp_to) {
            (Some(from), Some(to)) => Pace::Ramp { from, to },
            (Some(rate), None) => Pace::Open { rate },
            (None, _) => Pace::Closed,
        },
        verify: load.verify && !fleet.store.is_null(),
        servers: fleet.pids(),
        interval: (load.interval > 0.0).then(|| seconds(load.interval)),
        fill: None,
        spins: load.spin && is_alone,
        between: None,
    }
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or_default()
}

/// The highest rate at which the percentile stays under the bound, by halving.
fn search(spec: &LoadSpec, pool: &RequestPool, load: &LoadShape) -> Result<Visit, LabError> {
    let closed = visit::measure(spec, pool)?;
    let top = closed.figures.get("rate").copied().unwrap_or(0.0) * SEARCH_TOP;
    let (mut low, mut high) = (0.0, top);
    let mut best = Visit::default();
    best.put("quality_rate", 0.0);
    for _ in 0..SEARCH_STEPS {
        let rate = f64::midpoint(low, high);
        let offered = LoadSpec { pace: Pace::Open { rate }, ..spec.clone() };
        let mut tried = match visit::measure(&offered, pool) {
            Err(LabError::Overload { .. }) => overloaded(),
            other => other?,
        };
        let kept = tried.latency.quantile_us(load.quality_percentile) < load.quality_us;
        if kept {
            low = rate;
            tried.put("quality_rate", rate);
            best = tried;
        } else {
            high = rate;
        }
    }
    best.put("closed_loop_rate", median(closed.figures.get("rate").copied()));
    Ok(best)
}
