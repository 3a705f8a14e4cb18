//! `dolium lab threads`: what a request costs a server of several threads.

use clap::Args;

use super::turns::{Cells, Turns};
use crate::LabError;
use crate::compare::Plan;
use crate::threads;

/// Rounds, if their number is not given.
const ROUNDS: usize = 7;

#[derive(Args)]
pub(super) struct Options {
    /// Threads of the server, each on a core
    #[arg(long, default_value_t = 2)]
    threads: usize,
    #[command(flatten)]
    turns: Turns,
    #[command(flatten)]
    cells: Cells,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        let plan = self.turns.plan(&self.cells.operations, &self.cells.pipelines, ROUNDS);
        let plan = Plan { server_threads: self.threads, client_threads: self.threads, ..plan };
        let around = self.turns.surroundings(false, self.threads)?;
        self.turns.show(|say| threads::run(&plan, &around, say))
    }
}
