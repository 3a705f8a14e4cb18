//! `dolium lab trust`: the lab's own claims, measured.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{may_write, write_json};
use crate::stores::{Store, Surroundings};
use crate::trust::{generators, latency, verdicts};
use crate::{LabError, interrupt, output};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Claim {
    /// CPU an operation beside redis-benchmark and memtier_benchmark
    Generators,
    /// Percentiles beside those of the packets
    Latency,
    /// A server against itself, and against itself slowed
    Verdicts,
}

#[derive(Args)]
pub(super) struct Options {
    /// What to look at; everything if not given
    #[arg(value_enum)]
    claims: Vec<Claim>,
    /// Turns of each generator, the first of which does not count
    #[arg(long, default_value_t = 6)]
    turns: usize,
    /// Seconds of each turn and of each capture
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Stores whose latencies are looked at
    #[arg(long, value_delimiter = ',', default_value = "redis,dolium")]
    stores: Vec<Store>,
    /// Trials without a difference, and as many with one
    #[arg(long, default_value_t = 20)]
    trials: usize,
    /// Rounds of a trial
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// Milliseconds of each visit
    #[arg(long, default_value_t = 1000)]
    window: u64,
    /// Requests in one send, for the verdicts
    #[arg(long, default_value_t = 1)]
    pipeline: usize,
    /// Share by which the slowed server is slower
    #[arg(long, default_value_t = 0.03)]
    slower: f64,
    /// Server of the verdicts; only null can be slowed
    #[arg(long, default_value = "null")]
    server: Store,
    /// Write everything that was measured to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Default, Serialize)]
struct Outcomes {
    generators: Option<generators::Outcome>,
    latency: Option<latency::Outcome>,
    verdicts: Option<verdicts::Outcome>,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        self.json.as_deref().map_or(Ok(()), may_write)?;
        interrupt::install()?;
        let mut outcomes = Outcomes::default();
        let ended = self.measure(&mut outcomes);
        // What was measured until Ctrl-C, or until something failed, is kept and shown.
        self.keep(&outcomes)?;
        if let Some(verdicts) = &outcomes.verdicts {
            output::print(format_args!("{verdicts}\n"))?;
        }
        ended
    }

    fn keep(&self, outcomes: &Outcomes) -> Result<(), LabError> {
        self.json.as_deref().map_or(Ok(()), |path| write_json(path, outcomes))
    }

    fn measure(&self, outcomes: &mut Outcomes) -> Result<(), LabError> {
        let around = Surroundings::new(false, 1, None)?;
        let mut say = |line: &str| output::note(line);
        let wanted = |claim| self.claims.is_empty() || self.claims.contains(&claim);
        if wanted(Claim::Generators) {
            let outcome = generators::run(&around, self.turns.max(2), self.seconds, &mut say)?;
            let told = format!("{outcome}\n\n");
            outcomes.generators = Some(outcome);
            self.keep(outcomes)?;
            output::print(told)?;
        }
        if wanted(Claim::Latency) {
            let outcome = latency::run(&around, &self.stores, self.seconds, &mut say)?;
            let told = format!("{outcome}\n");
            outcomes.latency = Some(outcome);
            self.keep(outcomes)?;
            output::print(told)?;
        }
        if wanted(Claim::Verdicts) {
            let outcome = outcomes.verdicts.insert(verdicts::Outcome::new(verdicts::Plan {
                store: self.server,
                trials: self.trials,
                rounds: self.rounds,
                window: Duration::from_millis(self.window),
                pipeline: self.pipeline,
                slower: self.slower,
            }));
            verdicts::run(outcome, &around, &mut say)?;
        }
        Ok(())
    }
}
