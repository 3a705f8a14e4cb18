//! Unmodified clients of other projects against the server, in their own languages.
//!
//! Each program under `tests/clients/` gets ports as arguments and prints a line per check:
//! ```text
//! ok NAME
//! not ok NAME: REASON
//! restart            the server is stopped and started again; then the program reads one line
//! ```
//! so that a client's reconnecting can be tested without the program knowing how servers start. How many
//! checks a program has is written down here: one that ends early ends well.

use super::Against;
use crate::servers::Server;
use crate::tally::Tally;
use crate::{Result, children, commands, install, paths};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

pub fn run(against: Against) -> Result<Tally> {
    install::packages(install::REDIS)?;
    install::packages(install::MEMCACHED)?;
    install::packages(install::CLIENTS)?;
    let mut redis = Server::start(against.redis())?;
    let mut memcached = Server::start(against.memcached())?;
    let mut tally = Tally::default();
    let mut client = |name: &str, checks: usize, server: &mut Server, command: Result<Command>| {
        let counted = command.and_then(|mut command| converse(name, checks, &mut command, server));
        let counted = counted.unwrap_or_else(|why| {
            let mut counted = Tally::default();
            counted.fail(name, why);
            counted
        });
        println!("   {name:<14} {}", counted.line());
        tally.add(counted);
    };
    let redis_port = redis.redis_port.to_string();
    let memcached_port = memcached.memcached_port.to_string();
    client("redis-py", 47, &mut redis, python("redis_py.py", &redis_port));
    client("pymemcache", 19, &mut memcached, python("pymemcache_client.py", &memcached_port));
    client("ioredis", 14, &mut redis, node(&redis_port));
    client("go-redis", 27, &mut redis, go(&redis_port));
    client("jedis", 15, &mut redis, java("JedisClient", &redis_port));
    client("spymemcached", 15, &mut memcached, java("SpyMemcachedClient", &memcached_port));
    tally.check("redis-benchmark", benchmark(&redis_port));
    for server in [&mut redis, &mut memcached] {
        let alive = server.is_alive();
        tally.check(
            format!("{} lives on", server.kind.name()),
            if alive { Ok(()) } else { Err(server.log()) },
        );
    }
    Ok(tally)
}

fn python(program: &str, port: &str) -> Result<Command> {
    let mut command = Command::new(install::python()?);
    command.arg(paths::root().join("tests/clients/python").join(program)).arg(port);
    Ok(command)
}

fn node(port: &str) -> Result<Command> {
    let folder = install::node()?;
    let mut command = Command::new("node");
    command.current_dir(&folder).args(["client.js", port]);
    Ok(command)
}

fn go(port: &str) -> Result<Command> {
    let mut command = Command::new(install::go()?);
    command.arg(port);
    Ok(command)
}

fn java(class: &str, port: &str) -> Result<Command> {
    let mut command = Command::new("java");
    command.args(["-cp", &install::java()?, class, port]);
    Ok(command)
}

/// The load generator that Redis' users know must work, with and without a pipeline.
fn benchmark(port: &str) -> Result<()> {
    for pipeline in ["1", "16"] {
        let mut command = Command::new("redis-benchmark");
        command.args(["-p", port, "-t", "set,get,incr,mset", "-n", "20000", "-P", pipeline, "-q"]);
        let label = format!("redis-benchmark-{pipeline}");
        let finished = commands::run(&label, &mut command, LIMIT)?.require("redis-benchmark")?;
        let results = finished.output.matches("requests per second").count();
        if results != 4 || finished.output.contains("Error") {
            return Err(format!("expected four results:\n{}", finished.tail()));
        }
    }
    Ok(())
}

/// Runs a client program of so many checks to its end, restarting the server when it asks for it.
fn converse(
    name: &str,
    checks: usize,
    command: &mut Command,
    server: &mut Server,
) -> Result<Tally> {
    let mut talk = Talk::start(name, command)?;
    let mut tally = Tally::default();
    let mut other = Vec::new();
    let mut line = String::new();
    while talk.read(&mut line)? {
        if line == "restart" {
            server.restart()?;
            talk.write("restarted\n")?;
        } else if let Some(failure) = line.strip_prefix("not ok ") {
            let (check, reason) = failure.split_once(": ").unwrap_or((failure, ""));
            tally.fail(format!("{name}: {check}"), reason);
        } else if line.starts_with("ok ") {
            tally.pass();
        } else {
            other.push(line.clone());
        }
    }
    let seen = tally.passed + tally.failures.len();
    if !talk.ended_well() {
        tally.fail(format!("{name}: the program failed"), other.join("\n"));
    } else if seen != checks {
        let counted = format!("{name}: {seen} checks ran, the program has {checks}");
        tally.fail(counted, other.join("\n"));
    }
    Ok(tally)
}

/// A running client program and both ends of its pipe. A watchdog ends it after the limit.
struct Talk {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _registered: children::Registered,
}

impl Talk {
    fn start(name: &str, command: &mut Command) -> Result<Talk> {
        paths::create(&paths::logs())?;
        let log = paths::logs().join(format!("client-{name}.log"));
        let failed = |why: std::io::Error| format!("cannot run {name}: {why}");
        let errors = std::fs::File::create(log).map_err(failed)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or(format!("{name} has no pipes"))?;
        let registered = children::register(child.id());
        children::terminate_after(child.id(), LIMIT);
        Ok(Talk { child, input, output: BufReader::new(output), _registered: registered })
    }

    /// Reads one line; false at the end.
    fn read(&mut self, line: &mut String) -> Result<bool> {
        line.clear();
        let read = self.output.read_line(line).map_err(|why| format!("no line: {why}"))?;
        line.truncate(line.trim_end().len());
        Ok(read > 0)
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let written = self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush());
        written.map_err(|why| format!("the program does not listen: {why}"))
    }

    fn ended_well(&mut self) -> bool {
        self.child.wait().is_ok_and(|status| status.success())
    }
}
