//! The concurrency models: tests that a model checker runs through every schedule. They are built
//! apart, because the checker's atomics replace the real ones in the whole crate.

use super::rust::count;
use crate::tally::Tally;
use crate::{Result, commands, paths};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1200);
/// The crates that have models, under the compiler flag that switches them on.
const CRATES: &[&str] = &["dolium-engine"];

pub fn run() -> Result<Tally> {
    let mut tally = Tally::default();
    for package in CRATES {
        let mut command = Command::new("cargo");
        command.current_dir(paths::root());
        command
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", paths::target().join("loom"));
        command.args(["test", "--locked", "--release", "--package", package, "--no-fail-fast"]);
        let finished = commands::run(&format!("models-{package}"), &mut command, LIMIT)?;
        let counted = count(&finished.output);
        let silent = !finished.success && counted.failures.is_empty();
        tally.add(counted);
        if silent {
            tally.fail(*package, finished.tail());
        }
    }
    if tally.passed == 0 {
        tally.fail("models", "no model ran");
    }
    Ok(tally)
}
