//! The engine under Miri, an interpreter that tells undefined behaviour: accesses beyond their memory,
//! against the rules of aliasing, or by two threads at once. Everything takes some ten thousand times as
//! long there, so this suite runs only where it is named: half an hour to an hour of two cores.
//!
//! The unit tests, then each file of tests that can run there: one that maps memory a second time, or is of
//! a model checker, says `#![cfg(not(miri))]`. Two files at a time, each in a build folder of its own.

use super::models::is_model;
use super::rust::{count, stopped};
use crate::tally::Tally;
use crate::{Result, commands, paths};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// For one file.
const LIMIT: Duration = Duration::from_secs(3600);
const AT_ONCE: usize = 2;
const PACKAGE: &str = "dolium-engine";
const TESTS: &str = "crates/engine/tests";
/// A nightly of one day, as only nightlies have Miri: it stays what it is, and beside the user's own.
const TOOLCHAIN: &str = "nightly-2026-05-20";
const UNIT_TESTS: &str = "--lib";

pub fn run() -> Result<Tally> {
    install()?;
    let mut targets = files()?;
    targets.push(UNIT_TESTS.to_string());
    targets.reverse();
    let (left, tally) = (Mutex::new(targets), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for number in 0..AT_ONCE {
            let (left, tally) = (&left, &tally);
            scope.spawn(move || {
                loop {
                    let next = left.lock().expect("no holder panics").pop();
                    let Some(target) = next else { break };
                    let started = Instant::now();
                    let found = run_target(&target, number);
                    let seconds = started.elapsed().as_secs_f32();
                    println!("   {target:<32} {seconds:>7.1} s  {}", found.line());
                    tally.lock().expect("no holder panics").add(found);
                }
            });
        }
    });
    Ok(tally.into_inner().expect("no holder panics"))
}

fn install() -> Result<()> {
    let mut known = Command::new("rustup");
    known.args(["component", "list", "--installed", "--toolchain", TOOLCHAIN]);
    let known = commands::run("miri-known", &mut known, LIMIT)?;
    let has = |name| known.output.lines().any(|line| line.starts_with(name));
    if known.success && has("miri") && has("rust-src") {
        return Ok(());
    }
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", TOOLCHAIN, "--profile", "minimal", "--no-self-update"]);
    install.args(["--component", "miri", "--component", "rust-src"]);
    commands::run("miri-install", &mut install, LIMIT)?
        .require("rustup toolchain install, of a nightly with miri and rust-src")
        .map(|_| ())
}

/// The names of the files of tests that can run, in order.
fn files() -> Result<Vec<String>> {
    let entries = std::fs::read_dir(paths::root().join(TESTS));
    let mut names = Vec::new();
    for entry in entries.map_err(|why| format!("no tests: {why}"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".rs") else { continue };
        if !is_model(name) && can_run(&entry.path())? {
            names.push(name.to_string());
        }
    }
    names.sort();
    Ok(names)
}

fn can_run(path: &Path) -> Result<bool> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|why| format!("cannot read {}: {why}", path.display()))?;
    Ok(!text.lines().any(|line| line.starts_with("#![cfg(") && line.contains("miri")))
}

/// `number` is of the build folder: cargo lets nobody else into one.
fn run_target(target: &str, number: usize) -> Tally {
    let mut command = Command::new("cargo");
    command.current_dir(paths::root());
    command.env("CARGO_TARGET_DIR", paths::target().join(format!("miri-{number}")));
    command.args([&format!("+{TOOLCHAIN}"), "miri", "test", "--locked", "--package", PACKAGE]);
    if target == UNIT_TESTS {
        command.arg(UNIT_TESTS);
    } else {
        command.args(["--test", target]);
    }
    let name = format!("miri-{}", target.trim_start_matches('-'));
    let finished = match commands::run(&name, &mut command, LIMIT) {
        Ok(finished) => finished,
        Err(why) => return stopped(&name, why, |_| true),
    };
    let mut tally = count(&finished.output, |_| true);
    if !finished.success && tally.failures.is_empty() {
        tally.fail(target, finished.tail());
    }
    if tally.passed == 0 && tally.failures.is_empty() {
        tally.fail(target, "no test ran");
    }
    tally
}
