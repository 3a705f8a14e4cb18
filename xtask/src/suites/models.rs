//! The concurrency models: tests that a model checker runs through schedule after schedule.
//!
//! `tests/*_loom.rs` and `*_shuttle.rs` bring their own copy of the code under a checker's atomics
//! and need no flag. `tests/models_*.rs` check the whole engine: the checker's atomics replace the
//! real ones in the crate, so they are built apart, with `--cfg shuttle`.

use super::rust::count;
use crate::tally::Tally;
use crate::{Result, commands, paths};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1200);
const PACKAGE: &str = "dolium-engine";
const TESTS: &str = "crates/engine/tests";

pub fn run() -> Result<Tally> {
    let mut plain = Vec::new();
    let mut whole = Vec::new();
    let entries = std::fs::read_dir(paths::root().join(TESTS));
    for entry in entries.map_err(|why| format!("no models: {why}"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".rs") else { continue };
        if name.ends_with("_loom") || name.ends_with("_shuttle") {
            plain.push(name.to_string());
        } else if name.starts_with("models_") {
            whole.push(name.to_string());
        }
    }
    let mut tally = Tally::default();
    let mut command = Command::new("cargo");
    command.args(["test", "--locked", "--profile", "fast"]);
    run_targets("models-parts", command, &plain, &mut tally)?;
    let mut command = Command::new("cargo");
    command.env("RUSTFLAGS", "--cfg shuttle");
    command.env("CARGO_TARGET_DIR", paths::target().join("models"));
    command.args(["test", "--locked", "--profile", "fast"]);
    run_targets("models-engine", command, &whole, &mut tally)?;
    if tally.passed == 0 {
        tally.fail("models", "no model ran");
    }
    Ok(tally)
}

fn run_targets(
    name: &str,
    mut command: Command,
    targets: &[String],
    tally: &mut Tally,
) -> Result<()> {
    if targets.is_empty() {
        return Ok(());
    }
    command.current_dir(paths::root()).args(["--package", PACKAGE, "--no-fail-fast"]);
    for target in targets {
        command.args(["--test", target]);
    }
    let finished = commands::run(name, &mut command, LIMIT)?;
    let counted = count(&finished.output);
    let silent = !finished.success && counted.failures.is_empty();
    tally.add(counted);
    if silent {
        tally.fail(name, finished.tail());
    }
    Ok(())
}
