//! The tour's own server: a child process, taken away with everything it made.

use super::{KEYS, VALUE_BYTES};
use dolium_attach::limits::SOCKET_PATH_BYTES_MAX;
use dolium_attach::{Socket, Store};
use dolium_lab::stores::free_port;
use rustix::process::Signal;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const START_WAIT: Duration = Duration::from_secs(20);
const PIPELINE: usize = 500;
/// Tells the tour's server which process it is to end with.
const TOUR: &str = "DOLIUM_TOUR";

/// A server that a tour has started ends with it, even if the tour is killed; any other is left alone.
///
/// The signal comes when the thread that started the server ends, not its process: in the tour that is
/// the main thread, which is there until the end.
pub fn end_with_it() {
    let Some(tour) = std::env::var(TOUR).ok().and_then(|pid| pid.parse().ok()) else { return };
    // Without it the server stays when its tour is killed, and serves the tour all the same.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    // It may have been killed before that.
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_pid());
    if parent != Some(tour) {
        std::process::exit(1);
    }
}

/// A server that nobody else knows of.
pub struct Private {
    pub store: Store,
    pub redis: SocketAddr,
    pub memcached: SocketAddr,
    pub http: SocketAddr,
    belongings: Arc<Belongings>,
}

/// Refuses a folder in which no socket can be, before anything is begun there.
fn fits_sockets(folder: &Path) -> Result<(), String> {
    let len = folder.join("attach").as_os_str().len();
    if len <= SOCKET_PATH_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "the tour's sockets would be in {}, with paths of {len} bytes, of which a socket's may have \
         {SOCKET_PATH_BYTES_MAX} at most; TMPDIR names another place",
        folder.display()
    ))
}

/// What has to go when the tour ends, however it ends.
struct Belongings {
    child: Mutex<Option<Child>>,
    folder: PathBuf,
    /// Ctrl-C: the thread that caught it clears up and ends the program.
    is_interrupted: AtomicBool,
}

impl Belongings {
    fn clear(&self) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut child) = child {
            // It may have gone by itself: Ctrl-C reaches it as well.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.belongings.clear();
    }
}

impl Private {
    pub fn start() -> Result<Private, String> {
        let said = |what: &str, error: std::io::Error| format!("{what}: {error}");
        let folder = std::env::temp_dir().join(format!("dolium-tour-{}", std::process::id()));
        fits_sockets(&folder)?;
        std::fs::create_dir(&folder).map_err(|error| {
            let folder = folder.display();
            format!(
                "the tour's folder, {folder}, cannot be made: {error}; TMPDIR names another place"
            )
        })?;
        let program = std::env::current_exe().map_err(|e| said("finding this program", e))?;
        let ports = free_ports().map_err(|e| said("finding free ports", e))?;
        let mut command = Command::new(program);
        command.arg("serve");
        for (directive, port) in ["--port", "--memcached-port", "--http-port"].iter().zip(ports) {
            command.arg(directive).arg(port.port().to_string());
        }
        command.args(["--bind", "127.0.0.1", "--save", "", "--maxmemory", "256mb"]);
        command.arg("--unixsocket").arg(folder.join("redis"));
        command.arg("--attach-socket").arg(folder.join("attach"));
        command.arg("--dir").arg(&folder).env(TOUR, std::process::id().to_string());
        let log = std::fs::File::create(folder.join("log")).map_err(|e| said("a log", e))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().map_err(|e| said("starting a server", e));
        let belongings = Arc::new(Belongings {
            child: Mutex::new(None),
            folder,
            is_interrupted: AtomicBool::new(false),
        });
        *belongings.child.lock().unwrap_or_else(PoisonError::into_inner) = Some(child?);
        let theirs = belongings.clone();
        let caught =
            dolium_server::signals::catch_ends().map_err(|e| said("catching Ctrl-C", e))?;
        caught.heed(move |_| {
            theirs.is_interrupted.store(true, Relaxed);
            theirs.clear();
            // The terminal may be gone.
            let _ = writeln!(std::io::stdout());
            std::process::exit(130);
        });
        match await_attach(&belongings) {
            Ok(store) => {
                let [redis, memcached, http] = ports;
                Ok(Private { store, redis, memcached, http, belongings })
            }
            Err(text) => {
                belongings.clear();
                Err(text)
            }
        }
    }

    /// After a failure: if it is that Ctrl-C took the server away, leaves the last word to that.
    pub fn end_if_interrupted(&self) {
        // A terminal tells the server at the same moment as us.
        std::thread::sleep(Duration::from_millis(50));
        while self.belongings.is_interrupted.load(Relaxed) {
            std::thread::park();
        }
    }

    pub fn unix_path(&self) -> PathBuf {
        self.belongings.folder.join("redis")
    }

    /// The one write of the tour.
    pub fn write(&self, key: &str, value: &str) -> Result<(), String> {
        let mut socket = Socket::tcp(self.redis).map_err(|e| e.to_string())?;
        let reply = socket
            .execute(&[b"SET", key.as_bytes(), value.as_bytes()])
            .map_err(|e| e.to_string())?;
        match reply.as_error() {
            Some(text) => Err(String::from_utf8_lossy(text).into_owned()),
            None => Ok(()),
        }
    }

    /// Writes what the times are taken over, and hands the keys back in another order.
    pub fn load(&self) -> Result<Vec<String>, String> {
        let mut socket = Socket::unix(self.unix_path()).map_err(|e| e.to_string())?;
        let mut keys: Vec<String> = (0..KEYS).map(|n| format!("tour:{n:07}")).collect();
        for some in keys.chunks(PIPELINE) {
            for key in some {
                let mut value = key.repeat(VALUE_BYTES / key.len() + 1);
                value.truncate(VALUE_BYTES);
                socket.queue(&[b"SET", key.as_bytes(), value.as_bytes()]);
            }
            socket.flush().map_err(|e| e.to_string())?;
            for _ in some {
                socket.reply().map_err(|e| e.to_string())?;
            }
        }
        shuffle(&mut keys);
        Ok(keys)
    }
}

fn await_attach(belongings: &Belongings) -> Result<Store, String> {
    let path = belongings.folder.join("attach");
    let limit = Instant::now() + START_WAIT;
    loop {
        let error = match Store::attach(&path) {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        let mut child = belongings.child.lock().unwrap_or_else(PoisonError::into_inner);
        let has_ended = child.as_mut().is_none_or(|c| !matches!(c.try_wait(), Ok(None)));
        if has_ended || Instant::now() > limit {
            return Err(format!(
                "the tour's server does not start: {}",
                said_by(belongings, &error)
            ));
        }
        drop(child);
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn said_by(belongings: &Belongings, error: &dolium_attach::Error) -> String {
    let log = std::fs::read_to_string(log_path(&belongings.folder)).unwrap_or_default();
    match log.trim() {
        "" => error.to_string(),
        text => text.to_owned(),
    }
}

fn log_path(folder: &Path) -> PathBuf {
    folder.join("log")
}

/// Three ports that were free a moment ago, all different.
fn free_ports() -> std::io::Result<[SocketAddr; 3]> {
    let mut places = [SocketAddr::from(([127, 0, 0, 1], 0)); 3];
    for place in &mut places {
        place.set_port(free_port()?);
    }
    Ok(places)
}

/// Fisher and Yates' shuffle over a small generator: the order must be far from that of memory,
/// and the same in every tour.
fn shuffle(keys: &mut [String]) {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    for n in (1..keys.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        keys.swap(n, (state % (n as u64 + 1)) as usize);
    }
}
