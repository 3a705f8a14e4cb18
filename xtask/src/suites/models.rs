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
    // Side by side: one model of the ring is tried in all its schedules, which takes one core minutes.
    let (parts, engine) = std::thread::scope(|scope| {
        let parts = scope.spawn(|| {
            let mut command = Command::new("cargo");
            command.args(["test", "--locked", "--profile", "fast"]);
            run_targets("models-parts", command, &plain)
        });
        let mut command = Command::new("cargo");
        command.env("RUSTFLAGS", "--cfg shuttle");
        command.env("CARGO_TARGET_DIR", paths::target().join("models"));
        command.args(["test", "--locked", "--profile", "fast"]);
        let engine = run_targets("models-engine", command, &whole);
        (parts.join().expect("it does not panic"), engine)
    });
    let mut tally = parts?;
    tally.add(engine?);
    if tally.passed == 0 {
        tally.fail("models", "no model ran");
    }
    Ok(tally)
}

fn run_targets(name: &str, mut command: Command, targets: &[String]) -> Result<Tally> {
    if targets.is_empty() {
        return Ok(Tally::default());
    }
    command.current_dir(paths::root()).args(["--package", PACKAGE, "--no-fail-fast"]);
    for target in targets {
        command.args(["--test", target]);
    }
    let finished = commands::run(name, &mut command, LIMIT)?;
    let mut tally = count(&finished.output);
    if !finished.success && tally.failures.is_empty() {
        tally.fail(name, finished.tail());
    }
    Ok(tally)
}
