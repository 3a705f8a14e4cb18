//! Starts a store, waits until it accepts, and ends it by its process number.
//!
//! The child is told to die with its parent, so that even a killed lab leaves no server behind.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::namespace::Namespace;
use super::tls::{self, Certificate};
use super::{Role, Store};
use crate::LabError;
use crate::cpu;
use crate::generator::Target;
use crate::limits::{START, STORE_MIB};
use crate::workload::Operation;

/// Removed with all that is in it when the last who knows it is gone.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        // Left-over sockets in the temporary directory are untidy and nothing worse.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The directive by which a store is a cache.
const POLICY: &str = "maxmemory-policy";
/// Tells apart what several processes of one store leave in the directory.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// What all stores of a run have in common.
#[derive(Clone)]
pub struct Surroundings {
    /// A directory of this run alone, for sockets and for what the stores print.
    directory: Arc<Directory>,
    pub unix: bool,
    pub server_cores: Vec<usize>,
    pub server_threads: usize,
    /// The binary that serves Dolium: this one, or another version of it.
    pub dolium: PathBuf,
    /// This program, which serves the null servers.
    itself: PathBuf,
    /// Whether children are pinned to `server_cores`.
    pub pinned: bool,
    /// Each server in a network namespace of its own, shaped to so many gigabits if there are any.
    pub namespaces: Option<Option<f64>>,
    /// Servers listen with TLS beside their plain port, if there is a certificate.
    certificate: Option<Arc<Certificate>>,
}

impl Surroundings {
    /// Makes the directory.
    pub fn new(
        unix: bool,
        server_threads: usize,
        dolium: Option<PathBuf>,
    ) -> Result<Self, LabError> {
        let directory = std::env::temp_dir().join(format!("dolium-lab-{}", std::process::id()));
        fs::create_dir_all(&directory).map_err(|error| {
            LabError::system(format!("make the directory {}", directory.display()), error)
        })?;
        let itself = std::env::current_exe()
            .map_err(|error| LabError::system("find this program's own file", error))?;
        let dolium = dolium.unwrap_or_else(|| itself.clone());
        let server_cores = cores_for(server_threads);
        let directory = Arc::new(Directory(directory));
        let (pinned, namespaces, certificate) = (true, None, None);
        Ok(Self {
            directory,
            unix,
            server_cores,
            server_threads,
            dolium,
            itself,
            pinned,
            namespaces,
            certificate,
        })
    }

    /// The same run with other threads, on cores of their own or not.
    pub fn with(&self, unix: bool, server_threads: usize, pinned: bool) -> Self {
        let server_cores = cores_for(server_threads);
        Self { unix, server_threads, pinned, server_cores, ..self.clone() }
    }

    /// From now on stores listen with TLS, too.
    pub fn with_tls(mut self) -> Result<Self, LabError> {
        if self.certificate.is_none() {
            self.certificate = Some(Arc::new(Certificate::make(self.directory())?));
        }
        Ok(self)
    }

    /// Where this run's stores keep their files.
    pub fn directory(&self) -> &Path {
        &self.directory.0
    }

    /// Cores that the servers leave to the generator; all of them if nothing is left.
    pub fn client_cores(&self) -> Vec<usize> {
        let all = cpu::allowed();
        let rest: Vec<usize> =
            all.iter().copied().filter(|core| !self.server_cores.contains(core)).collect();
        if rest.is_empty() { all } else { rest }
    }
}

/// One core a thread, as far as there are cores.
fn cores_for(threads: usize) -> Vec<usize> {
    cpu::allowed().into_iter().take(threads).collect()
}

/// A store that runs and listens. Dropping it ends it, unless somebody else started it.
pub struct Running {
    child: Option<Child>,
    /// What was started, to be repeated by hand.
    pub command: String,
    pub role: Role,
    pub target: Target,
    /// Its TLS listener, if it has one.
    secured: Option<Target>,
    pub version: String,
    /// Its snapshots and logs: at full scale they are gigabytes, and the disk holds those of one
    /// store. Gone after the child.
    _home: Option<Directory>,
    /// Where it runs, if not where everything does; gone after the child.
    _namespace: Option<Namespace>,
}

