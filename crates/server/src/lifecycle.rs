//! From a configuration to a running server, and to its end.

mod engine;
mod pidfile;

use crate::attach::AttachDoor;
use crate::config::{Config, ConfigFailure, file};
use crate::doors::{open_attach, open_doors, open_secured, refuse_shared_places};
use crate::housekeeping;
use crate::limits::THREADS_MAX;
use crate::listener::{Address, Door, DoorFailure, Listener};
use crate::memcached::restart;
use crate::process;
use crate::reactor::Reactor;
use crate::server::Server;
use crate::tls::{self, Tls};
use engine::create_engine;
use pidfile::Pidfile;
use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

/// Why a server did not start.
#[derive(Debug)]
pub enum StartFailure {
    Config(ConfigFailure),
    Door(DoorFailure),
    Engine(dolium_engine::CreateError),
    Sessions,
    Tls(String),
    /// Nobody could come in.
    NoDoor,
    Io(&'static str, std::io::Error),
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartFailure::Config(failure) => failure.fmt(f),
            StartFailure::Door(failure) => failure.fmt(f),
            StartFailure::Engine(error) => {
                write!(f, "the arena could not be made: {error}")
            }
            StartFailure::Tls(sentence) => f.write_str(sentence),
            StartFailure::NoDoor => f.write_str(
                "no door is open: give it a --port, a --unixsocket or an --attach-socket",
            ),
            StartFailure::Sessions => {
                f.write_str("there is no memory for the threads: use fewer with --threads")
            }
            StartFailure::Io(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for StartFailure {}

impl From<ConfigFailure> for StartFailure {
    fn from(failure: ConfigFailure) -> Self {
        StartFailure::Config(failure)
    }
}

/// Reads the file, if one is named, and then the directives of the command line. Changes to `dir`,
/// if it is given.
pub fn read_config(path: Option<&Path>, directives: &[String]) -> Result<Config, ConfigFailure> {
    let mut lines = Vec::new();
    let mut config = Config::new();
    if let Some(path) = path {
        lines = file::read(path)?;
        config.file = Some(std::fs::canonicalize(path).unwrap_or_else(|_| path.into()));
    }
    lines.extend(file::from_arguments(directives)?);
    config.load(&lines)?;
    config.enter_dir(&lines)?;
    Ok(config)
}

/// A server whose threads run.
pub struct Running {
    pub server: Arc<Server>,
    /// What it listens on: each address once.
    pub doors: Vec<(Door, Address)>,
    /// Where TLS is spoken.
    pub secured: Vec<Address>,
    /// Where local processes attach.
    pub attach: Option<PathBuf>,
    pidfile: Option<Pidfile>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    pub fn start(mut config: Config) -> Result<Running, StartFailure> {
        crate::logging::start(&config)?;
        refuse_shared_places(&config)?;
        let cores = process::cores();
        let threads = match config.number("threads") {
            0 => cores.len().min(THREADS_MAX),
            n => n as usize,
        };
        fit_clients(&config, threads);
        let backlog = config.number("tcp-backlog") as i32;
        let (mut datagrams, mut listening) = (Vec::new(), Vec::new());
        let tls = tls_settings(&config).map(Tls::new).transpose().map_err(StartFailure::Tls)?;
        let mut doors = match config.memcached.take() {
            None => Vec::new(),
            Some(mut setup) => {
                let doors = setup.open_doors(threads, backlog)?;
                listening = doors.listening();
                datagrams = doors.datagrams;
                config.memcached = Some(setup);
                doors.streams
            }
        };
        doors.extend(open_doors(&config, threads)?);
        if let Some(secured) = open_secured(&config, threads)? {
            doors.extend(secured);
        }
        let attach = open_attach(&config)?;
        if doors.is_empty() && attach.is_none() && config.memcached.is_none() {
            return Err(StartFailure::NoDoor);
        }
        let engine = create_engine(&config, threads)?;
        let port = doors.iter().find_map(|listeners| match &listeners[0] {
            Listener {
                door: Door::Redis, address: Address::Tcp(address), is_tls: false, ..
            } => Some(address.port()),
            _ => None,
        });
        if let Some(port) = port {
            config.store("port", port.to_string());
        }
        let pins = config.is_on("pin-threads");
        let server = Server::new(engine, config, threads, port.unwrap_or(0), tls)
            .map_err(|e| StartFailure::Io("the server's own descriptors", e))?;
        let server = Arc::new(server);
        *server.memcached.listening.lock().unwrap_or_else(PoisonError::into_inner) = listening;
        server.watch_departures();
        server.follow_summons();
        server.restore_items()?;
        let (secured, plain): (Vec<_>, Vec<_>) =
            doors.iter().map(|listeners| &listeners[0]).partition(|listener| listener.is_tls);
        let names = plain.iter().map(|l| (l.door, l.address.clone())).collect();
        let secured = secured.iter().map(|l| l.address.clone()).collect();
        let path = attach.as_ref().map(|door| door.path().to_path_buf());
        let mut running = Running {
            server,
            doors: names,
            secured,
            attach: path,
            pidfile: None,
            threads: Vec::new(),
        };
        let started = running.start_threads(doors, datagrams, attach, pins.then_some(cores));
        if let Err(failure) = started {
            running.server.stop();
            running.wait();
            return Err(failure);
        }
        let counts = &running.server.memcached.counts;
        counts.fixed_bytes.store(running.server.engine.fixed_bytes(), Relaxed);
        running.server.apply_config();
        running.server.warn_of_caveats(&["save", "maxmemory"]);
        running.write_pidfile();
        running.server.startup_bytes.store(process::resident_bytes(), Relaxed);
        Ok(running)
    }

    fn start_threads(
        &mut self,
        doors: Vec<Vec<Listener>>,
        mut datagrams: Vec<UdpSocket>,
        attach: Option<AttachDoor>,
        cores: Option<Vec<usize>>,
    ) -> Result<(), StartFailure> {
        let count = self.server.posts.len();
        let mut shares: Vec<Vec<Listener>> = (0..count).map(|_| Vec::new()).collect();
        for listeners in doors {
            // A Unix socket has one listener, which the first thread gets.
            for (share, listener) in shares.iter_mut().zip(listeners) {
                share.push(listener);
            }
        }
        let shared: Vec<UdpSocket> = datagrams
            .iter()
            .map(UdpSocket::try_clone)
            .collect::<Result<_, _>>()
            .map_err(|e| StartFailure::Io("a UDP socket", e))?;
        for (thread, listeners) in shares.into_iter().enumerate() {
            let session = self.server.engine.session().ok_or(StartFailure::Sessions)?;
            // The first thread has the sockets themselves, whose numbers `stats conns` looks at.
            let sockets = match thread {
                0 => Ok(std::mem::take(&mut datagrams)),
                _ => shared.iter().map(UdpSocket::try_clone).collect(),
            };
            let reactor = sockets
                .and_then(|sockets| {
                    Reactor::new(thread, self.server.clone(), session, listeners, sockets)
                })
                .map_err(|e| StartFailure::Io("an event loop", e))?;
            let core = cores.as_ref().map(|cores| cores[thread % cores.len()]);
            self.spawn(format!("dolium-{thread}"), move || {
                if let Some(core) = core {
                    process::pin_to(core);
                }
                reactor.run();
            })?;
        }
        if let Some(door) = attach {
            let server = self.server.clone();
            self.spawn("dolium-attach".into(), move || door.run(&server))?;
        }
        let session = self.server.engine.session().ok_or(StartFailure::Sessions)?;
        let server = self.server.clone();
        self.spawn("dolium-upkeep".into(), move || housekeeping::run(server, session))
    }

    fn spawn(
        &mut self,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), StartFailure> {
        let handle = std::thread::Builder::new().name(name).spawn(work);
        self.threads.push(handle.map_err(|e| StartFailure::Io("a thread", e))?);
        Ok(())
    }

    /// A server that cannot write its process id serves all the same, as Redis does.
    fn write_pidfile(&mut self) {
        let path = PathBuf::from(self.server.config.get("pidfile"));
        if path.as_os_str().is_empty() {
            return;
        }
        match Pidfile::write(&path) {
            Ok(pidfile) => self.pidfile = Some(pidfile),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the pidfile cannot be written");
            }
        }
    }

    /// Waits until all threads have ended, and takes the pidfile away. Unix sockets were taken away by
    /// the threads that listened at them, before they ceased to.
    pub fn wait(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the server ended by a panic");
            }
        }
        self.pidfile = None;
    }

