//! What a merge must pass: formatting, lints, then every suite.

use crate::{Result, commands, install, paths, suites};
use std::process::Command;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(1800);

pub fn run() -> Result<()> {
    cargo("format", &["fmt", "--all", "--check"])?;
    // Clippy runs the build scripts, of which one builds the heap.
    install::packages(install::NATIVE)?;
    // With the profile of the tests: what build scripts make, among it the heap, serves both.
    let checked = ["clippy", "--locked", "--workspace", "--all-targets", "--profile", "fast"];
    cargo("clippy", &[&checked[..], &["--", "-D", "warnings"]].concat())?;
    suites::run(&[])
}

fn cargo(name: &str, words: &[&str]) -> Result<()> {
    let started = Instant::now();
    let mut command = Command::new("cargo");
    command.current_dir(paths::root()).args(words);
    commands::run(name, &mut command, LIMIT)?.require(&format!("cargo {}", words.join(" ")))?;
    println!("{name:<12} {:>7.1} s  clean", started.elapsed().as_secs_f32());
    Ok(())
}
