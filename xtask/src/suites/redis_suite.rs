//! Units of Redis' own test suite against a running server (the suite's external mode).
//!
//! `tests/redis-suite.toml` says which units, how many tests the real redis-server passes in each,
//! and which tests wait for a command. The run is `--durable`: without it the harness ends at the
//! first unknown command. Against the peer nothing is skipped and the numbers must match exactly,
//! which shows that this runner counts right.

use super::Against;
use crate::servers::{Server, free_port};
use crate::tally::Tally;
use crate::{Result, commands, install, paths, peers};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(240);
/// The harness gives up on a test that makes no progress for so many seconds.
const HARNESS_TIMEOUT: &str = "60";

#[derive(Deserialize)]
struct Plan {
    tags: String,
    unit: Vec<Unit>,
}

#[derive(Deserialize)]
struct Unit {
    name: String,
    tests: usize,
    #[serde(default)]
    alone: Vec<String>,
    #[serde(default)]
    absent: BTreeMap<String, String>,
    #[serde(default)]
    skip: BTreeMap<String, String>,
}

pub fn run(against: Against) -> Result<Tally> {
    install::packages(install::REDIS)?;
    install::packages(install::REDIS_SUITE)?;
    let harness = peers::fetch()?.redis;
    let file = paths::root().join("tests/redis-suite.toml");
    let text = std::fs::read_to_string(&file).map_err(|why| format!("no plan: {why}"))?;
    let plan: Plan = toml::from_str(&text).map_err(|why| format!("redis-suite.toml: {why}"))?;
    let mut tally = Tally::default();
    for unit in &plan.unit {
        // A server of its own for each unit: what one leaves in CONFIG must not hurt the next.
        let mut server = Server::start(against.redis())?;
        let counted = run_unit(&harness, &plan.tags, unit, against, server.redis_port)
            .unwrap_or_else(|why| {
                let mut counted = Tally::default();
                counted.fail(&unit.name, why);
                counted
            });
        println!("   {:<20} of {:>2}: {}", unit.name, unit.tests, counted.line());
        tally.add(counted);
        if !server.is_alive() {
            tally.fail(format!("{}: the server died", unit.name), server.log());
        }
    }
    Ok(tally)
}

fn run_unit(harness: &Path, tags: &str, unit: &Unit, against: Against, port: u16) -> Result<Tally> {
    let mut left_out: Vec<&str> = Vec::new();
    if against == Against::Dolium {
        left_out.extend(unit.skip.keys().chain(&unit.alone).map(String::as_str));
    }
    let mut outcome = pass(harness, tags, unit, port, "--skiptest", &left_out)?;
    let unknown: Vec<&&str> =
        left_out.iter().filter(|name| !outcome.skipped.contains(**name)).collect();
    // A unit that broke off has not come to all its tests: then their names prove nothing.
    if outcome.tally.failures.is_empty() && !unknown.is_empty() {
        return Err(format!("redis-suite.toml names tests that the unit lacks: {unknown:?}"));
    }
    if against == Against::Dolium && !unit.alone.is_empty() {
        let names: Vec<&str> = unit.alone.iter().map(String::as_str).collect();
        let second = pass(harness, tags, unit, port, "--only", &names)?;
        outcome.tally.add(second.tally);
    }
    let mut tally = outcome.tally;
    let without = unit.skip.len() + unit.absent.len();
    tally.skipped = if against == Against::Dolium { without } else { 0 };
    let seen = tally.passed + tally.failures.len() + tally.skipped;
    if seen != unit.tests {
        let numbers = format!("{seen} tests came up, the unit has {}", unit.tests);
        tally.fail(&unit.name, numbers);
    }
    Ok(tally)
}

struct Pass {
    tally: Tally,
    skipped: BTreeSet<String>,
}

fn pass(
    harness: &Path,
    tags: &str,
    unit: &Unit,
    port: u16,
    choice: &str,
    names: &[&str],
) -> Result<Pass> {
    let mut command = Command::new("./runtest");
    command.current_dir(harness).args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--durable", "--timeout", HARNESS_TIMEOUT, "--single", &unit.name]);
    command.args(["--tags", tags, "--baseport", &free_port()?.to_string()]);
    for name in names {
        command.args([choice, name]);
    }
    let label = format!("redis-{}{}", unit.name.replace('/', "-"), choice);
    let finished = commands::run(&label, &mut command, LIMIT)?;
    let pass = parse(&finished.output);
    let ended = finished.output.contains("All tests passed") || !pass.tally.failures.is_empty();
    if ended { Ok(pass) } else { Err(finished.tail()) }
}

/// Reads the harness' lines:
/// ```text
/// [ok]: NAME (1 ms)
/// [err]: NAME in tests/unit/FILE.tcl   and the reason on the lines below
/// [skip]: NAME
/// [exception]: ...                     the unit ended here
/// ```
fn parse(output: &str) -> Pass {
    let mut pass = Pass { tally: Tally::default(), skipped: BTreeSet::new() };
    // The harness repeats every failure at its end.
    let body = output.split("\n!!! WARNING").next().unwrap_or(output);
    let mut lines = body.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((kind, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("]: "))
        else {
            continue;
        };
        match kind {
            "ok" => pass.tally.pass(),
            "skip" => {
                pass.skipped.insert(rest.to_string());
            }
            "err" | "exception" | "TIMEOUT" => {
                let mut reason = Vec::new();
                while let Some(line) = lines.next_if(|line| !line.starts_with('[')) {
                    reason.push(line);
                }
                let name = rest.split(" in tests/").next().unwrap_or(rest);
                pass.tally.fail(name, reason.join("\n"));
            }
            _ => {}
        }
    }
    pass
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn results_are_read_line_by_line() {
        let pass = parse(
            "[ok]: SET (1 ms)\n[err]: GET in tests/unit/type/string.tcl\nExpected a\n\
             [skip]: SETBIT\n[ignore]: Tag: slow denied\n\n!!! WARNING The following tests failed:\n\
             [err]: GET in tests/unit/type/string.tcl\n",
        );
        assert_eq!(pass.tally.passed, 1);
        assert_eq!(pass.tally.failures.len(), 1);
        assert_eq!(pass.tally.failures[0].name, "GET");
        assert_eq!(pass.tally.failures[0].reason, "Expected a");
        assert!(pass.skipped.contains("SETBIT"));
    }
}
