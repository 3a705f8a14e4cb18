//! `dolium lab growth`: whether keys that are stored while the index grows more cost more than others.

use std::path::PathBuf;

use clap::Args;

use super::turns::show;
use crate::LabError;
use crate::growth::{self, Plan};
use crate::stores::Surroundings;

#[derive(Args)]
pub(super) struct Options {
    /// Keys that each load stores
    #[arg(long, default_value_t = 10_000_000)]
    keys: u32,
    /// Bytes of a value
    #[arg(long = "value", default_value_t = 100)]
    value_bytes: usize,
    /// Requests in one send
    #[arg(long, value_delimiter = ',', default_value = "1,50")]
    pipelines: Vec<usize>,
    /// Loads at each depth of pipeline
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Milliseconds of the windows that are compared
    #[arg(long, default_value_t = 200)]
    window: u64,
    /// Milliseconds between two looks at the server
    #[arg(long, default_value_t = 2)]
    look: u64,
    /// The binary to serve Dolium with; this one if not given
    #[arg(long)]
    dolium: Option<PathBuf>,
    /// Write everything that was measured to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        let plan = Plan {
            pipelines: self.pipelines.clone(),
            keys: self.keys,
            value_bytes: self.value_bytes,
            rounds: self.rounds,
            window_ms: self.window,
            look_ms: self.look,
        };
        let around = Surroundings::new(false, 1, self.dolium.clone())?;
        show(self.json.as_deref(), |say| growth::run(&plan, &around, say))
    }
}
