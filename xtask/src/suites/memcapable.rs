//! libmemcached's conformance test, which Debian installs as `memccapable`. It ends well when it has
//! run no test, so how many the real Memcached passes is written down.

use super::Against;
use crate::servers::Server;
use crate::tally::Tally;
use crate::{Result, commands, install};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
/// Of the text and the binary protocol together (libmemcached-tools 1.1).
const TESTS: usize = 54;

/// It prints a line per test: the name, then `[pass]`, `[FAIL]` or `[skip]`.
pub fn run(against: Against) -> Result<Tally> {
    install::packages(install::MEMCACHED)?;
    let server = Server::start(against.memcached())?;
    let mut command = Command::new("memccapable");
    command.args(["-h", "127.0.0.1", "-p", &server.memcached_port.to_string()]);
    let finished = commands::run("memcapable", &mut command, LIMIT)?;
    let mut tally = Tally::default();
    for line in finished.output.lines() {
        let name = line.split('[').next().unwrap_or(line).trim();
        if line.contains("[pass]") {
            tally.pass();
        } else if line.contains("[FAIL]") {
            tally.fail(name, line);
        } else if line.contains("[skip]") {
            tally.skipped += 1;
        }
    }
    if !finished.success && tally.failures.is_empty() {
        tally.fail("memccapable", finished.tail());
    }
    let seen = tally.passed + tally.failures.len();
    if seen != TESTS {
        tally.fail("memccapable", format!("{seen} tests came up, it has {TESTS}"));
    }
    Ok(tally)
}
