//! Random and mutated requests over real sockets, for each protocol. The server must answer or hang
//! up, and it must live with all of its threads. The generator is seeded, so what is found can be
//! repeated with the seed that the failure names.
//!
//! ```text
//!   a burst of requests, then the end of ours     bytes, and then the end, are owed within a limit:
//!                                                 also where a request wants no reply or is cut off
//!   when all bursts are through                   new connections, enough to come to every thread,
//!                                                 are each answered one plain question
//! ```
//! Before all that it is tried whether the targets under `fuzz/`, which nothing else builds, compile.

mod requests;

use self::requests::{BINARY, HTTP, RESP, Random, TEXT};
use super::Against;
use crate::servers::{Kind, Server};
use crate::tally::Tally;
use crate::{Result, commands, install, paths};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// Requests per protocol and run; `DOLIUM_FUZZ_REQUESTS` overrides it for a long run.
const REQUESTS: usize = 100_000;
/// Requests on one connection before the answers are read and a new one is opened.
const BURST: usize = 50;
/// How long a connection may be without a byte or its end while one is owed. A machine with other work
/// to do may stand still for seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// And how long all of an answer may take.
const WHOLE: Duration = Duration::from_secs(60);
/// New connections afterwards. The system deals them out among the threads, two of ours and four of
/// Memcached's, by chance or by turns: that one gets none of so many does not happen.
const QUESTIONS: usize = 64;
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
const CHECK_LIMIT: Duration = Duration::from_secs(600);

/// One protocol: what it is sent, and a question whose answer begins as is known.
struct Protocol {
    name: &'static str,
    kind: Kind,
    port: fn(&Server) -> u16,
    valid: &'static [&'static [u8]],
    question: &'static [u8],
    answer: &'static [u8],
}

pub fn run(against: Against) -> Result<Tally> {
    let requests = match std::env::var("DOLIUM_FUZZ_REQUESTS") {
        Ok(text) => text.parse().ok().filter(|&requests| requests > 0).ok_or(format!(
            "DOLIUM_FUZZ_REQUESTS is a number of requests from 1 on, and not {text:?}"
        ))?,
        Err(_) => REQUESTS,
    };
    let mut tally = Tally::default();
    if against == Against::Peers {
        install::packages(install::REDIS)?;
        install::packages(install::MEMCACHED)?;
    } else {
        tally.check("the targets under fuzz/ compile", targets());
    }
    let memcached = |server: &Server| server.memcached_port;
    let mut protocols = vec![
        Protocol {
            name: "RESP",
            kind: against.redis(),
            port: |server| server.redis_port,
            valid: RESP,
            question: b"*1\r\n$4\r\nPING\r\n",
            answer: b"+PONG\r\n",
        },
        Protocol {
            name: "Memcached text",
            kind: against.memcached(),
            port: memcached,
            valid: TEXT,
            question: b"version\r\n",
            answer: b"VERSION ",
        },
        Protocol {
            name: "Memcached binary",
            kind: against.memcached(),
            port: memcached,
            valid: BINARY,
            question: b"\x80\x0a\0\0\0\0\0\0\0\0\0\0opaq\0\0\0\0\0\0\0\0",
            answer: b"\x81\x0a\0\0\0\0\0\0\0\0\0\0opaq\0\0\0\0\0\0\0\0",
        },
    ];
    if against == Against::Dolium {
        protocols.push(Protocol {
            name: "HTTP",
            kind: Kind::Dolium,
            port: |server| server.http_port,
            valid: HTTP,
            question: b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            answer: b"HTTP/1.1 200 ",
        });
    }
    for protocol in &protocols {
        let outcome = Server::start(protocol.kind)
            .and_then(|mut server| try_out(protocol, &mut server, requests));
        let outcome = outcome.map_err(|why| format!("{why} (seed {SEED:#x})"));
        tally.check(format!("{requests} {} requests", protocol.name), outcome);
    }
    Ok(tally)
}

