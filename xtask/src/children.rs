//! The processes that a chore started. Every server and every long command registers its pid here,
//! so that a panic, a failed suite or Ctrl-C leaves nothing running behind it.
//!
//! Processes are stopped by pid only: a name would also hit what the user runs beside us.

use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

static RUNNING: LazyLock<Mutex<BTreeSet<i32>>> = LazyLock::new(Mutex::default);

/// A place in the list of running processes, given back on drop.
pub struct Registered(i32);

pub fn register(pid: u32) -> Registered {
    let pid = pid as i32;
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
    Registered(pid)
}

impl Drop for Registered {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Sends SIGTERM to one process; one that is gone already is no error.
pub fn terminate(pid: u32) {
    send(pid as i32, Signal::TERM);
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // The process may have ended by itself a moment ago: then there is nothing to do.
        let _ = kill_process(pid, signal);
    }
}

/// Ends a process that is still registered when its time is over.
pub fn terminate_after(pid: u32, limit: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if running.contains(&(pid as i32)) {
            send(pid as i32, Signal::KILL);
        }
    });
}

/// From now on a process whose parent ends before it becomes a child of this one: a server that a
/// test has made a daemon of, and forgot, would otherwise outlive everything.
pub fn adopt_orphans() {
    // Where the system cannot do it, only such servers are missed.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Kills whatever comes from this process: what it has started and adopted, and the servers of a test
/// that is killed with them, which would be nobody's a moment later.
pub fn stop_all() {
    kill(all_under(getpid().as_raw_pid()).into_iter().skip(1));
}

/// Asks a process to end, and kills it and all that came from it when it has had its time.
pub fn end_all_under(pid: u32) {
    let pids = all_under(pid as i32);
    terminate(pid);
    std::thread::sleep(Duration::from_millis(200));
    kill(pids.into_iter());
}

fn kill(pids: impl Iterator<Item = i32>) {
    for pid in pids {
        send(pid, Signal::KILL);
    }
}

/// A process and all that come from it, itself first.
pub fn all_under(pid: i32) -> Vec<i32> {
    let mut known = vec![pid];
    let mut looked_at = 0;
    while let Some(pid) = known.get(looked_at) {
        known.extend(children_of(&pid.to_string()));
        looked_at += 1;
    }
    known
}

/// The children of all threads of a process, by the kernel's list.
fn children_of(pid: &str) -> Vec<i32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|one| std::fs::read_to_string(one.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<i32>>())
        .collect()
}

/// Makes Ctrl-C, a closed terminal and SIGTERM stop the children before this process ends.
pub fn stop_all_on_signal() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            stop_all();
            std::process::exit(128 + signal);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn who_ends_takes_along_what_came_from_it() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sh -c 'sleep 600 & sleep 600 & wait'; true"]);
        let mut shell = shell.stdout(std::process::Stdio::null()).spawn().unwrap();
        while all_under(shell.id() as i32).len() < 4 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let pids = all_under(shell.id() as i32);
        end_all_under(shell.id());
        shell.wait().unwrap();
        let is_gone = |pid: &i32| match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        let since = std::time::Instant::now();
        while !pids.iter().all(is_gone) {
            assert!(since.elapsed() < Duration::from_secs(5), "one of {pids:?} is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_a_child_leaves_behind_is_known() {
        adopt_orphans();
        let mut shell = Command::new("sh");
        let said = shell.args(["-c", "sleep 600 >/dev/null 2>&1 & echo $!"]).output().unwrap();
        let left: i32 = String::from_utf8(said.stdout).unwrap().trim().parse().unwrap();
        let is_known = children_of("self").contains(&left);
        send(left, Signal::KILL);
        assert!(is_known);
    }
}
