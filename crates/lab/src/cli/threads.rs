//! `dolium lab threads`: what a request costs a server of several threads.

use std::path::PathBuf;

use clap::Args;

use super::experiments::Progress;
use super::write_json;
use crate::LabError;
use crate::stores::Surroundings;
use crate::threads::{self, Plan};
use crate::workload::{Mix, Operation};

#[derive(Args)]
pub(super) struct Options {
    /// Threads of the server, each on a core
    #[arg(long, default_value_t = 2)]
    threads: usize,
    #[arg(long = "conns", default_value_t = 50)]
    connections: usize,
    #[arg(long, default_value_t = 100_000)]
    keys: u32,
    /// Bytes of a key
    #[arg(long = "key", default_value_t = 16)]
    key_bytes: usize,
    /// Bytes of a value
    #[arg(long = "value", default_value_t = 100)]
    value_bytes: usize,
    /// Requests in one send
    #[arg(long, value_delimiter = ',', default_value = "1,10,50")]
    pipelines: Vec<usize>,
    /// get, set
    #[arg(long = "ops", value_delimiter = ',', default_value = "get,set")]
    operations: Vec<Mix>,
    /// Rounds; every figure is a median over them
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Milliseconds of each visit before it counts
    #[arg(long, default_value_t = 150)]
    warm_up: u64,
    /// Milliseconds of each visit that count
    #[arg(long, default_value_t = 1000)]
    window: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The binary to serve Dolium with; this one if not given
    #[arg(long)]
    dolium: Option<PathBuf>,
    /// Write everything that was measured to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        let operations = self.operations.iter().map(|mix| match mix {
            Mix::Get => Ok(Operation::Get),
            Mix::Set => Ok(Operation::Set),
            Mix::GetPerMille(_) | Mix::Recipe(_) => {
                Err(LabError::Options("threads are asked for get and set, one at a time".into()))
            }
        });
        let plan = Plan {
            threads: self.threads,
            pipelines: self.pipelines.clone(),
            operations: operations.collect::<Result<_, _>>()?,
            connections: self.connections,
            keys: self.keys,
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
            rounds: self.rounds,
            warm_up_ms: self.warm_up,
            window_ms: self.window,
            seed: self.seed,
        };
        let around = Surroundings::new(false, self.threads, self.dolium.clone())?;
        let mut progress = Progress::new();
        let outcome = threads::run(&plan, &around, &mut |line| progress.show(line));
        progress.clear();
        let outcome = outcome?;
        print!("{outcome}");
        self.json.as_deref().map_or(Ok(()), |path| write_json(path, &outcome))
    }
}
