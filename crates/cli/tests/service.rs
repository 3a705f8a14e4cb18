//! `dolium serve` as a service of the system: under systemd, with the file that Debian has for
//! Redis, with a log that is rotated, and after the terminal that it was started from was closed.

use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A server in a folder of its own, whose working directory is `data` in it.
struct Service {
    child: Child,
    folder: PathBuf,
}

fn new_folder() -> PathBuf {
    let name = format!("dolium-service-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(folder.join("data")).expect("a folder");
    folder.canonicalize().expect("its path")
}

impl Service {
    /// Everything has a relative path. That of the file is from where the server is started, the
    /// others are from `dir`.
    fn start(folder: PathBuf, file: &str, words: &[&str], notified: Option<&OsStr>) -> Service {
        std::fs::write(folder.join("redis.conf"), file).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        command.current_dir(&folder).stdout(Stdio::null()).env_remove("NOTIFY_SOCKET");
        command.arg("redis.conf").args(words);
        command.args(["--port", "0", "--memcached-port", "0", "--http-port", "0"]);
        command.args(["--attach-socket", "", "--pin-threads", "no", "--threads", "1"]);
        command.args(["--maxmemory", "256mb", "--unixsocket", "redis.sock", "--dir", "data"]);
        if let Some(socket) = notified {
            command.env("NOTIFY_SOCKET", socket);
        }
        let child = command.spawn().expect("the program starts");
        let service = Service { child, folder };
        service.wait_for("its socket", || UnixStream::connect(service.path("redis.sock")).is_ok());
        service
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join("data").join(name)
    }

    fn wait_for(&self, what: &str, is_there: impl Fn() -> bool) {
        let limit = Instant::now() + PATIENCE;
        while !is_there() {
            assert!(Instant::now() < limit, "the server does not come to {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn wait_for_log(&self, text: &str) {
        let is_logged = || {
            let log = std::fs::read_to_string(self.path("log"));
            log.is_ok_and(|log| log.contains(text))
        };
        self.wait_for(text, is_logged);
    }

    /// The first line of the reply.
    fn ask(&self, request: &str) -> String {
        let mut socket = UnixStream::connect(self.path("redis.sock")).expect("a connection");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        socket.write_all(format!("{request}\r\n").as_bytes()).expect("a request");
        let mut line = String::new();
        BufReader::new(socket).read_line(&mut line).expect("a reply");
        line.trim_end().into()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process");
        kill_process(pid, signal).expect("it runs");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The child is ours; errors mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn received(socket: &UnixDatagram) -> String {
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut bytes = [0; 200];
    let length = socket.recv(&mut bytes).expect("a datagram");
    String::from_utf8_lossy(&bytes[..length]).into()
}

fn output(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
    command.args(words).output().expect("the program starts")
}

/// `daemonize yes` was refused before the command line could take it back, `dir` changed nothing,
/// and systemd, which was waiting for a word, ended the server after its timeout.
#[test]
fn under_systemd_with_debians_file_it_says_when_it_is_ready_and_when_it_stops() {
    let folder = new_folder();
    let notified = folder.join("notify");
    let systemd = UnixDatagram::bind(&notified).expect("a socket");
    let file = "# of Debian\ndaemonize yes\npidfile pid\nlogfile log\ndir /var/lib/redis\n";
    let words = ["--supervised", "systemd", "--daemonize", "no"];
    let mut service = Service::start(folder, file, &words, Some(notified.as_os_str()));
    assert_eq!(received(&systemd), "READY=1");
    let pid = std::fs::read_to_string(service.path("pid")).expect("a pidfile");
    assert_eq!(pid.trim(), service.child.id().to_string());
    service.wait_for_log("ready");
    // The file was named by a path that leads nowhere from the directory of now.
    assert_eq!(service.ask("CONFIG REWRITE"), "+OK");
    let rewritten = std::fs::read_to_string(service.folder.join("redis.conf")).expect("the file");
    let dir = format!("\ndir {}\n", service.folder.join("data").display());
    assert!(rewritten.contains(&dir), "{rewritten}");
    service.signal(Signal::TERM);
    assert_eq!(received(&systemd), "STOPPING=1");
    assert!(service.child.wait().expect("an end").success());
    assert!(!service.path("pid").exists());
}

#[test]
fn an_abstract_socket_is_told_where_systemd_is_found_by_itself() {
    let name = format!("dolium-service-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("an address");
    let systemd = UnixDatagram::bind_addr(&address).expect("a socket");
    let notified = format!("@{name}");
    let notified = Some(OsStr::new(&notified));
    let _service = Service::start(new_folder(), "supervised auto\n", &[], notified);
    assert_eq!(received(&systemd), "READY=1");
}

/// SIGHUP ended the server: whoever closed the terminal had deleted the data.
#[test]
fn a_closed_terminal_does_not_end_the_server() {
    let folder = new_folder();
    let notified = folder.join("notify");
    let systemd = UnixDatagram::bind(&notified).expect("a socket");
    let file = "supervised systemd\n";
    let mut service = Service::start(folder, file, &[], Some(notified.as_os_str()));
    // Signals are watched last, after the Unix socket is there.
    assert_eq!(received(&systemd), "READY=1");
    assert_eq!(service.ask("SET greeting hello"), "+OK");
    for _ in 0..2 {
        service.signal(Signal::HUP);
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(service.ask("STRLEN greeting"), ":5");
    service.signal(Signal::TERM);
    assert!(service.child.wait().expect("an end").success());
}

/// The log went on in the file that had been renamed, and was gone when that was deleted.
#[test]
fn a_rotated_log_goes_on_in_a_new_file_with_a_signal_and_without() {
    let words = ["--supervised", "systemd"];
    let service = Service::start(new_folder(), "logfile log\n", &words, None);
    service.wait_for_log("systemd supervision requested, but NOTIFY_SOCKET not found");
    service.wait_for_log("ready");
    std::fs::rename(service.path("log"), service.path("log.1")).expect("a log");
    service.wait_for("a new log", || service.path("log").exists());
    // The first change may still go into the old file: the new one is there a moment before it is written to.
    for timeout in 7..9 {
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(service.ask(&format!("CONFIG SET timeout {timeout}")), "+OK");
    }
    service.wait_for_log("configuration changed");
    std::fs::rename(service.path("log"), service.path("log.2")).expect("a new log");
    service.signal(Signal::HUP);
    service.wait_for_log("opened anew");
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let ended = output(&["serve", "--port", "0", "--dir", "/no/such/place"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    assert!(said.contains("'dir'") && said.contains("/no/such/place"), "{said}");
}

/// `--help` behind a directive was taken for another one.
#[test]
fn help_tells_how_directives_are_written_and_where_all_are() {
    for words in [&["serve", "--help"][..], &["--port", "7000", "--help"], &["x.conf", "--help"]] {
        let told = output(words);
        let said = String::from_utf8_lossy(&told.stdout);
        assert!(told.status.success(), "{words:?}");
        assert!(said.contains("--port 7000"), "{said}");
        assert!(said.contains("docs/configuration.md"), "{said}");
    }
    let ended = output(&["--prot", "7000"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    assert!(said.contains("Is it 'port'?"), "{said}");
}

/// CONFIG SET took it, CONFIG REWRITE wrote it down, and the server did not start again.
#[test]
fn a_maxmemory_under_which_nothing_fits_is_one_to_start_with() {
    let folder = new_folder();
    std::fs::write(folder.join("redis.conf"), "logfile log\n").expect("a file");
    let start = |folder: &PathBuf| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        command.current_dir(folder).stdout(Stdio::null()).arg("redis.conf");
        command.args(["--port", "0", "--memcached-port", "0", "--http-port", "0"]);
        command.args(["--attach-socket", "", "--pin-threads", "no", "--threads", "4"]);
        command.args(["--unixsocket", "redis.sock", "--dir", "data"]);
        let child = command.spawn().expect("the program starts");
        let service = Service { child, folder: folder.clone() };
        let socket = service.path("redis.sock");
        service.wait_for("its socket", || UnixStream::connect(&socket).is_ok());
        service
    };
    let mut service = start(&folder);
    assert_eq!(service.ask("SET k v"), "+OK");
    assert_eq!(service.ask("CONFIG SET maxmemory 1"), "+OK");
    assert!(service.ask("SET k w").starts_with("-OOM "));
    assert_eq!(service.ask("GET k"), "$1");
    assert_eq!(service.ask("CONFIG REWRITE"), "+OK");
    service.signal(Signal::TERM);
    assert!(service.child.wait().expect("it ends").success());
    let file = std::fs::read_to_string(folder.join("redis.conf")).expect("the file");
    assert!(file.contains("\nmaxmemory 1\n"), "{file}");
    // The folder goes with a service.
    std::mem::forget(service);
    let service = start(&folder);
    assert!(service.ask("SET k v").starts_with("-OOM "));
    assert_eq!(service.ask("GET k"), "$-1");
    service.wait_for_log("'maxmemory' is less than a megabyte: without a unit it counts bytes");
    assert_eq!(service.ask("CONFIG SET maxmemory 256mb"), "+OK");
    assert_eq!(service.ask("SET k v"), "+OK");
}
