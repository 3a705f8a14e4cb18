//! `dolium lab growth`: whether keys that are stored while the index grows more cost more than others.
//!
//! ```text
//! a load     |  31 |  28 |  35 |  30 |  29 |  33 |      windows: so many KiB has the index grown
//! pairs       \_______/   \_______/   \_______/         the one that grew more beside its neighbour
//! ```
//! Dolium's index grows by one segment at a time, and no window is without growth: by chance it grows more in one
//! than in the next. A machine's speed drifts by more than that could cost, so neighbours are compared, in as
//! many pairs as it takes. What a window had comes from INFO, asked on a connection of its own.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::generator::{self, LoadSpec};
use crate::machine::Machine;
use crate::statistics::{Estimate, median};
use crate::stores::account::{self, number};
use crate::stores::talk::Talk;
use crate::stores::{Role, Running, Store, Surroundings};
use crate::workload::{Distribution, Mix, Operation, RequestPool, Workload};
use crate::{LabError, cpu};

/// Bytes of a key.
const KEY_BYTES: usize = 16;
const CONNECTIONS: usize = 50;
/// Keys of the pool, which only says how long requests and replies are.
const POOL_KEYS: u32 = 1_000;
/// The first keys find much to be warmed up, and do not count: this share of all.
const FIRST: f64 = 0.1;
/// Longer than any load takes.
const LONGEST: Duration = Duration::from_secs(3600);

/// What to measure, and how thoroughly.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub pipelines: Vec<usize>,
    pub keys: u32,
    pub value_bytes: usize,
    pub rounds: usize,
    pub window_ms: u64,
}

/// What the store says of itself at an instant.
#[derive(Clone, Copy, Debug)]
struct Look {
    seconds: f64,
    commands: f64,
    index_bytes: f64,
    cpu_ns: f64,
}

/// Between two looks.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Window {
    pub keys: f64,
    pub index_bytes: f64,
    /// Keys a second, and CPU time of the server for each.
    pub rate: f64,
    pub server_us: f64,
}

impl Window {
    fn between(before: Look, after: Look) -> Self {
        // The question itself is a command.
        let keys = after.commands - before.commands - 1.0;
        Self {
            keys,
            index_bytes: after.index_bytes - before.index_bytes,
            rate: keys / (after.seconds - before.seconds),
            server_us: (after.cpu_ns - before.cpu_ns) / 1e3 / keys,
        }
    }

    fn growth(&self) -> f64 {
        self.index_bytes / self.keys
    }
}

/// All loads at one depth of pipeline.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub pipeline: usize,
    /// Of each round, its windows in their order.
    pub rounds: Vec<Vec<Window>>,
}

impl Cell {
    /// Neighbours: the one in which the index grew less, and the one in which it grew more.
    fn pairs(&self) -> Vec<(Window, Window)> {
        let pairs = self.rounds.iter().flat_map(|windows| windows.as_chunks::<2>().0);
        pairs
            .filter(|[a, b]| a.growth() != b.growth())
            .map(|&[a, b]| if a.growth() < b.growth() { (a, b) } else { (b, a) })
            .collect()
    }

