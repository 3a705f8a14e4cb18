//! The processes that a chore started. Every server and every long command registers its pid here,
//! so that a panic, a failed suite or Ctrl-C leaves nothing running behind it.
//!
//! Processes are stopped by pid only: a name would also hit what the user runs beside us.

use rustix::process::{Pid, Signal, kill_process};
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

/// Kills whatever is still registered.
pub fn stop_all() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for &pid in running.iter() {
        send(pid, Signal::KILL);
    }
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