    /// To be called after [`wait`](Running::wait): keeps the items in the memory file, if the end
    /// was one that keeps them. Returns how many.
    pub fn keep_items(&self) -> std::io::Result<Option<u64>> {
        let memcached = &self.server.memcached;
        let (Some(path), true) =
            (&memcached.settings.fixed.memory_file, memcached.keep.load(Relaxed))
        else {
            return Ok(None);
        };
        let session = self.server.engine.session().ok_or(std::io::ErrorKind::OutOfMemory)?;
        restart::save(&self.server, &session, Path::new(path)).map(Some)
    }

    /// The first TCP address of a door.
    pub fn tcp(&self, door: Door) -> Option<SocketAddr> {
        self.doors.iter().find_map(|(d, address)| match address {
            Address::Tcp(address) if *d == door => Some(*address),
            _ => None,
        })
    }
}

/// As many clients as there are descriptors for.
fn fit_clients(config: &Config, threads: usize) {
    let wanted = config.live.maxclients.load(Relaxed);
    let limit = process::raise_descriptors_for(wanted, threads);
    let fits = process::clients_within(limit);
    if fits < wanted {
        tracing::warn!(
            wanted,
            fits,
            "maxclients is lowered: the system allows this process {limit} descriptors (ulimit -n; \
             of a unit of systemd LimitNOFILE=)"
        );
        config.store("maxclients", fits.to_string());
    }
}

/// What TLS listeners are to be told: by Memcached's options or by directives.
fn tls_settings(config: &Config) -> Option<tls::Settings> {
    match &config.memcached {
        Some(setup) => setup.tls.clone(),
        None => (config.number("tls-port") != 0).then(|| config.tls_settings()),
    }
}
