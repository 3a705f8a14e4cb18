//! What an operation costs the client: this generator, redis-benchmark and memtier_benchmark ask one
//! redis-server for the same keys over as many connections, in turns, from the same core.
//!
//! Of the others the whole process counts, by the kernel's account of ended children; it runs for
//! seconds, so that its start is a small part. Of this one the threads that ask count, over the
//! same seconds; the requests that it asks for were drawn before, which is its point.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{CONNECTIONS, KEYS, VALUE_BYTES, start, workload};
use crate::generator::{self, LoadSpec, Target};
use crate::statistics::{Estimate, median};
use crate::stores::{Store, Surroundings};
use crate::workload::{Operation, Protocol, RequestPool};
use crate::{LabError, cpu};

/// Share of the others' CPU time that an operation may take at most.
const BOUND: f64 = 0.6;
/// Share of its core from which on a server is called full.
const FULL: f64 = 0.97;
/// Operations a second by which the others' number of requests is chosen before their speed is
/// known.
const FIRST_GUESS: f64 = 50_000.0;
/// A server that was less busy than this says nothing of how fast it was asked.
const BUSY_LEAST: f64 = 0.02;
/// Clock ticks a second of /proc, on every Linux of this architecture.
const TICKS: f64 = 100.0;

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Generator {
    Ours,
    RedisBenchmark,
    Memtier,
}

impl Generator {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "dolium lab",
            Self::RedisBenchmark => "redis-benchmark",
            Self::Memtier => "memtier_benchmark",
        }
    }
}

/// One turn of one generator.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Turn {
    pub client_us: f64,
    pub rate: f64,
    /// Cores that the server was busy on.
    pub busy: f64,
}

/// All turns at one operation and pipeline.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub operation: Operation,
    pub pipeline: usize,
    pub turns: Vec<(Generator, Vec<Turn>)>,
}

/// The outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub cells: Vec<Cell>,
    pub absent: Vec<String>,
}