    /// A figure where the index grew more as a multiple of where it grew less.
    pub fn ratio(&self, figure: fn(&Window) -> f64) -> Estimate {
        let ratios: Vec<f64> =
            self.pairs().iter().map(|(less, more)| figure(more) / figure(less)).collect();
        Estimate::of(&ratios)
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub machine: Machine,
    pub plan: Plan,
    pub cells: Vec<Cell>,
}

/// Starts a server for every load, and looks at it while it is filled. `say` hears one line at a time.
pub fn run(
    plan: &Plan,
    around: &Surroundings,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, LabError> {
    if plan.rounds == 0 || plan.window_ms == 0 || plan.keys < POOL_KEYS {
        let least = format!("a round, a millisecond and {POOL_KEYS} keys at least");
        return Err(LabError::Options(least));
    }
    let empty = |&pipeline: &usize| Cell { pipeline, rounds: Vec::new() };
    let mut cells: Vec<Cell> = plan.pipelines.iter().map(empty).collect();
    for round in 0..plan.rounds {
        for cell in &mut cells {
            say(&format!("round {}/{} SET P{}", round + 1, plan.rounds, cell.pipeline));
            cell.rounds.push(load(plan, around, cell.pipeline)?);
        }
    }
    let outcome = Outcome { machine: Machine::read(), plan: plan.clone(), cells };
    match outcome.cells.iter().find(|cell| cell.pairs().is_empty()) {
        Some(cell) => Err(LabError::Options(format!(
            "a load at pipeline {} is over before two windows are: more keys, or shorter windows",
            cell.pipeline
        ))),
        None => Ok(outcome),
    }
}

/// Fills a server, and what its windows were.
fn load(plan: &Plan, around: &Surroundings, pipeline: usize) -> Result<Vec<Window>, LabError> {
    let role = Role {
        store: Store::Dolium,
        operation: Operation::Set,
        key_bytes: KEY_BYTES,
        value_bytes: plan.value_bytes,
        settings: Vec::new(),
    };
    let server = Running::start(role, around)?;
    let pool = RequestPool::build(&Workload {
        protocol: Store::Dolium.protocol(),
        mix: Mix::Set,
        keys: POOL_KEYS,
        key_bytes: KEY_BYTES.into(),
        value_bytes: plan.value_bytes.into(),
        distribution: Distribution::Sequential,
        ttl: 0,
        seed: 1,
    })?;
    let spec = LoadSpec {
        connections: CONNECTIONS,
        pipeline,
        cores: around.client_cores(),
        window: LONGEST,
        servers: server.pid().into_iter().collect(),
        fill: Some(plan.keys),
        spins: around.client_is_alone(1),
        ..LoadSpec::plain(server.target.clone())
    };
    let looks = thread::scope(|scope| {
        let fill = scope.spawn(|| generator::run(&spec, &pool));
        let looks = watch(&server, Duration::from_millis(plan.window_ms), || fill.is_finished());
        fill.join().expect("a load does not panic")?;
        looks
    })?;
    let first = looks.first().map_or(0.0, |look| look.commands);
    let counts = |look: &&Look| look.commands - first >= f64::from(plan.keys) * FIRST;
    let looks: Vec<Look> = looks.iter().filter(counts).copied().collect();
    let windows = looks.windows(2).map(|two| Window::between(two[0], two[1]));
    // Of a window in which nothing was stored there is nothing to be said.
    Ok(windows.filter(|window| window.keys > 0.0).collect())
}

/// Looks at the server again and again, until what is done is over; what was seen last does not count.
fn watch(
    server: &Running,
    window: Duration,
    is_over: impl Fn() -> bool,
) -> Result<Vec<Look>, LabError> {
    let pid = server.pid().expect("a server has a process");
    let mut talk = Talk::open(&server.target)?;
    let begun = Instant::now();
    let mut looks = Vec::new();
    while !is_over() {
        let account = account::info(&mut talk, "everything")?;
        looks.push(Look {
            seconds: begun.elapsed().as_secs_f64(),
            commands: number(&account, "total_commands_processed"),
            index_bytes: number(&account, "arena_index"),
            cpu_ns: cpu::process_run_ns(pid)? as f64,
        });
        thread::sleep(window);
    }
    looks.pop();
    Ok(looks)
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        writeln!(f, "{}", self.machine.sentence())?;
        writeln!(
            f,
            "{} new keys of {KEY_BYTES} B with values of {} B over {CONNECTIONS} connections, {} loads, \
             windows of {} ms",
            plan.keys, plan.value_bytes, plan.rounds, plan.window_ms
        )?;
        writeln!(
            f,
            "of two neighbours, the window in which the index grew more as a multiple of the other\n"
        )?;
        writeln!(
            f,
            "{:<10}{:>12}{:>8}{:>8}{:>8} {:>26} {:>26}",
            "", "keys/s", "pairs", "less", "more", "throughput", "server CPU a key"
        )?;
        writeln!(f, "{:<10}{:>12}{:>8}{:>16}", "", "", "", "B a key")?;
        writeln!(f, "{}", "─".repeat(100))?;
        for cell in &self.cells {
            let pairs = cell.pairs();
            let (less, more) = (
                median(pairs.iter().map(|(less, _)| less.growth())),
                median(pairs.iter().map(|(_, more)| more.growth())),
            );
            let rate = median(cell.rounds.iter().flatten().map(|window| window.rate));
            let name = format!("SET P{}", cell.pipeline);
            write!(f, "{name:<10}{rate:>12.0}{:>8}{less:>8.2}{more:>8.2}", pairs.len())?;
            for figure in [|window: &Window| window.rate, |window: &Window| window.server_us] {
                let Estimate { value, low, high } = cell.ratio(figure);
                write!(f, " {:>26}", format!("{value:.4} ({low:.4}-{high:.4})"))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_neighbours_the_one_that_grew_more_is_beside_the_other() {
        let window = |index_bytes, rate| Window { keys: 10.0, index_bytes, rate, server_us: 1.0 };
        // Twice as slow as the machine drifts, and each time a tenth slower where it grows more.
        let windows = [(10.0, 100.0), (20.0, 90.0), (20.0, 45.0), (10.0, 50.0), (5.0, 7.0)];
        let windows = windows.map(|(bytes, rate)| window(bytes, rate)).to_vec();
        let alike = vec![window(10.0, 1.0), window(10.0, 2.0)];
        let cell = Cell { pipeline: 1, rounds: vec![windows, alike] };
        assert_eq!(cell.pairs().len(), 2);
        assert!(cell.pairs().iter().all(|(less, more)| less.growth() < more.growth()));
        assert!((cell.ratio(|window| window.rate).value - 0.9).abs() < 1e-9);
    }
}
