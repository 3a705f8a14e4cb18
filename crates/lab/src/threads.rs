//! `dolium lab threads`: what a request costs a server of several threads, beside one of one thread.
//!
//! ```text
//! one      a server of one thread            on the first core
//! apart    as many servers of one thread     on a core each, which share nothing
//! threads  a server of so many threads       on the same cores
//! ```
//! The three take turns, each asked over as many connections by one generator. It has the cores that are left; where none
//! is left, the last of theirs, and what it costs a server to share a core with it is in `apart` as
//! it is in `threads`: their ratio is what threads cost because they are threads of one server.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::compare::{Visit, judge};
use crate::generator::{self, LoadSpec, Pace, Side};
use crate::machine::Machine;
use crate::statistics::{Judgement, median};
use crate::stores::{Role, Running, Store, Surroundings};
use crate::workload::{Distribution, Mix, Operation, RequestPool, Workload};
use crate::{LabError, cpu};

/// Set-ups, in the order of the results.
pub const NAMES: [&str; 3] = ["one", "apart", "threads"];
const ONE: usize = 0;
const APART: usize = 1;
const THREADS: usize = 2;

/// What to measure, and how thoroughly.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub threads: usize,
    pub pipelines: Vec<usize>,
    pub operations: Vec<Operation>,
    pub connections: usize,
    pub keys: u32,
    pub key_bytes: usize,
    pub value_bytes: usize,
    pub rounds: usize,
    pub warm_up_ms: u64,
    pub window_ms: u64,
    pub seed: u64,
}

/// One operation at one depth of pipeline: the visits to each set-up, one a round.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub operation: Operation,
    pub pipeline: usize,
    pub visits: [Vec<Visit>; 3],
}

impl Cell {
    fn cost(&self, setup: usize, to: usize) -> Judgement {
        judge(&self.visits[setup], &self.visits[to], |visit| &visit.turns_server_us)
    }

    fn us(&self, setup: usize) -> f64 {
        median(self.visits[setup].iter().map(|visit| visit.server_us))
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub machine: Machine,
    pub plan: Plan,
    /// Whether the generator has a core that no server has.
    pub is_apart: bool,
    pub cells: Vec<Cell>,
}

/// Starts all servers anew in every round and lets the set-ups take turns. `say` hears one line at a time.
pub fn run(
    plan: &Plan,
    around: &Surroundings,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, LabError> {
    let all = cpu::allowed();
    if plan.threads < 2 || all.len() < plan.threads || plan.rounds == 0 {
        return Err(LabError::Options(format!(
            "two threads at least, a core for each of them (there are {}), and a round",
            all.len()
        )));
    }
    let (server_cores, rest) = all.split_at(plan.threads);
    let client_cores = if rest.is_empty() { &server_cores[plan.threads - 1..] } else { rest };
    let mut cells = Vec::new();
    for &operation in &plan.operations {
        for &pipeline in &plan.pipelines {
            cells.push(Cell { operation, pipeline, visits: Default::default() });
        }
    }
    for round in 0..plan.rounds {
        say(&format!("round {}/{}: starting servers", round + 1, plan.rounds));
        let setups = start(plan, around, server_cores)?;
        for &operation in &plan.operations {
            let pool = RequestPool::build(&workload(plan, operation))?;
            for cell in cells.iter_mut().filter(|cell| cell.operation == operation) {
                let name = format!("{operation:?}").to_uppercase();
                say(&format!("round {}/{} {name} P{}", round + 1, plan.rounds, cell.pipeline));
                let mut sides = Vec::new();
                for servers in &setups {
                    let spec = spec(plan, servers, client_cores, cell.pipeline);
                    sides.push(Side::open(spec, &pool)?);
                }
                let turns = generator::take_turns(&mut sides, round % NAMES.len(), |_, _| {})?;
                for (visits, turns) in cell.visits.iter_mut().zip(&turns) {
                    visits.extend(Visit::of(turns));
                }
            }
        }
    }
    let (machine, is_apart) = (Machine::read(), !rest.is_empty());
    Ok(Outcome { machine, plan: plan.clone(), is_apart, cells })
}

/// The servers of each set-up, filled.
fn start(
    plan: &Plan,
    around: &Surroundings,
    cores: &[usize],
) -> Result<[Vec<Running>; 3], LabError> {
    let on = |cores: &[usize]| -> Result<Running, LabError> {
        let role = Role {
            store: Store::Dolium,
            operation: Operation::Get,
            key_bytes: plan.key_bytes,
            value_bytes: plan.value_bytes,
            settings: Vec::new(),
        };
        let server = Running::start(role, &around.on(cores))?;
        generator::preload(&server.target, &workload(plan, Operation::Set), |_| {})?;
        Ok(server)
    };
    let one = vec![on(&cores[..1])?];
    let apart = cores.chunks(1).map(on).collect::<Result<Vec<_>, _>>()?;
    Ok([one, apart, vec![on(cores)?]])
}

fn workload(plan: &Plan, operation: Operation) -> Workload {
    Workload {
        protocol: Store::Dolium.protocol(),
        mix: if operation == Operation::Get { Mix::Get } else { Mix::Set },
        keys: plan.keys,
        key_bytes: plan.key_bytes.into(),
        value_bytes: plan.value_bytes.into(),
        distribution: Distribution::Uniform,
        ttl: 0,
        seed: plan.seed,
    }
}

fn spec(plan: &Plan, servers: &[Running], cores: &[usize], pipeline: usize) -> LoadSpec {
    LoadSpec {
        more: servers[1..].iter().map(|server| server.target.clone()).collect(),
        connections: plan.connections,
        pipeline,
        threads: cores.len().min(plan.threads),
        cores: cores.to_vec(),
        warm_up: Duration::from_millis(plan.warm_up_ms),
        window: Duration::from_millis(plan.window_ms),
        pace: Pace::Closed,
        servers: servers.iter().filter_map(Running::pid).collect(),
        ..LoadSpec::plain(servers[0].target.clone())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        writeln!(f, "{}", self.machine.sentence())?;
        writeln!(
            f,
            "{} connections, {} keys of {} B with values of {} B, {} rounds of {} ms; the generator has {}\n",
            plan.connections,
            plan.keys,
            plan.key_bytes,
            plan.value_bytes,
            plan.rounds,
            plan.window_ms,
            if self.is_apart { "cores of its own" } else { "the last of the servers' cores" },
        )?;
        writeln!(
            f,
            "server CPU, us a request: one server of one thread; {0} such servers; {0} threads of one",
            plan.threads
        )?;
        writeln!(
            f,
            "{:<10}{:>8}{:>8}{:>9} {:>22} {:>22} {:>22}",
            "",
            NAMES[ONE],
            NAMES[APART],
            NAMES[THREADS],
            "threads / one",
            "threads / apart",
            "apart / one"
        )?;
        writeln!(f, "{}", "─".repeat(104))?;
        for cell in &self.cells {
            let title = format!("{:?}", cell.operation).to_uppercase();
            write!(f, "{:<10}", format!("{title} P{}", cell.pipeline))?;
            let us = [ONE, APART, THREADS].map(|setup| cell.us(setup));
            write!(f, "{:>8.3}{:>8.3}{:>9.3}", us[ONE], us[APART], us[THREADS])?;
            for (of, to) in [(THREADS, ONE), (THREADS, APART), (APART, ONE)] {
                let ratio = cell.cost(of, to).ratio;
                let text = format!("{:.3} ({:.3}-{:.3})", ratio.value, ratio.low, ratio.high);
                write!(f, " {text:>22}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
