//! `dolium lab compare`, `qos` and `misses`: the experiments that end in a table.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::turns::{Cells, Turns};
use super::{may_write, write_json};
use crate::compare::offer::Bound;
use crate::compare::{self, Plan, qos};
use crate::misses::{Floor, MissFloor, Pages, Translations};
use crate::stores::{self, Store, Surroundings};
use crate::workload::Operation;
use crate::{LabError, output};

/// Rounds of a comparison: enough to find a difference of three percent.
const ROUNDS: usize = 10;
/// Most windows of each step of a search: an odd number, of which more than half decide.
const SEARCH_ROUNDS: usize = 15;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Socket {
    Tcp,
    Unix,
}

/// Options that every experiment over several stores has.
#[derive(Args)]
struct Common {
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "dolium,redis,memcached,null",
        help = format!("Stores, the one of interest first: {}", stores::names(&[]))
    )]
    stores: Vec<Store>,
    /// Sockets by which all of them are asked
    #[arg(long, value_enum, default_value = "tcp")]
    socket: Socket,
    /// Threads of each server, for which as many cores are set aside
    #[arg(long = "threads-server", default_value_t = 1)]
    server_threads: usize,
    /// Threads of the generator, on the cores that are left
    #[arg(long = "threads-client", default_value_t = 1)]
    client_threads: usize,
    #[command(flatten)]
    turns: Turns,
}

impl Common {
    fn plan(&self, operations: &[Operation], pipelines: &[usize], rounds: usize) -> Plan {
        Plan {
            stores: self.stores.clone(),
            unix: self.socket == Socket::Unix,
            server_threads: self.server_threads,
            client_threads: self.client_threads,
            ..self.turns.plan(operations, pipelines, rounds)
        }
    }

    fn surroundings(&self) -> Result<Surroundings, LabError> {
        self.turns.surroundings(self.socket == Socket::Unix, self.server_threads)
    }
}

#[derive(Args)]
pub(super) struct CompareOptions {
    /// Two results of `dolium lab run`, to be compared with each other; no store is then started
    #[arg(num_args = 2, value_names = ["A", "B"])]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    cells: Cells,
}

impl CompareOptions {
    pub fn run(&self) -> Result<(), LabError> {
        if let [a, b] = self.runs.as_slice() {
            return super::difference::run(a, b);
        }
        let plan = self.common.plan(&self.cells.operations, &self.cells.pipelines, ROUNDS);
        let around = self.common.surroundings()?;
        self.common.turns.show(|say| compare::run(&plan, &around, say))
    }
}

#[derive(Args)]
pub(super) struct QosOptions {
    #[command(flatten)]
    common: Common,
    /// Requests due together
    #[arg(long, default_value_t = 1)]
    pipeline: usize,
    /// get or set
    #[arg(long = "op", default_value = "get")]
    operation: Operation,
    /// Microseconds that the 99th percentile must stay under
    #[arg(long, default_value_t = 1000.0)]
    p99: f64,
    /// Rates that the search tries between the two that are nearest after its first pass
    #[arg(long, default_value_t = 7)]
    steps: usize,
}

impl QosOptions {
    pub fn run(&self) -> Result<(), LabError> {
        let operations = std::slice::from_ref(&self.operation);
        let plan = self.common.plan(operations, &[self.pipeline], SEARCH_ROUNDS);
        let around = self.common.surroundings()?;
        let bound = Bound { p99_us: self.p99, rungs: self.steps };
        self.common.turns.show(|say| qos::run(&plan, &around, &bound, say))
    }
}

#[derive(Args)]
pub(super) struct MissesOptions {
    /// Numbers of items, each measured by itself
    #[arg(long, value_delimiter = ',', default_value = "100000,1000000,10000000")]
    items: Vec<usize>,
    /// Stand on huge pages (MADV_COLLAPSE)
    #[arg(long)]
    huge: bool,
    /// Write everything that was measured to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl MissesOptions {
    pub fn run(&self) -> Result<(), LabError> {
        type Prepare = Box<dyn Fn() -> Result<Floor, LabError>>;
        const SIZES: [(usize, usize); 2] = [(16, 32), (24, 100)];
        self.json.as_deref().map_or(Ok(()), may_write)?;
        let pages = if self.huge { Pages::Huge } else { Pages::Small };
        // An output that takes nothing more is told of at the end: each row takes a while to be found.
        let mut told = output::print(format_args!(
            "Two cache misses and a copy of the value, ns, memfd, {pages:?} pages\n\n\
             {:>10} {:>9} {:>10} {:>10} {:>10} {:>10}\n{}\n",
            "items",
            "key+value",
            "dependent",
            "batch 16",
            "batch 32",
            "huge MiB",
            "─".repeat(64)
        ));
        let mut floors = Vec::new();
        for &items in &self.items {
            let fitting = SIZES.map(|(key, value)| {
                let floor = move || Floor::prepare(items, key, value, pages);
                (format!("{key}+{value}"), Box::new(floor) as Prepare)
            });
            let lines = move || Floor::of_whole_lines(items, pages);
            let lines = ("lines".to_owned(), Box::new(lines) as Prepare);
            for (name, prepare) in fitting.into_iter().chain([lines]) {
                let floor = prepare()?;
                let result = floor.measure();
                told = told.and(output::print(format_args!(
                    "{items:>10} {name:>9} {:>10.1} {:>10.1} {:>10.1} {:>10}\n",
                    result.dependent_ns,
                    result.batch16_ns,
                    result.batch32_ns,
                    floor.huge_kib() / 1024,
                )));
                floors.push(result);
            }
        }
        let translations = Translations::measure(pages)?;
        let Translations { beside_ns, apart_ns, .. } = translations;
        let found = Misses { floors, translations };
        self.json.as_deref().map_or(Ok(()), |path| write_json(path, &found))?;
        told.and(output::print(format_args!(
            "\nlines: a line of 64 bytes, then 128 bytes, all of them copied\n\n\
             A load out of the second cache: {beside_ns:.1} ns where 4096 lines lie side by side,\n\
             {apart_ns:.1} ns where each is in 4 KiB of its own. {}\n",
            translations.says()
        )))
    }
}

/// All that `lab misses` measures.
#[derive(Serialize)]
struct Misses {
    floors: Vec<MissFloor>,
    translations: Translations,
}

/// One line that says where a run is: rewritten on a terminal, printed otherwise.
pub(super) struct Progress {
    terminal: bool,
}

impl Progress {
    pub fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
    }

    pub fn show(&mut self, line: &str) {
        let mut out = std::io::stderr();
        // Progress is a courtesy: a closed standard error is no reason to end a measurement.
        let _ = if self.terminal {
            write!(out, "\r\x1b[K{line}").and_then(|()| out.flush())
        } else {
            writeln!(out, "{line}")
        };
    }

    pub fn clear(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
