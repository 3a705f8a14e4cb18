//! What becomes of `dolium memcached` as a process, by the options that say so: its pid file, its
//! locked memory, and options that have no effect here and must not stop its start.

mod cached;

use cached::{Cached, peer};
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
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
