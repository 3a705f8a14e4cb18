//! `dolium lab compare`: several stores take turns, and the ratio of every pair of turns counts.
//!
//! A machine's speed drifts over minutes by more than two good stores differ. So each round visits
//! every store for a moment, in another order each time, and a ratio is taken within its round;
//! what is reported is the median of those ratios.

pub mod qos;
mod table;

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

pub use crate::statistics::{median, spread};

use crate::LabError;
use crate::generator::{self, LoadReport, LoadSpec, Pace};
use crate::machine::Machine;
use crate::stores::{Role, Running, Store, Surroundings};
use crate::workload::{Distribution, Mix, Operation, RequestPool, Workload};

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
    pub warm_up_ms: u64,
    pub window_ms: u64,
    pub verify: bool,
    pub seed: u64,
}

/// One visit to one store.
#[derive(Clone, Debug, Serialize)]
pub struct Visit {
    pub server_us: f64,
    pub client_us: f64,
    pub rate: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub busy: f64,
    pub misses: u64,
}

impl Visit {
    fn from(report: &LoadReport) -> Self {
        Self {
            server_us: report.server_us().unwrap_or(f64::NAN),
            client_us: report.client_us(),
            rate: report.rate(),
            p50_us: report.latency_us(0.50),
            p99_us: report.latency_us(0.99),
            p999_us: report.latency_us(0.999),
            busy: report.server_busy().unwrap_or(f64::NAN),
            misses: report.misses,
        }
    }
}

/// All visits of one operation at one pipeline depth.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub operation: Operation,
    pub pipeline: usize,
    /// For each store of the plan, its visits, one a round.
    pub visits: Vec<Vec<Visit>>,
}

impl Cell {
    /// Median over the rounds of one figure of one store.
    pub fn typical(&self, store: usize, figure: impl Fn(&Visit) -> f64) -> f64 {
        median(self.visits[store].iter().map(figure))
    }

    /// Median of the per-round ratios of server CPU per operation.
    pub fn ratio(&self, store: usize, to: usize) -> f64 {
        let pairs = self.visits[store].iter().zip(&self.visits[to]);
        median(pairs.map(|(a, b)| a.server_us / b.server_us))
    }
}

/// The outcome of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub machine: Machine,
    pub plan: Plan,
    pub versions: Vec<String>,
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
    if plan.unix && plan.stores.contains(&Store::DoliumMemcached) {
        return Err(LabError::Options(
            "Dolium's Unix socket is named for Redis: dolium-memcached needs --socket tcp".into(),
        ));
    }
    let servers = start(plan, around, say)?;
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
        for round in 0..plan.rounds {
            for cell in cells.iter_mut().filter(|cell| cell.operation == operation) {
                let name = format!("{operation:?}").to_uppercase();
                say(&format!("round {}/{} {name} P{}", round + 1, plan.rounds, cell.pipeline));
                for turn in 0..plan.stores.len() {
                    let number = (turn + round) % plan.stores.len();
                    let store = plan.stores[number];
                    let server = server_for(&servers, store, operation);
                    let pool = &pools[&store.protocol()];
                    let spec = spec(plan, around, server, cell.pipeline, Pace::Closed);
                    cell.visits[number].push(Visit::from(&generator::run(&spec, pool)?));
                }
            }
        }
    }
    let versions = plan
        .stores
        .iter()
        .map(|&store| server_for(&servers, store, plan.operations[0]).version.clone())
        .collect();
    Ok(Comparison { machine: Machine::read(), plan: plan.clone(), versions, cells })
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

fn server_for(servers: &[Running], store: Store, operation: Operation) -> &Running {
    let fits = |server: &&Running| {
        server.role.store == store && (!store.is_null() || server.role.operation == operation)
    };
    servers.iter().find(fits).expect("every store of a plan was started")
}

fn workload(plan: &Plan, store: Store, operation: Operation) -> Workload {
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
        pace,
        verify: plan.verify && !server.role.store.is_null(),
        servers: server.pid().into_iter().collect(),
        interval: None,
        fill: None,
    }
}
