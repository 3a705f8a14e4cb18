//! What becomes of `dolium memcached` as a process, by the options that say so: its pid file, its
//! locked memory, and options that have no effect here and must not stop its start.

mod cached;

use cached::{Cached, peer};
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long what follows the start may take on a machine that does much else.
const WAIT: Duration = Duration::from_secs(20);

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < WAIT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A line of /proc/PROCESS/status, behind its name.
fn status(process: &str, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim_start_matches(':').trim().to_string()
}

/// Without `-d`, nothing was written: who starts the server by a supervisor waited for the file.
#[test]
fn the_pid_file_is_written_in_the_foreground_too() {
    let path: PathBuf = std::env::temp_dir().join(format!("dolium-pid-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let mut server = Cached::start(&["-P", path.to_str().unwrap()]);
    let pid = format!("{}\n", server.child.id());
    wait_for("a pid file", || std::fs::read_to_string(&path).is_ok_and(|text| text == pid));
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    server.child.wait().unwrap();
    // As by Memcached, which takes it away with -d only.
    assert!(path.exists());
    std::fs::remove_file(path).unwrap();
}

/// `ports.1` and `ports.2` were both written as `ports.lck` first, and one server's became the other's.
#[test]
fn the_file_beside_that_of_the_ports_has_its_whole_name() {
    let folder = std::env::temp_dir().join(format!("dolium-ports-{}", std::process::id()));
    // What both wrote to is in the way.
    std::fs::create_dir_all(folder.join("ports.lck")).expect("a folder");
    let ports = folder.join("ports.1");
    let mut command = Command::new(peer().unwrap_or(env!("CARGO_BIN_EXE_dolium").into()));
    if peer().is_none() {
        command.arg("memcached");
    }
    command.args(["-u", "root", "-l", "127.0.0.1", "-p", "-1"]);
    command.env("MEMCACHED_PORT_FILENAME", &ports).env("XDG_RUNTIME_DIR", &folder);
    let mut child = command.spawn().expect("the program starts");
    let begun = Instant::now();
    while !ports.exists() && begun.elapsed() < WAIT && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let said = std::fs::read_to_string(&ports);
    let _ = child.kill();
    child.wait().expect("our child");
    std::fs::remove_dir_all(folder).expect("our folder");
    assert!(said.expect("a file of ports").starts_with("TCP INET: "));
}

/// Memory was locked before the server started, whole and for all mappings to come: of an arena
/// that is mapped at its largest, the system would have made every page.
#[test]
fn memory_is_locked_as_it_is_used() {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let server = Cached::start(&["-k", "-m", "512"]);
    let process = server.child.id().to_string();
    let capabilities = u64::from_str_radix(&status("self", "CapEff"), 16).unwrap();
    // Without the right, or with one that is good for a container only, it depends on the limit, and a
    // refusal is a warning.
    let users = std::fs::read_to_string("/proc/self/uid_map").unwrap();
    if capabilities & CAP_IPC_LOCK != 0 && users.trim_end().ends_with("4294967295") {
        wait_for("locked memory", || status(&process, "VmLck") != "0 kB");
    }
    if peer().is_none() {
        let (now, _) = server.resident();
        assert!(now < 256 << 20, "{} MiB are resident with nothing in it", now >> 20);
    }
}

/// It is in the help of 1.6.18, and was called illegal.
#[test]
fn a_mark_for_firewalls_does_not_stop_the_start() {
    let mut server = Cached::start(&["-o", "sock_cookie_id=7"]);
    server.must_hold_together();
}
