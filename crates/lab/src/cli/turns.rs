//! Options of the experiments in which servers take turns: `dolium lab compare`, `qos` and `threads`.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::experiments::Progress;
use super::{may_write, write_json};
use crate::compare::{Idle, Plan};
use crate::limits::TURN;
use crate::stores::{Store, Surroundings};
use crate::workload::{Distribution, Operation};
use crate::{LabError, interrupt, output};

/// Options of every experiment in which servers take turns: what is asked, how often, and where it goes.
#[derive(Args)]
pub(super) struct Turns {
    /// Connections to each server, shared among the generator's threads
    #[arg(long = "conns", default_value_t = 50)]
    connections: usize,
    /// Keys that are stored in each server first, and then asked for
    #[arg(long, default_value_t = 100_000)]
    keys: u32,
    /// Bytes of a key
    #[arg(long = "key", default_value_t = 16)]
    key_bytes: usize,
    /// Bytes of a value
    #[arg(long = "value", default_value_t = 100)]
    value_bytes: usize,
    /// uniform, sequential, zipf:E, zipf-contiguous:E or hot:KEYS:REQUESTS
    #[arg(long, default_value = "uniform")]
    distribution: Distribution,
    /// Rounds; every figure is a median over them. 10 if not given, for qos 15, for threads 7
    #[arg(long)]
    rounds: Option<usize>,
    /// Check every byte of every value (the client then costs more)
    #[arg(long)]
    verify: bool,
    /// Milliseconds of each visit before it counts
    #[arg(long, default_value_t = 150)]
    warm_up: u64,
    /// Milliseconds of each visit that count
    #[arg(long, default_value_t = 1000)]
    window: u64,
    /// Milliseconds of each turn of a closed loop, many of which make a visit: shorter ones meet the machine at the
    /// same speed, in longer ones a server is as busy as it is under a load without a break
    #[arg(long, default_value_t = TURN.as_millis() as u64)]
    turn: u64,
    /// What the generator does while no reply is there: sleep, and be woken at the server's expense, or
    /// spin on cores of its own. If not given it sleeps over Unix sockets, and where it shares its cores
    #[arg(long, value_enum)]
    idle: Option<Idle>,
    /// Number that keys and operations are drawn from: the same one asks the same requests again
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The binary to serve Dolium with; this one if not given
    #[arg(long)]
    dolium: Option<PathBuf>,
    /// Write everything that was measured to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Turns {
    /// A plan for Dolium alone, over TCP, with a thread on either side.
    pub(super) fn plan(
        &self,
        operations: &[Operation],
        pipelines: &[usize],
        rounds: usize,
    ) -> Plan {
        Plan {
            stores: vec![Store::Dolium],
            pipelines: pipelines.to_vec(),
            operations: operations.to_vec(),
            connections: self.connections,
            keys: self.keys,
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
            distribution: self.distribution,
            unix: false,
            rounds: self.rounds.unwrap_or(rounds),
            server_threads: 1,
            client_threads: 1,
            idle: self.idle,
            warm_up_ms: self.warm_up,
            window_ms: self.window,
            turn_ms: self.turn,
            verify: self.verify,
            seed: self.seed,
        }
    }

    pub(super) fn surroundings(
        &self,
        unix: bool,
        server_threads: usize,
    ) -> Result<Surroundings, LabError> {
        Surroundings::new(unix, server_threads, self.dolium.clone())
    }

    pub(super) fn show<T: Display + Serialize>(
        &self,
        run: impl FnOnce(&mut dyn FnMut(&str)) -> Result<T, LabError>,
    ) -> Result<(), LabError> {
        show(self.json.as_deref(), run)
    }
}

/// Runs an experiment that says how far it is, writes what came out to a file if there is one, and shows it.
/// A signal ends it in order: what it started and what it wrote for that are gone.
pub(super) fn show<T: Display + Serialize>(
    json: Option<&Path>,
    run: impl FnOnce(&mut dyn FnMut(&str)) -> Result<T, LabError>,
) -> Result<(), LabError> {
    json.map_or(Ok(()), may_write)?;
    interrupt::install()?;
    let mut progress = Progress::new();
    let outcome = run(&mut |line| progress.show(line));
    progress.clear();
    let outcome = outcome?;
    json.map_or(Ok(()), |path| write_json(path, &outcome))?;
    output::print(outcome)
}

/// Which operations are asked, each at which depths.
#[derive(Args)]
pub(super) struct Cells {
    /// Requests in one send
    #[arg(long, value_delimiter = ',', default_value = "1,10,50")]
    pub(super) pipelines: Vec<usize>,
    /// Operations, measured one after the other: get, set or both
    #[arg(long = "ops", value_delimiter = ',', default_value = "get,set")]
    pub(super) operations: Vec<Operation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_told_before_anything_is_measured() {
        let below = std::env::current_exe().unwrap().join("results.json");
        let told = show(Some(&below), |_| -> Result<String, LabError> {
            panic!("measured for nothing");
        });
        let told = told.unwrap_err().to_string();
        assert!(told.starts_with(&format!("could not write {}: ", below.display())), "{told}");
    }
}