/// Compiles what needs a nightly compiler to run, but none to be checked. libFuzzer itself, which is
/// C++, is not built: nothing is linked.
fn targets() -> Result<()> {
    let mut check = Command::new("cargo");
    check.current_dir(paths::root().join("fuzz")).args(["check", "--locked"]);
    check.env("CARGO_TARGET_DIR", paths::target().join("fuzz"));
    check.env("CUSTOM_LIBFUZZER_PATH", "/nowhere/libfuzzer.a");
    commands::run("fuzz-targets", &mut check, CHECK_LIMIT)?.require("cargo check").map(|_| ())
}

fn try_out(protocol: &Protocol, server: &mut Server, requests: usize) -> Result<()> {
    let port = (protocol.port)(server);
    let outcome = attack(port, protocol.valid, requests).and_then(|()| ask(port, protocol));
    if !server.is_alive() {
        return Err(format!(
            "the server died: {}\n{}",
            outcome.err().unwrap_or_default(),
            server.log()
        ));
    }
    outcome
}

/// Sends the requests in bursts. Each connection must come to its end, and some bytes must come back
/// on many: a server that hangs up on everything would be none.
fn attack(port: u16, valid: &[&[u8]], requests: usize) -> Result<()> {
    let mut random = Random(SEED);
    let mut answered = 0;
    let connections = requests.div_ceil(BURST);
    for number in 0..connections {
        let mut bytes = Vec::new();
        for _ in 0..BURST {
            requests::request(&mut random, valid, &mut bytes);
        }
        let heard = connect(port).and_then(|stream| converse(stream, &bytes));
        match heard.map_err(|why| format!("connection {number}: {why}"))? {
            0 => {}
            _ => answered += 1,
        }
    }
    if answered < connections / 4 {
        return Err(format!("only {answered} of {connections} connections were answered"));
    }
    Ok(())
}

fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port));
    let stream = stream.map_err(|why| format!("the server does not accept: {why}"))?;
    let limits = stream.set_read_timeout(Some(PATIENCE));
    limits.and(stream.set_write_timeout(Some(PATIENCE))).map_err(|why| why.to_string())?;
    Ok(stream)
}

/// Sends everything and ends our side; answers how many bytes came until the server's end.
fn converse(mut stream: TcpStream, bytes: &[u8]) -> Result<usize> {
    // A server may hang up in the middle of nonsense, but it may not let us wait.
    if let Err(why) = stream.write_all(bytes)
        && why.kind() == ErrorKind::WouldBlock
    {
        return Err(format!("the server has read nothing for {PATIENCE:?}"));
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut buffer = [0; 64 * 1024];
    let (mut total, since) = (0, Instant::now());
    while since.elapsed() < WHOLE {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(read) => total += read,
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) if why.kind() == ErrorKind::WouldBlock => {
                let so_far = format!("{total} bytes came before");
                return Err(format!("neither a byte nor the end for {PATIENCE:?}; {so_far}"));
            }
            // A reset is an end too: the server need not read what it has refused.
            Err(_) => return Ok(total),
        }
    }
    Err(format!("no end for {WHOLE:?}, {total} bytes"))
}

/// Asks on new connections, which are all open at once.
fn ask(port: u16, protocol: &Protocol) -> Result<()> {
    let mut open = Vec::new();
    for number in 1..=QUESTIONS {
        let lost = |why| format!("new connection {number} of {QUESTIONS} afterwards: {why}");
        let mut stream = connect(port).map_err(lost)?;
        let mut answer = vec![0; protocol.answer.len()];
        let exchanged =
            stream.write_all(protocol.question).and_then(|()| stream.read_exact(&mut answer));
        exchanged.map_err(|why| lost(why.to_string()))?;
        if answer != protocol.answer {
            return Err(lost(format!("answered {}", answer.escape_ascii())));
        }
        open.push(stream);
    }
    Ok(())
}
