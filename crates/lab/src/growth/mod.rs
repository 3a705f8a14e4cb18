//! `dolium lab growth`: whether keys that are stored while the index grows more cost more than others.
//!
//! ```text
//! looks       | | | | | | | | | | | | | | | | | |      every 2 ms: so many keys, so many bytes of index
//! windows     |    31   |    28   |    35   |           so many KiB has the index grown in each
//! pairs        \_________________/                      the one that grew more beside its neighbour
//! ```
//! Dolium's index grows by one segment at a time, and no window is without growth: by chance it grows more in one
//! than in the next. A machine's speed drifts by more than that could cost, so neighbours are compared, in as
//! many pairs as it takes. What a window had comes from INFO, asked on a connection of its own.
//!
//! Windows as long as a study's hardly differ, and how little that costs is lost in the machine's noise.
//! Among a few looks' keys growth differs by as much as there is, many thousands of times, which says what a
//! byte of index costs (`price.rs`); times the bytes by which windows differ it says what these cost.

mod price;
mod table;
mod window;

use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::generator::{self, LoadSpec};
use crate::machine::Machine;
use crate::stores::account::{self, number};
use crate::stores::talk::Talk;
use crate::stores::{Role, Running, Store, Surroundings};
use crate::workload::{Distribution, Mix, Operation, RequestPool, Workload};
use crate::{LabError, cpu};
use window::{Cell, Length, Look};

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
    pub look_ms: u64,
}

impl Plan {
    /// Seconds of a window.
    fn window(&self) -> f64 {
        self.window_ms as f64 / 1e3
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
    if plan.rounds == 0 || plan.look_ms == 0 || plan.keys < POOL_KEYS {
        let least = format!("a load, a millisecond between looks and {POOL_KEYS} keys at least");
        return Err(LabError::Options(least));
    }
    let empty = |&pipeline: &usize| Cell { pipeline, loads: Vec::new() };
    let mut cells: Vec<Cell> = plan.pipelines.iter().map(empty).collect();
    for round in 0..plan.rounds {
        for cell in &mut cells {
            say(&format!("round {}/{} SET P{}", round + 1, plan.rounds, cell.pipeline));
            cell.loads.push(load(plan, around, cell.pipeline)?);
        }
    }
    let outcome = Outcome { machine: Machine::read(), plan: plan.clone(), cells };
    match outcome
        .cells
        .iter()
        .find(|cell| cell.pairs(Length::Seconds(plan.window())).concat().is_empty())
    {
        Some(cell) => Err(LabError::Options(format!(
            "a load at pipeline {} is over before two windows are: more keys, or shorter windows",
            cell.pipeline
        ))),
        None => Ok(outcome),
    }
}

/// Fills a server, and what was seen of it.
fn load(plan: &Plan, around: &Surroundings, pipeline: usize) -> Result<Vec<Look>, LabError> {
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
        let looks = watch(&server, Duration::from_millis(plan.look_ms), || fill.is_finished());
        fill.join().expect("a load does not panic")?;
        looks
    })?;
    let first = looks.first().map_or(0.0, |look| look.commands);
    let counts = |look: &&Look| look.commands - first >= f64::from(plan.keys) * FIRST;
    Ok(looks.iter().filter(counts).copied().collect())
}

/// Looks at the server again and again, until what is done is over; what was seen last does not count.
fn watch(
    server: &Running,
    between: Duration,
    is_over: impl Fn() -> bool,
) -> Result<Vec<Look>, LabError> {
    let pid = server.pid().expect("a server has a process");
    let mut talk = Talk::open(&server.target)?;
    let begun = Instant::now();
    let mut looks = Vec::new();
    while !is_over() {
        let account = account::info(&mut talk, &["stats", "memory"])?;
        looks.push(Look {
            seconds: begun.elapsed().as_secs_f64(),
            commands: number(&account, "total_commands_processed"),
            index_bytes: number(&account, "arena_index"),
            cpu_ns: cpu::process_run_ns(pid)? as f64,
            looks: looks.len() as f64,
        });
        thread::sleep(between);
    }
    looks.pop();
    Ok(looks)
}