impl Running {
    /// Starts the store of `role` and waits until it accepts connections.
    pub fn start(role: Role, around: &Surroundings) -> Result<Self, LabError> {
        if let Store::External { address, .. } = role.store {
            let running = Self {
                child: None,
                command: format!("started by somebody else at {address}"),
                role,
                target: Target::Tcp(address),
                secured: None,
                version: "version unknown".into(),
                _home: None,
                _namespace: None,
            };
            return running.target.connect().map(|_| running);
        }
        let operation = if role.operation == Operation::Set { "set" } else { "get" };
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{operation}-{number}", role.store.name());
        let home = around.directory().join(&name);
        fs::create_dir_all(&home)
            .map_err(|error| LabError::system("make a store's directory", error))?;
        let _home = Some(Directory(home.clone()));
        let port = free_port()?;
        let unix_path = around.directory().join(format!("{name}.sock"));
        let namespace = match around.namespaces {
            Some(gigabits) if !around.unix => Some(Namespace::new(gigabits)?),
            _ => None,
        };
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let address = namespace.as_ref().map_or(loopback, Namespace::address);
        let target = if around.unix {
            Target::Unix(unix_path.clone())
        } else {
            Target::Tcp(SocketAddr::new(address, port))
        };
        let secured = match &around.certificate {
            Some(certificate) if !around.unix && !role.store.is_null() => {
                Some((certificate.clone(), SocketAddr::new(address, free_port()?)))
            }
            _ => None,
        };
        let tls = secured.as_ref().map(|(certificate, at)| (&**certificate, at.port()));
        let mut command = command(&role, around, (address, port), tls, &unix_path, operation)?;
        let secured = secured.map(|(certificate, at)| certificate.target(at));
        let said = words(&command);
        if let Some(namespace) = &namespace {
            command = namespace.inside(&command);
        }
        let version = version(role.store, around)?;
        let log = around.directory().join(format!("{name}.log"));
        let output =
            File::create(&log).map_err(|error| LabError::system("keep a store's log", error))?;
        let errors =
            output.try_clone().map_err(|error| LabError::system("keep a store's log", error))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors).current_dir(&home);
        // Ctrl-C is the lab's to handle: the terminal sends it to the whole group.
        command.process_group(0);
        let cores = if around.pinned { around.server_cores.clone() } else { Vec::new() };
        // SAFETY: the closure runs in the child between fork and exec and makes only the two
        // system calls that it names; it takes no lock, and the text of an error is made only
        // when the child is about to end anyway.
        unsafe {
            command.pre_exec(move || {
                let signal = Some(rustix::process::Signal::KILL);
                rustix::process::set_parent_process_death_signal(signal)?;
                cpu::pin(&cores).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
            });
        }
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LabError::Missing {
                program: command.get_program().display().to_string(),
                how: role.store.install().unwrap_or("install it").into(),
            },
            _ => LabError::system(format!("start {}", role.store.name()), error),
        })?;
        let (child, _namespace) = (Some(child), namespace);
        let mut running =
            Self { child, command: said, role, target, secured, version, _home, _namespace };
        running.await_ready(&log)?;
        Ok(running)
    }

    /// Where it is asked, with TLS or without. What has no TLS listener is a server that parses
    /// nothing, which is the floor of both.
    pub fn door(&self, tls: bool) -> &Target {
        self.secured.as_ref().filter(|_| tls).unwrap_or(&self.target)
    }

    /// The process whose CPU time is the store's; none if somebody else started it.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    fn await_ready(&mut self, log: &Path) -> Result<(), LabError> {
        const STEP: Duration = Duration::from_millis(10);
        let begun = Instant::now();
        while self.target.connect().is_err() || self.door(true).connect().is_err() {
            let ended =
                self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))));
            if ended || begun.elapsed() > START {
                let said = fs::read_to_string(log).unwrap_or_default();
                let said = said.trim();
                return Err(LabError::NotReady {
                    store: self.role.store.name().into(),
                    waited: begun.elapsed(),
                    said: if said.is_empty() { "nothing".into() } else { said.to_string() },
                });
            }
            thread::sleep(STEP);
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It keeps nothing that is worth a graceful end; an error means that it has ended.
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A command as a person would type it.
fn words(command: &Command) -> String {
    let quoted = |word: &std::ffi::OsStr| {
        let word = word.to_string_lossy();
        if word.is_empty() || word.contains(' ') { format!("'{word}'") } else { word.into_owned() }
    };
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.map(quoted).collect::<Vec<_>>().join(" ")
}

