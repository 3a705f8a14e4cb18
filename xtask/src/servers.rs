//! Servers under test, each in a fresh temporary folder on free ports, stopped by pid when the
//! handle is dropped (a panic drops it too).

use crate::{Result, children, commands, paths};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

const START_LIMIT: Duration = Duration::from_secs(20);
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// Below the first port that Linux gives to those who do not choose.
const PORTS: Range<u16> = 12_000..32_000;
const BUILD_LIMIT: Duration = Duration::from_secs(1500);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Dolium,
    Redis,
    Memcached,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dolium => "dolium",
            Kind::Redis => "redis-server",
            Kind::Memcached => "memcached",
        }
    }
}

/// A running server. A peer speaks one protocol and leaves the other ports 0.
pub struct Server {
    pub kind: Kind,
    pub redis_port: u16,
    pub memcached_port: u16,
    pub http_port: u16,
    folder: PathBuf,
    child: Child,
    _registered: children::Registered,
}

impl Server {
    pub fn start(kind: Kind) -> Result<Server> {
        let ports = [free_port()?, free_port()?, free_port()?];
        let folder = temporary_folder(kind, ports[0])?;
        let (child, registered) = spawn(kind, ports, &folder)?;
        let mut server = Server {
            kind,
            redis_port: if kind == Kind::Memcached { 0 } else { ports[0] },
            memcached_port: if kind == Kind::Redis { 0 } else { ports[1] },
            http_port: if kind == Kind::Dolium { ports[2] } else { 0 },
            folder,
            child,
            _registered: registered,
        };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// Stops the process and starts it again, empty, on the same ports.
    pub fn restart(&mut self) -> Result<()> {
        self.stop();
        let ports = [self.redis_port, self.memcached_port, self.http_port];
        let (child, registered) = spawn(self.kind, ports, &self.folder)?;
        self.child = child;
        self._registered = registered;
        self.wait_until_ready()
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let started = Instant::now();
        let ports = [self.redis_port, self.memcached_port, self.http_port];
        let mut waiting: Vec<u16> = ports.into_iter().filter(|&port| port != 0).collect();
        while started.elapsed() < START_LIMIT {
            waiting.retain(|&port| TcpStream::connect(("127.0.0.1", port)).is_err());
            if waiting.is_empty() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!(
                    "{} ended at its start: {status}\n{}",
                    self.kind.name(),
                    self.log()
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(format!("{} does not listen on {waiting:?}\n{}", self.kind.name(), self.log()))
    }

    /// Whether the process still runs: a crash must not look like a refused request.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What the server printed so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn stop(&mut self) {
        children::terminate(self.child.id());
        let started = Instant::now();
        while started.elapsed() < STOP_LIMIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn spawn(kind: Kind, ports: [u16; 3], folder: &Path) -> Result<(Child, children::Registered)> {
    let failed = |why: std::io::Error| format!("cannot start {}: {why}", kind.name());
    let log = File::options().create(true).append(true).open(folder.join("log")).map_err(failed)?;
    let mut command = command(kind, ports, folder)?;
    command.current_dir(folder).stdin(Stdio::null());
    let child =
        command.stdout(log.try_clone().map_err(failed)?).stderr(log).spawn().map_err(failed)?;
    let registered = children::register(child.id());
    Ok((child, registered))
}

fn command(kind: Kind, ports: [u16; 3], folder: &Path) -> Result<Command> {
    let [redis, memcached, http] = ports.map(|port| port.to_string());
    Ok(match kind {
        Kind::Dolium => {
            let mut command = Command::new(dolium()?);
            command.args(["serve", "--port", &redis, "--memcached-port", &memcached]);
            command.args(["--http-port", &http, "--threads", "2", "--maxmemory", "1gb"]);
            command.arg("--unixsocket").arg(folder.join("redis.sock"));
            command.arg("--attach-socket").arg(folder.join("attach.sock"));
            command
        }
        Kind::Redis => {
            let mut command = Command::new("redis-server");
            command.args(["--port", &redis, "--save", "", "--loglevel", "warning"]);
            command
        }
        Kind::Memcached => {
            let mut command = Command::new("memcached");
            command.args([
                "-p",
                &memcached,
                "-U",
                "0",
                "-l",
                "127.0.0.1",
                "-u",
                "nobody",
                "-m",
                "256",
            ]);
            command
        }
    })
}

/// Builds the server once a run, with the profile that tests use, and answers where it is.
pub fn dolium() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            crate::install::packages(crate::install::NATIVE)?;
            println!("building dolium (profile fast)");
            let mut build = Command::new("cargo");
            build.current_dir(paths::root());
            build.args(["build", "--locked", "--profile", "fast", "--package", "dolium-cli"]);
            commands::run("build-dolium", &mut build, BUILD_LIMIT)?.require("the build")?;
            Ok(paths::target().join("fast/dolium"))
        })
        .clone()
}

/// A port that nothing listens on now, and not one that was answered before. It lies below those
/// that the kernel gives to connections that go out: one of these can take such a port in the moment
/// before a server asks for it, and the kernel can choose one twice in a row.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(7919);
    for _ in PORTS {
        let place = begin.wrapping_add(NEXT.fetch_add(1, Relaxed)) % PORTS.len() as u32;
        let port = PORTS.start + place as u16;
        if is_free(port).is_ok() {
            return Ok(port);
        }
    }
    Err(format!("no free port in {PORTS:?}"))
}

/// Fails if anybody listens there. It does not listen itself: a program that another thread starts
/// at this very moment has the socket too until it begins, and would seem to be the server.
fn is_free(port: u16) -> rustix::io::Result<()> {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
}

fn temporary_folder(kind: Kind, port: u16) -> Result<PathBuf> {
    let name = format!("dolium-test-{}-{}-{port}", std::process::id(), kind.name());
    let folder = std::env::temp_dir().join(name);
    paths::create(&folder)?;
    Ok(folder)
}
