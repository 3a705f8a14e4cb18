//! `dolium lab returns`: what a function that returns behind a system call costs.

use std::path::PathBuf;

use clap::Args;

use super::{may_write, write_json};
use crate::{LabError, output, returns};

#[derive(Args)]
pub(super) struct Options {
    /// Write the times to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        self.json.as_deref().map_or(Ok(()), may_write)?;
        let result = returns::run()?;
        self.json.as_deref().map_or(Ok(()), |path| write_json(path, &result))?;
        let mut lines = vec![
            "A byte through a pair of Unix sockets, ns a system call\n".to_string(),
            format!("{:>22} {:>8} {:>8}", "functions to return", "ns", "more"),
            "─".repeat(40),
        ];
        for (depth, ns) in result.ns.iter().enumerate() {
            lines.push(format!("{depth:>22} {ns:>8.0} {:>8.0}", ns - result.ns[0]));
        }
        output::print(lines.join("\n") + "\n")
    }
}
