//! The workspace's own unit and integration tests, by `cargo test`, and how its output is counted.
//!
//! Each test counts once. Models that need no flag run here too, but count in the suite `models`;
//! a test that another one starts as its child stands as ignored, and is counted as that one.

use super::models::is_model;
use crate::tally::Tally;
use crate::{Result, commands, install, paths};
use std::process::Command;
use std::time::Duration;

/// Above what it takes on two cores (700 s, most of it building), and so that those behind it have
/// their time where it is stopped.
const LIMIT: Duration = Duration::from_secs(1200);
/// How the reason begins for which a test is ignored that another one starts.
const CHILD: &str = "a child of ";

pub fn run() -> Result<Tally> {
    install::packages(install::NATIVE)?;
    install::packages(install::RUST)?;
    let mut command = Command::new("cargo");
    command.current_dir(paths::root());
    command.args(["test", "--locked", "--profile", "fast", "--workspace", "--no-fail-fast"]);
    let finished = match commands::run("rust", &mut command, LIMIT) {
        Ok(finished) => finished,
        Err(why) => return Ok(stopped("rust", why, |target| !is_model(target))),
    };
    let mut tally = count(&finished.output, |target| !is_model(target));
    // A test binary that does not compile, or one that aborts, prints no result line.
    if !finished.success && tally.failures.is_empty() {
        tally.fail("cargo test", finished.tail());
    }
    if tally.passed == 0 && tally.failures.is_empty() {
        tally.fail("cargo test", "no test ran");
    }
    Ok(tally)
}

/// What a command had told of its tests when it was stopped, and which of them had not ended.
pub fn stopped(name: &str, why: String, is_wanted: impl Fn(&str) -> bool) -> Tally {
    let log = paths::logs().join(format!("{name}.log"));
    let output = std::fs::read_to_string(log).unwrap_or_default();
    let mut tally = count(&output, is_wanted);
    tally.fail(unended(&output), why);
    tally
}

/// Reads the lines of every test binary. Failures all count, passes of those targets that are wanted:
/// ```text
///      Running tests/batch.rs (target/...)          the target is `batch`
/// test NAME ... FAILED
/// test NAME ... ignored, a child of ANOTHER
/// test result: ok. 12 passed; 0 failed; 1 ignored; ...
/// ```
pub fn count(output: &str, is_wanted: impl Fn(&str) -> bool) -> Tally {
    let mut tally = Tally::default();
    let (mut wanted, mut children) = (is_wanted(""), 0);
    for line in output.lines() {
        if let Some(target) = target(line) {
            (wanted, children) = (is_wanted(target), 0);
        }
        if line.split_once(" ... ignored, ").is_some_and(|(_, why)| why.starts_with(CHILD)) {
            children += 1;
        }
        if let Some(name) = line.strip_prefix("test ").and_then(|l| l.strip_suffix(" ... FAILED")) {
            tally.fail(name, reason(output, name));
        }
        let Some(counts) = line.strip_prefix("test result: ") else { continue };
        let counts = counts.split_once(". ").map_or("", |(_, counts)| counts);
        for part in counts.split("; ").filter(|_| wanted) {
            match part.split_once(' ') {
                Some((number, "passed")) => tally.passed += number.parse().unwrap_or(0),
                Some((number, "ignored")) => {
                    let ignored: usize = number.parse().unwrap_or(0);
                    tally.skipped += ignored.saturating_sub(children);
                }
                _ => {}
            }
        }
    }
    tally
}

/// The name of the test binary whose lines begin here: empty for the examples in documentation.
fn target(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if line.starts_with("Doc-tests ") {
        return Some("");
    }
    let (path, _) = line.strip_prefix("Running ")?.split_once(" (")?;
    path.rsplit('/').next()?.strip_suffix(".rs")
}

/// The tests that had not ended when their suite was stopped.
fn unended(output: &str) -> String {
    const LONG: &str = " has been running for over 60 seconds";
    let long = output.lines().filter_map(|l| l.strip_prefix("test ")?.strip_suffix(LONG));
    let is_over = |name: &str| output.contains(&format!("\ntest {name} ... "));
    let names: Vec<&str> = long.filter(|name| !is_over(name)).collect();
    match names.is_empty() {
        true => "no test that ran for long".to_string(),
        false => names.join(", "),
    }
}

/// What the failed test printed: the lines between its own heading and the next one.
fn reason(output: &str, name: &str) -> String {
    let heading = format!("---- {name} stdout ----");
    let lines = output.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.starts_with("---- ")).take(15).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{count, is_model, unended};

    #[test]
    fn a_test_that_does_not_end_is_named() {
        let output = "test a ... ok\ntest slow has been running for over 60 seconds\n\
            test hangs has been running for over 60 seconds\ntest slow ... ok\n";
        assert_eq!(unended(output), "hangs");
        assert_eq!(unended("test a ... ok\n"), "no test that ran for long");
    }

    #[test]
    fn result_lines_of_all_binaries_are_added() {
        let output = "test a ... ok\ntest b ... FAILED\n---- b stdout ----\nleft: 1\n\
            test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out\n\
            test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let tally = count(output, |_| true);
        assert_eq!((tally.passed, tally.failures.len(), tally.skipped), (7, 1, 2));
        assert!(tally.failures[0].reason.contains("left: 1"));
    }

    #[test]
    fn models_and_children_are_not_counted_twice() {
        let output = "     Running tests/kills.rs (target/fast/deps/kills-1)\n\
            test child ... ignored, a child of kills\ntest slow ... ignored, takes an hour\n\
            test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out\n\
            \x20    Running tests/ring_loom.rs (target/fast/deps/ring_loom-1)\n\
            test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
            \x20  Doc-tests dolium_engine\n\
            test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let rest = count(output, |target| !is_model(target));
        assert_eq!((rest.passed, rest.skipped), (4, 1));
        assert_eq!(count(output, |target| target == "ring_loom").passed, 4);
    }
}
