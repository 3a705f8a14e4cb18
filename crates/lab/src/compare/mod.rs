//! `dolium lab compare`: several stores take turns, and the ratio of every pair of turns counts.
//!
//! A machine's speed drifts by more than two good stores differ. So the stores of a round take turns
//! of milliseconds (`generator/turns.rs`), a ratio is taken over the pairs of turns within a round,
//! and what is reported is the median of those ratios. Every round starts its servers anew: two
//! starts of one program differ too.

mod cell;
pub(crate) mod descent;
pub mod offer;
pub mod qos;
mod table;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::Serialize;

pub(crate) use self::cell::judge;
pub use self::cell::{Cell, Visit};
pub use crate::statistics::{median, spread};

use crate::LabError;
use crate::generator::{self, LoadSpec, Pace, Side};
use crate::machine::Machine;
use crate::stores::{Role, Running, Store, Surroundings};
use crate::workload::{Distribution, Mix, Operation, RequestPool, Workload};

/// Share of the time of a round for which servers may be started and filled anew.
const RESTART_SHARE: f64 = 0.5;

/// What to compare, and how thoroughly.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub stores: Vec<Store>,
    pub pipelines: Vec<usize>,
    pub operations: Vec<Operation>,
    pub connections: usize,
    pub keys: u32,
    pub key_bytes: usize,
    pub value_bytes: usize,
    pub distribution: Distribution,
    pub unix: bool,
    pub rounds: usize,
    pub server_threads: usize,
    pub client_threads: usize,
    /// If not given, the generator of a closed loop spins where it stands for clients of other machines
    /// (TCP) and has cores of its own.
    pub idle: Option<Idle>,
    pub warm_up_ms: u64,
    pub window_ms: u64,
    /// Of a closed loop.
    pub turn_ms: u64,
    pub verify: bool,
    pub seed: u64,
}

/// What a generator does while no reply is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Idle {
    /// It is woken at the server's expense.
    Sleep,
    /// It looks on, on cores of its own.
    Spin,
}

/// The outcome of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub machine: Machine,
    pub plan: Plan,
    pub versions: Vec<String>,
    /// Whether the generator looked for replies without a pause.
    pub spins: bool,
    pub cells: Vec<Cell>,
}

/// Starts all stores, loads them, visits them in turns. `say` hears one line at a time.
pub fn run(
    plan: &Plan,
    around: &Surroundings,
    say: &mut dyn FnMut(&str),
) -> Result<Comparison, LabError> {
    if plan.rounds == 0 || plan.stores.is_empty() {
        return Err(LabError::Options("a comparison needs a store and a round".into()));
    }
    let spins = spins(plan, around.client_is_alone(plan.client_threads))?;
    if plan.unix && plan.stores.contains(&Store::DoliumMemcached) {
        return Err(LabError::Options(
            "Dolium's Unix socket is named for Redis: dolium-memcached needs --socket tcp".into(),
        ));
    }
    let mut servers = Vec::new();
    let mut pools = HashMap::new();
    let mut cells = Vec::new();
    for &operation in &plan.operations {
        // Pools of many keys are large: only one operation's are held at a time.
        pools.clear();
        for &pipeline in &plan.pipelines {
            cells.push(Cell { operation, pipeline, visits: vec![Vec::new(); plan.stores.len()] });
        }
        for store in &plan.stores {
            if let std::collections::hash_map::Entry::Vacant(entry) = pools.entry(store.protocol())
            {
                entry.insert(RequestPool::build(&workload(plan, *store, operation))?);
            }
        }
        let mut starting = Duration::ZERO;
        for round in 0..plan.rounds {
            if round == 0 || starting < round_time(plan).mul_f64(RESTART_SHARE) {
                let begun = Instant::now();
                servers.clear();
                servers = start(plan, around, say)?;
                starting = begun.elapsed();
            }
            for cell in cells.iter_mut().filter(|cell| cell.operation == operation) {
                let name = format!("{operation:?}").to_uppercase();
                say(&format!("round {}/{} {name} P{}", round + 1, plan.rounds, cell.pipeline));
                let (mut loads, mut pids) = (Vec::new(), Vec::new());
                for (number, &store) in plan.stores.iter().enumerate() {
                    let server = server_for(&servers, plan, number, operation);
                    let closed = spec(plan, around, server, cell.pipeline, Pace::Closed);
                    let spec = LoadSpec { spins, ..closed };
                    loads.push((spec, &pools[&store.protocol()]));
                    pids.push(server.pid());
                }
                let mut sides = Side::all(loads)?;
                // What all have taken when the first turn of any begins: until then they warm up.
                let mut before = None;
                let first = round % plan.stores.len();
                let turns = generator::take_turns(&mut sides, first, |_, _| {
                    before.get_or_insert_with(|| cell::taken_ns(&pids));
                })?;
                let (before, after) = (before.transpose()?, cell::taken_ns(&pids)?);
                for (number, turns) in turns.iter().enumerate() {
                    let whole = before.as_ref().and_then(|before| before[number]);
                    let whole_ns = after[number].zip(whole).map(|(b, a)| b.saturating_sub(a));
                    let visit = Visit::of(turns).map(|visit| Visit { whole_ns, ..visit });
                    cell.visits[number].extend(visit);
                }
            }
        }
    }
    let versions = (0..plan.stores.len())
        .map(|number| server_for(&servers, plan, number, plan.operations[0]).version.clone())
        .collect();
    Ok(Comparison { machine: Machine::read(), plan: plan.clone(), versions, spins, cells })
}