/// Lets them take turns of about `seconds`.
pub fn run(
    around: &Surroundings,
    rounds: usize,
    seconds: f64,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, LabError> {
    let server = start(Store::Redis, around, &[])?;
    let Target::Tcp(address) = server.target else {
        return Err(LabError::Options("the generators are compared over TCP".into()));
    };
    let pid = server.pid().unwrap_or_default();
    generator::preload(&server.target, &workload(Protocol::Resp, Operation::Set), |_| {})?;
    let mut present = vec![Generator::Ours];
    let mut absent = Vec::new();
    for other in [Generator::RedisBenchmark, Generator::Memtier] {
        let there = Command::new(other.name())
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match there {
            Ok(_) => present.push(other),
            Err(_) => absent.push(format!("{} is not installed", other.name())),
        }
    }
    let mut cells = Vec::new();
    for operation in [Operation::Get, Operation::Set] {
        let pool = RequestPool::build(&workload(Protocol::Resp, operation))?;
        for pipeline in [1, 50] {
            let mut turns: Vec<(Generator, Vec<Turn>)> =
                present.iter().map(|&one| (one, Vec::new())).collect();
            for round in 0..rounds {
                for turn in 0..turns.len() {
                    if crate::interrupt::asked() {
                        return Err(LabError::Interrupted);
                    }
                    let place = (turn + round) % turns.len();
                    let (generator, done) = &mut turns[place];
                    say(&format!("{} {operation:?} P{pipeline}", generator.name()));
                    // memtier_benchmark ends at a full second, however soon it is done: what the
                    // server was busy for tells how many requests fill the time.
                    let before = done.last().map_or(FIRST_GUESS, |turn: &Turn| {
                        turn.rate / turn.busy.clamp(BUSY_LEAST, 1.0)
                    });
                    let requests = (before * seconds) as u64;
                    done.push(match generator {
                        Generator::Ours => {
                            ours(&server.target, pid, around, &pool, pipeline, seconds)?
                        }
                        other => {
                            theirs(*other, address, pid, around, operation, pipeline, requests)?
                        }
                    });
                }
            }
            // The first turn of the others only told how fast they are.
            for (_, done) in &mut turns {
                done.remove(0);
            }
            cells.push(Cell { operation, pipeline, turns });
        }
    }
    Ok(Outcome { cells, absent })
}

fn ours(
    target: &Target,
    pid: u32,
    around: &Surroundings,
    pool: &RequestPool,
    pipeline: usize,
    seconds: f64,
) -> Result<Turn, LabError> {
    let spec = LoadSpec {
        connections: CONNECTIONS,
        pipeline,
        cores: around.client_cores(),
        warm_up: Duration::from_millis(100),
        window: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        servers: vec![pid],
        ..LoadSpec::plain(target.clone())
    };
    let report = generator::run(&spec, pool)?;
    let busy = report.server_busy().unwrap_or(f64::NAN);
    Ok(Turn { client_us: report.client_us(), rate: report.rate(), busy })
}

fn theirs(
    generator: Generator,
    address: SocketAddr,
    pid: u32,
    around: &Surroundings,
    operation: Operation,
    pipeline: usize,
    requests: u64,
) -> Result<Turn, LabError> {
    let each = (requests / CONNECTIONS as u64).max(pipeline as u64);
    let requests = each * CONNECTIONS as u64;
    let mut command = Command::new(generator.name());
    let text = |number: u64| number.to_string();
    command.args(["-h", "127.0.0.1", "-p", &text(u64::from(address.port()))]);
    command.args(["-c", &text(CONNECTIONS as u64)]);
    if generator == Generator::RedisBenchmark {
        command.args(["-n", &text(requests), "-P", &text(pipeline as u64)]);
        command.args(["-r", &text(u64::from(KEYS)), "-q"]);
        if operation == Operation::Set {
            command.args(["SET", "key:__rand_int__"]).arg("x".repeat(VALUE_BYTES));
        } else {
            command.args(["GET", "key:__rand_int__"]);
        }
    } else {
        command.args(["-t", "1", "-n", &text(each), "--pipeline", &text(pipeline as u64)]);
        command.args(["--ratio", if operation == Operation::Set { "1:0" } else { "0:1" }]);
        command.args(["--key-prefix", "key:0000000", "-d", &text(VALUE_BYTES as u64)]);
        // Five digits of its own after seven zeroes: 90 % of the keys that all ask for.
        command.args(["--key-minimum", "10000", "--key-maximum", &text(u64::from(KEYS) - 1)]);
        command.args(["--key-pattern", "R:R", "--hide-histogram"]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let cores = around.client_cores();
    // A thread of its own: the child inherits the core to which its parent's thread is pinned.
    let run = move || -> Result<Turn, LabError> {
        cpu::pin(&cores)?;
        let (before, served) = (children_us()?, cpu::process_run_ns(pid)?);
        let begun = Instant::now();
        let ended = command
            .status()
            .map_err(|error| LabError::system(format!("run {}", generator.name()), error))?;
        let seconds = begun.elapsed().as_secs_f64();
        if !ended.success() {
            return Err(LabError::Options(format!("{} ended with {ended}", generator.name())));
        }
        let spent = children_us()? - before;
        let busy = (cpu::process_run_ns(pid)? - served) as f64 / 1e9 / seconds;
        Ok(Turn { client_us: spent / requests as f64, rate: requests as f64 / seconds, busy })
    };
    thread::spawn(run)
        .join()
        .unwrap_or_else(|_| Err(LabError::Options("a generator could not be watched".into())))
}

/// Microseconds of CPU that this process' ended children have taken.
fn children_us() -> Result<f64, LabError> {
    let text = fs::read_to_string("/proc/self/stat")
        .map_err(|error| LabError::system("read the CPU time of ended children", error))?;
    // After the name in brackets: user and system time of children are the 14th and 15th field.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = fields
        .split_ascii_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    Ok(ticks * 1e6 / TICKS)
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Client CPU an operation, {CONNECTIONS} connections, one redis-server, turns:"
        )?;
        writeln!(
            f,
            "{:<9} {:<18} {:>10} {:>12} {:>8} {:>26}",
            "", "generator", "client us", "ops/s", "server", "ours as a multiple of it"
        )?;
        for cell in &self.cells {
            let ours = &cell.turns[0].1;
            for (generator, turns) in &cell.turns {
                let typical = |figure: fn(&Turn) -> f64| median(turns.iter().map(figure));
                let ratio = if *generator == Generator::Ours {
                    let full = typical(|turn| turn.busy) >= FULL;
                    let word = if full { "fills the server" } else { "server has time to spare" };
                    word.to_string()
                } else {
                    let us = |turns: &[Turn]| turns.iter().map(|t| t.client_us).collect::<Vec<_>>();
                    let ratio = Estimate::of_ratio(&us(ours), &us(turns));
                    let kept = if ratio.value <= BOUND { "kept" } else { "not kept" };
                    format!("{:.2} ({:.2} to {:.2}), {kept}", ratio.value, ratio.low, ratio.high)
                };
                let head = format!("{:?} P{}", cell.operation, cell.pipeline);
                writeln!(
                    f,
                    "{head:<9} {:<18} {:>10.3} {:>12.0} {:>7.0}% {ratio:>26}",
                    generator.name(),
                    typical(|turn| turn.client_us),
                    typical(|turn| turn.rate),
                    100.0 * typical(|turn| turn.busy),
                )?;
            }
        }
        for line in &self.absent {
            writeln!(f, "{line}")?;
        }
        write!(f, "bound: {BOUND}")
    }
}
