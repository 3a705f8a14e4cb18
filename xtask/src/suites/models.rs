//! The concurrency models: tests that a model checker runs through schedule after schedule.
//!
//! `tests/*_loom.rs` and `*_shuttle.rs` bring their own copy of the code under a checker's atomics
//! and need no flag. `tests/models_*.rs` check the whole engine: the checker's atomics replace the
//! real ones in the crate, so they are built apart, with `--cfg shuttle`. Of each file a model must run:
//! a `cfg` that leaves all of it out would look like success.
//!
//! One model of the ring is tried in all its schedules, which takes one core a quarter of an hour: it
//! is a suite of its own, which runs beside others at the lowest priority.

use super::rust::{count, stopped};
use crate::tally::Tally;
use crate::{Result, commands, paths};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(900);
/// Beside others it may hardly get on until they are over.
const LONG_LIMIT: Duration = Duration::from_secs(2000);
const LONG: &str = "ring_loom";
const PACKAGE: &str = "dolium-engine";
const TESTS: &str = "crates/engine/tests";

pub fn run() -> Result<Tally> {
    let mut plain = Vec::new();
    let mut whole = Vec::new();
    let entries = std::fs::read_dir(paths::root().join(TESTS));
    for entry in entries.map_err(|why| format!("no models: {why}"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".rs") else { continue };
        if name == LONG {
            continue;
        } else if is_part(name) {
            plain.push(name.to_string());
        } else if is_whole(name) {
            whole.push(name.to_string());
        }
    }
    let mut tally = Tally::default();
    let mut command = Command::new("cargo");
    command.args(["test", "--locked", "--profile", "fast"]);
    tally.add(run_targets("models-parts", command, &plain, LIMIT));
    let mut command = Command::new("cargo");
    command.env("RUSTFLAGS", "--cfg shuttle");
    command.env("CARGO_TARGET_DIR", paths::target().join("models"));
    command.args(["test", "--locked", "--profile", "fast"]);
    tally.add(run_targets("models-engine", command, &whole, LIMIT));
    Ok(tally)
}

pub fn run_the_long_one() -> Result<Tally> {
    let mut command = Command::new("nice");
    command.args(["-n", "19", "cargo", "test", "--locked", "--profile", "fast"]);
    Ok(run_targets("models-ring", command, &[LONG.to_string()], LONG_LIMIT))
}

/// Whether a test file of the engine's is one of models, which count in this suite alone.
pub fn is_model(target: &str) -> bool {
    is_part(target) || is_whole(target)
}

fn is_part(target: &str) -> bool {
    target.ends_with("_loom") || target.ends_with("_shuttle")
}

fn is_whole(target: &str) -> bool {
    target.starts_with("models_") && !is_part(target)
}

fn run_targets(name: &str, mut command: Command, targets: &[String], limit: Duration) -> Tally {
    let mut tally = Tally::default();
    if targets.is_empty() {
        tally.fail(name, "there is no file of models");
        return tally;
    }
    command.current_dir(paths::root()).args(["--package", PACKAGE, "--no-fail-fast"]);
    for target in targets {
        command.args(["--test", target]);
    }
    let finished = match commands::run(name, &mut command, limit) {
        Ok(finished) => finished,
        Err(why) => return stopped(name, why, is_model),
    };
    tally = count(&finished.output, is_model);
    if !finished.success && tally.failures.is_empty() {
        tally.fail(name, finished.tail());
    }
    for target in targets {
        let here = count(&finished.output, |one| one == target);
        if here.passed == 0 && tally.failures.is_empty() {
            tally.fail(target, "no model ran");
        }
    }
    tally
}