/// What a round takes to measure.
fn round_time(plan: &Plan) -> Duration {
    let visits = plan.stores.len() * plan.pipelines.len();
    Duration::from_millis((plan.warm_up_ms + plan.window_ms) * visits as u64)
}

/// The processes of a plan: one a store, or one an operation for a null server.
fn start(
    plan: &Plan,
    around: &Surroundings,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Running>, LabError> {
    let mut servers = Vec::new();
    for &store in &plan.stores {
        let operations = if store.is_null() { &plan.operations[..] } else { &[Operation::Get] };
        for &operation in operations {
            let role = Role {
                store,
                operation,
                key_bytes: plan.key_bytes,
                value_bytes: plan.value_bytes,
                settings: Vec::new(),
            };
            say(&format!("starting {}", store.name()));
            let running = Running::start(role, around)?;
            if !store.is_null() {
                let load = workload(plan, store, Operation::Set);
                let mut told = 0;
                generator::preload(&running.target, &load, |done| {
                    let percent = u64::from(done) * 100 / u64::from(plan.keys);
                    if percent >= told + 10 || done == plan.keys {
                        told = percent;
                        say(&format!("loading {}: {percent} %", store.name()));
                    }
                })?;
            }
            servers.push(running);
        }
    }
    Ok(servers)
}

/// The process of a store by its place in the plan, which may name a store twice.
fn server_for<'a>(
    servers: &'a [Running],
    plan: &Plan,
    number: usize,
    operation: Operation,
) -> &'a Running {
    let processes = |store: &Store| if store.is_null() { plan.operations.len() } else { 1 };
    let before: usize = plan.stores[..number].iter().map(processes).sum();
    let mine = &servers[before..before + processes(&plan.stores[number])];
    let fits =
        |server: &&Running| !plan.stores[number].is_null() || server.role.operation == operation;
    mine.iter().find(fits).expect("every store of a plan was started")
}

pub(crate) fn workload(plan: &Plan, store: Store, operation: Operation) -> Workload {
    Workload {
        protocol: store.protocol(),
        mix: if operation == Operation::Get { Mix::Get } else { Mix::Set },
        keys: plan.keys,
        key_bytes: plan.key_bytes.into(),
        value_bytes: plan.value_bytes.into(),
        distribution: plan.distribution,
        ttl: 0,
        seed: plan.seed,
    }
}

/// Whether the generator of a closed loop looks for replies without a pause. `is_alone`: it has a core for
/// each of its threads that no server uses.
pub(crate) fn spins(plan: &Plan, is_alone: bool) -> Result<bool, LabError> {
    match plan.idle {
        Some(Idle::Sleep) => Ok(false),
        Some(Idle::Spin) if !is_alone => Err(LabError::Options(
            "a generator that spins needs a core for each of its threads that no server uses"
                .into(),
        )),
        Some(Idle::Spin) => Ok(true),
        None => Ok(is_alone && !plan.unix && !plan.stores.iter().any(|store| store.is_external())),
    }
}

fn spec(
    plan: &Plan,
    around: &Surroundings,
    server: &Running,
    pipeline: usize,
    pace: Pace,
) -> LoadSpec {
    LoadSpec {
        target: server.target.clone(),
        more: Vec::new(),
        connections: plan.connections,
        pipeline,
        threads: plan.client_threads,
        cores: around.client_cores(),
        warm_up: Duration::from_millis(plan.warm_up_ms),
        window: Duration::from_millis(plan.window_ms),
        turn: Duration::from_millis(plan.turn_ms),
        pace,
        verify: plan.verify && !server.role.store.is_null(),
        servers: server.pid().into_iter().collect(),
        interval: None,
        fill: None,
        spins: false,
        between: None,
    }
}
