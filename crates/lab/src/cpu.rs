//! Cores and CPU time: pins threads, and reads how long a process has run.
//!
//! `/proc/PID/task/TID/schedstat` holds `run-ns wait-ns slices`. Run time there includes the work
//! that the kernel does for a thread in its own context, which on loopback is the whole TCP path.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::LabError;

/// Restricts the calling thread to `cores`; an empty list leaves it free.
pub fn pin(cores: &[usize]) -> Result<(), LabError> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &core in cores {
        if core >= CpuSet::MAX_CPU {
            return Err(LabError::Options(format!("there is no core {core}")));
        }
        set.set(core);
    }
    sched_setaffinity(None, &set)
        .map_err(|error| LabError::system(format!("pin a thread to core(s) {cores:?}"), error))
}

/// The cores that the calling thread may use.
pub fn allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect(),
        Err(_) => vec![0],
    }
}

/// Run time of the process `pid`, in nanoseconds.
pub fn process_run_ns(pid: u32) -> Result<u64, LabError> {
    // Of a process that runs right now the account in /proc is as old as the last tick.
    let number = nix::unistd::Pid::from_raw(pid.cast_signed());
    if let Ok(now) = nix::time::clock_getcpuclockid(number).and_then(|clock| clock.now()) {
        let (seconds, ns) = (now.tv_sec().cast_unsigned(), now.tv_nsec().cast_unsigned());
        return Ok(seconds * 1_000_000_000 + ns);
    }
    let tasks = format!("/proc/{pid}/task");
    let entries = fs::read_dir(&tasks)
        .map_err(|error| LabError::system(format!("read the CPU time of process {pid}"), error))?;
    let mut total = 0;
    for entry in entries.flatten() {
        // A thread may end between the listing and the reading; its time is then gone.
        total += read_run_ns(&format!("{}/schedstat", entry.path().display())).unwrap_or(0);
    }
    Ok(total)
}

/// Run time of one thread of this process, in nanoseconds.
pub fn thread_run_ns(tid: i32) -> u64 {
    read_run_ns(&format!("/proc/self/task/{tid}/schedstat")).unwrap_or(0)
}

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn read_run_ns(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.split_ascii_whitespace().next()?.parse().ok()
}
