//! `dolium lab threads`: what a request costs a server of several threads, beside one of one thread.
//!
//! ```text
//! one      a server of one thread            on the first core
//! apart    as many servers of one thread     on a core each, which share nothing
//! threads  a server of so many threads       on the same cores
//! ```
//! The three take turns, each asked over as many connections by one generator. It has the cores that are left. Where
//! none is left it has those that the one thread leaves, and a thread on each of the cores of the others: what it costs
//! a server to share a core with it is in `apart` as it is in `threads`. On one of their cores alone it would leave that
//! server hardly any time, and keep it waiting for its next requests (decision 168).

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::compare::{self, Cell, Plan, Visit};
use crate::generator::{self, LoadSpec, Pace, Side};
use crate::machine::Machine;
use crate::stores::{Role, Running, Store, Surroundings};
use crate::workload::{Operation, RequestPool};
use crate::{LabError, cpu};

/// Set-ups, in the order of the results.
pub const NAMES: [&str; 3] = ["one", "apart", "threads"];
const ONE: usize = 0;
const APART: usize = 1;
const THREADS: usize = 2;

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub machine: Machine,
    pub plan: Plan,
    /// Whether the generator has cores that no server has.
    pub is_apart: bool,
    /// Of each, the visits to each set-up of [`NAMES`].
    pub cells: Vec<Cell>,
}

/// Starts all servers anew in every round and lets the set-ups take turns. `say` hears one line at a time.
pub fn run(
    plan: &Plan,
    around: &Surroundings,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, LabError> {
    let all = cpu::allowed();
    if plan.server_threads < 2 || all.len() < plan.server_threads || plan.rounds == 0 {
        return Err(LabError::Options(format!(
            "two threads at least, a core for each of them (there are {}), and a round",
            all.len()
        )));
    }
    let (server_cores, rest) = all.split_at(plan.server_threads);
    let client_cores = |setup: usize| match (rest.is_empty(), setup) {
        (false, _) => rest,
        (true, ONE) => &server_cores[1..],
        (true, _) => server_cores,
    };
    let client_threads = client_cores(THREADS).len().min(plan.client_threads);
    let spins = compare::spins(plan, around.on(server_cores).client_is_alone(client_threads))?;
    let mut cells = Vec::new();
    for &operation in &plan.operations {
        for &pipeline in &plan.pipelines {
            cells.push(Cell { operation, pipeline, visits: vec![Vec::new(); NAMES.len()] });
        }
    }
    for round in 0..plan.rounds {
        say(&format!("round {}/{}: starting servers", round + 1, plan.rounds));
        let setups = start(plan, around, server_cores)?;
        for &operation in &plan.operations {
            let pool = RequestPool::build(&compare::workload(plan, Store::Dolium, operation))?;
            for cell in cells.iter_mut().filter(|cell| cell.operation == operation) {
                let name = format!("{operation:?}").to_uppercase();
                say(&format!("round {}/{} {name} P{}", round + 1, plan.rounds, cell.pipeline));
                let mut sides = Side::all(setups.iter().enumerate().map(|(setup, servers)| {
                    let spec = spec(plan, servers, client_cores(setup), cell.pipeline);
                    (LoadSpec { spins, ..spec }, &pool)
                }))?;
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
        generator::preload(
            &server.target,
            &compare::workload(plan, Store::Dolium, Operation::Set),
            |_| {},
        )?;
        Ok(server)
    };
    let one = vec![on(&cores[..1])?];
    let apart = cores.chunks(1).map(on).collect::<Result<Vec<_>, _>>()?;
    Ok([one, apart, vec![on(cores)?]])
}

fn spec(plan: &Plan, servers: &[Running], cores: &[usize], pipeline: usize) -> LoadSpec {
    LoadSpec {
        more: servers[1..].iter().map(|server| server.target.clone()).collect(),
        connections: plan.connections,
        pipeline,
        threads: cores.len().min(plan.client_threads),
        cores: cores.to_vec(),
        warm_up: Duration::from_millis(plan.warm_up_ms),
        window: Duration::from_millis(plan.window_ms),
        turn: Duration::from_millis(plan.turn_ms),
        pace: Pace::Closed,
        verify: plan.verify,
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
            if self.is_apart {
                "cores of its own"
            } else {
                "the cores that the one thread leaves, and those of the others"
            },
        )?;
        writeln!(
            f,
            "server CPU, us a request: one server of one thread; {0} such servers; {0} threads of one",
            plan.server_threads
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
            let us =
                [ONE, APART, THREADS].map(|setup| cell.typical(setup, |visit| visit.server_us));
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
