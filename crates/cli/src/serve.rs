//! `dolium serve`: starts the server, says how to reach it, waits for its end.

use crate::heap::HEAP;
use crate::output::fail;
use crate::supervisor::Supervisor;
use crate::tour;
use clap::Args;
use dolium_server::listener::{Address, Door};
use dolium_server::signals::{self, Caught};
use dolium_server::{Running, read_config};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

const HOW_DIRECTIVES_ARE_WRITTEN: &str = "\
Directives are those of redis.conf, and some of Dolium's own:
  dolium serve --port 7000 --maxmemory 1gb --bind 127.0.0.1 ::1
  dolium serve dolium.conf               a file, a directive a line: port 7000
  dolium serve dolium.conf --port 7000   the command line counts after the file
docs/configuration.md lists them all; CONFIG GET * shows a server's.";

#[derive(Args, Default)]
#[command(after_help = HOW_DIRECTIVES_ARE_WRITTEN)]
pub struct Arguments {
    /// A configuration file in redis.conf's syntax, then any directive: --port 7000 --maxmemory 1gb
    #[arg(
        value_name = "dolium.conf | --directive value",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

/// Does a word begin a directive, as opposed to an option of the program itself?
pub fn is_directive(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"--")
        && !matches!(word.as_bytes(), b"--" | b"--help" | b"--version")
}

/// Is a first word a configuration file, as redis-server takes it?
pub fn is_file(word: &OsStr) -> bool {
    word.as_bytes().ends_with(b".conf") && !word.as_bytes().starts_with(b"-")
}

/// The configuration file, which may have any name, and the directives, which are text.
fn file_and_directives(words: &[OsString]) -> Result<(Option<PathBuf>, Vec<String>), String> {
    let (file, directives) = match words.split_first() {
        Some((first, rest)) if !first.as_bytes().starts_with(b"-") => {
            (Some(PathBuf::from(first)), rest)
        }
        _ => (None, words),
    };
    let text = |word: &OsString| {
        let text = word.to_str().map(String::from);
        text.ok_or_else(|| format!("{word:?} is not UTF-8, which directives and their values are"))
    };
    Ok((file, directives.iter().map(text).collect::<Result<_, _>>()?))
}

pub fn run(arguments: &Arguments) -> ExitCode {
    tour::end_with_it();
    let (file, directives) = match file_and_directives(&arguments.words) {
        Ok(both) => both,
        Err(text) => return fail(&text),
    };
    let caught = match signals::catch_ends() {
        Ok(caught) => caught,
        Err(error) => return fail(&format!("signals cannot be watched: {error}")),
    };
    let started = read_config(file.as_deref(), &directives)
        .map(|config| config.on_heap(&HEAP))
        .map_err(dolium_server::StartFailure::from)
        .and_then(Running::start);
    let mut running = match started {
        Ok(running) => running,
        Err(failure) => return fail(&failure.to_string()),
    };
    stop_on_signals(caught, &running);
    let supervisor = Supervisor::of(&running.server.config);
    // First: standard output may be a pipe that nobody reads for now.
    supervisor.tell("READY=1");
    say_ready(&running);
    running.wait();
    supervisor.tell("STOPPING=1");
    ExitCode::SUCCESS
}

fn stop_on_signals(caught: Caught, running: &Running) {
    let server = running.server.clone();
    caught.heed(move |signal| match signal {
        "SIGHUP" => dolium_server::logging::reopen(),
        _ => {
            tracing::info!(signal, "stopping");
            server.stop();
        }
    });
}

/// A few lines: what is open, and one command to try for each door. Who reads them may have gone
/// away, which is no reason not to serve.
fn say_ready(running: &Running) {
    let mut out = std::io::stdout().lock();
    let _ = write_ready(running, &mut out).and_then(|()| out.flush());
    let logs_elsewhere = !running.server.config.get("logfile").is_empty();
    if logs_elsewhere {
        let plain = running.doors.iter().map(|(_, at)| at.to_string());
        let secured = running.secured.iter().map(Address::to_string);
        let attach = running.attach.iter().map(|path| path.display().to_string());
        let doors: Vec<String> = plain.chain(secured).chain(attach).collect();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            threads = running.server.posts.len(),
            doors = doors.join(" "),
            "ready"
        );
    }
}

fn write_ready(running: &Running, out: &mut impl Write) -> std::io::Result<()> {
    let threads = running.server.posts.len();
    let plural = if threads == 1 { "thread" } else { "threads" };
    writeln!(out, "dolium {} is ready, {threads} {plural}", env!("CARGO_PKG_VERSION"))?;
    for (door, name, example) in [
        (Door::Redis, "Redis", "redis-cli -h HOST -p PORT set greeting hello"),
        (Door::Memcached, "Memcached", r"printf 'get greeting\r\n' | nc -q1 HOST PORT"),
        (Door::Http, "HTTP", "curl http://HOST:PORT/keys/greeting"),
    ] {
        if let Some(address) = running.tcp(door) {
            writeln!(out, "  {name:<10} {}", at(example, address))?;
        }
    }
    for address in &running.secured {
        if let Address::Tcp(address) = address {
            let example = "redis-cli --tls --insecure -h HOST -p PORT get greeting";
            writeln!(out, "  {:<10} {}", "TLS", at(example, *address))?;
            break;
        }
    }
    if let Some(path) = &running.attach {
        let is_usual = *path == dolium_attach::default_path();
        let place = match is_usual {
            true => String::new(),
            false => format!(" --attach-socket {}", path.display()),
        };
        writeln!(out, "  {:<10} dolium get greeting{place}", "attached")?;
    }
    for (_, address) in &running.doors {
        if let Address::Unix(path) = address {
            writeln!(out, "  {:<10} redis-cli -s {} get greeting", "Unix", path.display())?;
        }
    }
    Ok(())
}

/// The command, for a client on this machine: one cannot connect to "any address".
fn at(example: &str, address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let host = match host {
        IpAddr::V6(ip) if example.contains("//HOST") => format!("[{ip}]"),
        ip => ip.to_string(),
    };
    example.replace("HOST", &host).replace("PORT", &address.port().to_string())
}