fn command(
    role: &Role,
    around: &Surroundings,
    place: (IpAddr, u16),
    tls: Option<(&Certificate, u16)>,
    unix: &Path,
    operation: &str,
) -> Result<Command, LabError> {
    let (address, port_text) = (place.0.to_string(), place.1.to_string());
    let threads = around.server_threads.to_string();
    let plain = SocketAddr::new(place.0, place.1);
    let mut command = match role.store {
        Store::External { .. } => {
            return Err(LabError::Options("a store elsewhere is not started here".into()));
        }
        Store::Redis | Store::Valkey => {
            let mut command = Command::new(program(role.store, around));
            command.args(["--save", "", "--appendonly", "no", "--bind", &address]);
            command.args(["--port", &port_text, "--protected-mode", "no"]);
            if around.server_threads > 1 {
                command.args(["--io-threads", &threads]);
            }
            command
        }
        Store::Memcached => {
            let mut command = Command::new("memcached");
            memcached_options(&mut command, role, &threads);
            command.args(["-U", "0"]);
            match tls {
                Some((certificate, port)) => certificate.tell_memcached(&mut command, plain, port),
                None if around.unix => {
                    command.arg("-s").arg(unix);
                }
                None => {
                    command.args(["-l", &address, "-p", &port_text]);
                }
            }
            command
        }
        // Beside Memcached at a limit, as whoever swaps the binaries starts it; and over TLS,
        // because Redis' directives have no TLS port where `set` means Memcached's.
        Store::DoliumMemcached if (limit(role).is_some() || tls.is_some()) && !around.unix => {
            let mut command = Command::new(&around.dolium);
            command.arg("memcached");
            memcached_options(&mut command, role, &threads);
            command.args(["-U", "0"]);
            match tls {
                Some((certificate, port)) => certificate.tell_memcached(&mut command, plain, port),
                None => {
                    command.args(["-l", "127.0.0.1", "-p", &port_text]);
                }
            }
            return Ok(command);
        }
        Store::Dolium | Store::DoliumMemcached => {
            let other = free_port()?.to_string();
            let (redis, memcached) = match role.store {
                Store::Dolium => (port_text, other),
                _ => (other, port_text),
            };
            let mut command = Command::new(&around.dolium);
            command.args(["serve", "--port", &redis, "--memcached-port", &memcached]);
            command.args(["--threads", &threads, "--http-port", "0"]);
            // In Memcached's place its threads are where the system puts them, as Memcached's are.
            if role.store == Store::DoliumMemcached || !around.pinned {
                command.args(["--pin-threads", "no"]);
            }
            if !place.0.is_loopback() {
                // Nobody else reaches the addresses of a namespace.
                command.args(["--bind", &address, "--protected-mode", "no"]);
            }
            // A store of the lab must not take the place where the user's own one is attached.
            let usual = format!("{STORE_MIB}mb");
            for (name, value) in [("maxmemory", usual.as_str()), ("attach-socket", "")] {
                if !role.settings.iter().any(|(known, _)| known == name) {
                    command.arg(format!("--{name}")).arg(value);
                }
            }
            command
        }
        Store::Null | Store::NullUring => {
            let (key, value) = (role.key_bytes.to_string(), role.value_bytes.to_string());
            let mut command = Command::new(&around.itself);
            command.args(["lab", "null", "--op", operation, "--key", &key, "--value", &value]);
            if role.store == Store::NullUring {
                command.arg("--io-uring");
            }
            if let Some((_, ns)) = role.settings.iter().find(|(name, _)| name == "busy-ns") {
                command.args(["--busy-ns", ns]);
            }
            if around.unix {
                command.arg("--unix").arg(unix);
            } else {
                command.args(["--port", &port_text, "--bind", &address]);
            }
            command
        }
    };
    let redis_language =
        matches!(role.store, Store::Redis | Store::Valkey | Store::Dolium | Store::DoliumMemcached);
    if around.unix && redis_language {
        command.arg("--unixsocket").arg(unix);
    }
    if redis_language {
        if let Some((certificate, port)) = tls {
            certificate.tell_redis(&mut command, port);
        }
        for (name, value) in &role.settings {
            command.arg(format!("--{name}")).arg(value);
        }
    }
    Ok(command)
}

