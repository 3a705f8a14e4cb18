//! `kind = "load"` and `"quality"`: every combination of the sweep, the stores in turns.
//!
//! Combinations that need the same servers and the same data form a group. Within a group each
//! repetition visits every combination, and within a combination every store, beginning with
//! another store each time: what the machine does meanwhile meets all of them. In a closed loop the
//! stores of a visit and a reference take turns of milliseconds (`generator/turns.rs`). Where it costs little beside
//! the measuring, servers are started anew for each repetition, because two starts of one program
//! differ by more than many turns would leave to chance.
//!
//! A store in which a recipe inserts is emptied and filled anew before every visit: each visit asks for
//! what lies in the pool from its beginning, so that what it inserts would be there already.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use super::reference::Reference;
use super::results::Visit;
use super::servers::Fleet;
use super::spec::{spec, workload};
use super::{Stage, programs, search, visit};
use crate::LabError;
use crate::experiment::sweep::Combination;
use crate::experiment::{Kind, LoadShape};
use crate::generator::LoadSpec;
use crate::stores::Store;
use crate::workload::{Mix, Recipe, RequestPool};

/// Share of the time of a repetition for which servers may be started and filled anew.
const RESTART_SHARE: f64 = 0.25;
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
    programs::run(stage, &combinations)
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
            let grows = grows(combination)?;
            if grows {
                able = fill(stage, combination, able)?;
            }
            let mut loads = Vec::new();
            for fleet in &able {
                let pool = &pools[&format!("{:?}", workload(combination, fleet)?)];
                loads.push((spec(&combination.load, fleet, stage), pool));
            }
            if kind == Kind::Quality {
                let labels: Vec<&str> = able.iter().map(|one| one.choice.label.as_str()).collect();
                search::in_turns(stage, combination, &labels, &loads, repetition)?;
            } else if takes_turns(&combination.load, kind)
                && able.len() + usize::from(reference.is_some()) > 1
            {
                in_turns(stage, combination, &able, reference.as_ref(), loads, repetition)?;
            } else {
                one_by_one(stage, combination, &able, &loads, repetition)?;
            }
            for fleet in able.iter_mut().filter(|_| grows) {
                if fleet.store.is_external() {
                    // Somebody else's: it is not emptied for this.
                    let label = &fleet.choice.label;
                    stage.note(&format!(
                        "{label} runs elsewhere and is not filled anew: from the second visit on what \
                         was to be inserted was there."
                    ));
                } else {
                    fleet.has_grown();
                }
            }
        }
    }
    *fleets = able;
    Ok(())
}

/// Whether stores hold more after a visit than before.
fn grows(one: &Combination) -> Result<bool, LabError> {
    Ok(matches!(one.workload.operations.mix()?, Mix::Recipe(recipe) if recipe.inserts()))
}

/// One visit of every store, each of a whole window.
fn one_by_one(
    stage: &mut Stage<'_>,
    combination: &Combination,
    fleets: &[Fleet],
    loads: &[(LoadSpec, &RequestPool)],
    repetition: usize,
) -> Result<(), LabError> {
    for turn in 0..fleets.len() {
        if crate::interrupt::asked() {
            return Err(LabError::Interrupted);
        }
        let place = (turn + repetition) % fleets.len();
        let (spec, pool) = &loads[place];
        let visit = match visit::measure(spec, pool) {
            // More was offered than it could ever answer: that is a finding.
            Err(LabError::Overload { .. }) => overloaded(),
            other => other?,
        };
        let label = &fleets[place].choice.label;
        put(stage, combination, label, &loads[place], visit, repetition)?;
    }
    Ok(())
}

/// Keeps a visit, with what the first one of a store counts besides.
pub(super) fn put(
    stage: &mut Stage<'_>,
    combination: &Combination,
    label: &str,
    (spec, pool): &(LoadSpec, &RequestPool),
    mut visit: Visit,
    repetition: usize,
) -> Result<(), LabError> {
    if combination.load.count_calls && repetition == 0 {
        visit::count_calls(spec, pool, &mut visit)?;
    }
    let asked = visit.figures.get("rate").map_or(0.0, |rate| rate * combination.load.seconds);
    let inserts = matches!(&pool.workload.mix, Mix::Recipe(recipe) if Recipe::inserts(recipe));
    if inserts && asked > pool.slices(1) as f64 {
        stage.note(
            "The requests that were prepared were walked through more than once in a visit: from then \
             on what was to be inserted was there.",
        );
    }
    stage.put(label, &combination.settings, visit);
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
        if !fleet.fill(&one.workload)? {
            let label = &fleet.choice.label;
            stage.note(&format!(
                "{label} runs elsewhere and is not emptied: the keys of earlier settings are in it too."
            ));
        }
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

/// One visit of every store, in short turns.
fn in_turns<'p>(
    stage: &mut Stage<'_>,
    combination: &Combination,
    fleets: &[Fleet],
    reference: Option<&'p Reference>,
    mut loads: Vec<(LoadSpec, &'p RequestPool)>,
    repetition: usize,
) -> Result<(), LabError> {
    let mut place = fleets.iter().position(|fleet| fleet.store == Store::Null);
    if let Some(Reference { fleet, pool }) = reference {
        place = Some(loads.len());
        loads.push((spec(&combination.load, fleet, stage), pool));
    }
    let visits = visit::measure_in_turns(&loads, repetition % loads.len(), place)?;
    for ((fleet, visit), load) in fleets.iter().zip(visits).zip(&loads) {
        put(stage, combination, &fleet.choice.label, load, visit, repetition)?;
    }
    Ok(())
}

/// A visit in which too much was offered.
pub(super) fn overloaded() -> Visit {
    let mut visit = Visit::default();
    visit.put("rate", 0.0);
    visit
}