/// The memory that a store is told to keep to.
fn limit(role: &Role) -> Option<u64> {
    let limit = role.settings.iter().find(|(name, _)| name == "maxmemory")?;
    limit.1.parse().ok()
}

/// What is said to Memcached, and to Dolium in its place.
fn memcached_options(command: &mut Command, role: &Role, threads: &str) {
    command.args(["-t", threads, "-c", "4096"]);
    if rustix::process::geteuid().is_root() {
        command.args(["-u", "root"]);
    }
    let mib = limit(role).map_or(STORE_MIB, |bytes| (bytes >> 20).max(1));
    command.arg("-m").arg(mib.to_string());
    // Unless it is measured as a cache, running out is an error to be seen, as it is in the others.
    if !role.settings.iter().any(|(name, value)| name == POLICY && value != "noeviction") {
        command.arg("-M");
    }
}

/// The file that is run for a store.
fn program(store: Store, around: &Surroundings) -> &Path {
    match store {
        Store::Redis => Path::new("redis-server"),
        Store::Valkey => Path::new("valkey-server"),
        Store::Memcached => Path::new("memcached"),
        Store::Dolium | Store::DoliumMemcached => &around.dolium,
        _ => &around.itself,
    }
}

/// An error if the store as it is installed has no TLS.
pub fn has_tls(store: Store, around: &Surroundings) -> Result<(), LabError> {
    tls::look(store, program(store, around))
}

/// What the store says of itself, in its first line. An error if it is not installed.
pub fn version(store: Store, around: &Surroundings) -> Result<String, LabError> {
    match store {
        Store::Null => return Ok("parses nothing, epoll".into()),
        Store::NullUring => return Ok("parses nothing, io_uring".into()),
        Store::External { .. } => return Ok("version unknown".into()),
        _ => {}
    }
    let program = program(store, around);
    let said = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let said = said.map_err(|error| match (error.kind(), store.install()) {
        (io::ErrorKind::NotFound, Some(how)) => {
            LabError::Missing { program: program.display().to_string(), how: how.into() }
        }
        _ => LabError::system(format!("run {}", program.display()), error),
    })?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let line = said.lines().next().unwrap_or_default().to_string();
    Ok(if line.is_empty() { "version unknown".into() } else { line })
}

/// A port that nobody listens at now.
fn free_port() -> Result<u16, LabError> {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| LabError::system("find a port", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(settings: &[(&str, &str)]) -> String {
        let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let role = Role {
            store: Store::Memcached,
            operation: Operation::Get,
            key_bytes: 1,
            value_bytes: 1,
            settings: settings.collect(),
        };
        let mut command = Command::new("memcached");
        memcached_options(&mut command, &role, "1");
        words(&command)
    }

    /// A bound alone makes no cache of a store: a full one refuses, as the others do.
    #[test]
    fn memcached_refuses_at_its_bound_unless_it_is_measured_as_a_cache() {
        assert!(told(&[("maxmemory", "17179869184")]).ends_with("-m 16384 -M"));
        assert!(told(&[]).ends_with("-m 8192 -M"));
        let cache = told(&[("maxmemory", "16777216"), ("maxmemory-policy", "allkeys-lru")]);
        assert!(cache.ends_with("-m 16"), "{cache}");
    }

    /// Where Redis is installed; elsewhere there is nothing to be started.
    #[test]
    fn what_a_store_wrote_is_gone_with_it() {
        let around = Surroundings::new(false, 1, None).unwrap();
        let (store, operation) = (Store::Redis, Operation::Get);
        let role = Role { store, operation, key_bytes: 1, value_bytes: 1, settings: Vec::new() };
        let Ok(running) = Running::start(role, &around) else { return };
        let homes = || {
            let entries = fs::read_dir(around.directory()).unwrap().flatten();
            entries.filter(|entry| entry.path().is_dir()).count()
        };
        assert_eq!(homes(), 1);
        drop(running);
        assert_eq!(homes(), 0);
    }
}
