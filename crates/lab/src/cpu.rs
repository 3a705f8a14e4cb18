//! Cores and CPU time: pins threads, and reads how long a process has run.
//!
//! `/proc/PID/task/TID/schedstat` holds `run-ns wait-ns slices`. Run time there includes the work
//! that the kernel does for a thread in its own context, which on loopback is the whole TCP path.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::process::Pid;
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

/// The processors that are one core with this one, itself among them.
pub fn siblings(core: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    fs::read_to_string(path).map_or_else(|_| vec![core], |list| cores_of(&list))
}

/// Those of a list as the kernel writes it: `0-2,5`.
fn cores_of(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let ends = first.parse::<usize>().ok().zip(last.parse::<usize>().ok());
        ends.map_or(0..0, |(first, last)| first..last + 1)
    };
    list.trim().split(',').flat_map(range).collect()
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

/// Run time of the kernel's ksoftirqd threads of the cores that the process `pid` may use and none of
/// `others` are, in nanoseconds; none where there is no such thread to be seen. When a core has much to
/// deliver, what a server has sent is delivered there, and is in no account of the server's.
pub fn softirqd_run_ns(pid: u32, others: &[usize]) -> Option<u64> {
    static THREADS: OnceLock<Vec<(usize, PathBuf)>> = OnceLock::new();
    let threads = THREADS.get_or_init(softirqd_threads);
    let cores = sched_getaffinity(Pid::from_raw(pid.cast_signed())).ok()?;
    let is_its = |core: usize| cores.is_set(core) && !others.contains(&core);
    let its = threads.iter().filter(|(core, _)| is_its(*core));
    let times: Option<Vec<u64>> =
        its.map(|(_, account)| read_run_ns(&account.to_string_lossy())).collect();
    times.filter(|times| !times.is_empty()).map(|times| times.iter().sum())
}

/// The core of each, and its account.
fn softirqd_threads() -> Vec<(usize, PathBuf)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let one = |entry: fs::DirEntry| {
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let core = name.trim().strip_prefix("ksoftirqd/")?.parse().ok()?;
        Some((core, entry.path().join("schedstat")))
    };
    entries.filter_map(one).collect()
}

/// Run time of one thread of this process, in nanoseconds; 0 of one that has ended.
pub fn thread_run_ns(tid: i32) -> u64 {
    /// What the kernel calls `CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED` in the clock of a thread.
    const OF_THREAD: i32 = 0b110;
    // The clock of number 0 is the caller's.
    if tid <= 0 {
        return 0;
    }
    // Exact; of a thread that never sleeps the account in /proc is as old as the last tick.
    if let Ok(now) = nix::time::ClockId::from_raw(!tid << 3 | OF_THREAD).now() {
        let (seconds, ns) = (now.tv_sec().cast_unsigned(), now.tv_nsec().cast_unsigned());
        return seconds * 1_000_000_000 + ns;
    }
    read_run_ns(&format!("/proc/self/task/{tid}/schedstat")).unwrap_or(0)
}

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn read_run_ns(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_its_own_sibling_and_lists_of_them_are_read() {
        for core in allowed() {
            assert!(siblings(core).contains(&core));
        }
        assert_eq!(cores_of("0\n"), [0]);
        assert_eq!(cores_of("0-2,5"), [0, 1, 2, 5]);
        assert!(cores_of("").is_empty());
    }

    #[test]
    fn a_thread_that_runs_is_accounted_for_to_the_moment() {
        let before = thread_run_ns(thread_id());
        let own = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
        let ns = || {
            let now = own.now().expect("a thread has a clock");
            now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
        };
        let begun = ns();
        // Less than a tick, so that an account that is kept by ticks would mostly see nothing of it.
        while ns() - begun < 500_000 {}
        let seen = thread_run_ns(thread_id()) - before;
        assert!(seen >= 500_000, "{seen} ns");
        assert_eq!(thread_run_ns(i32::MAX - 1), 0, "there is no such thread");
        assert_eq!(thread_run_ns(0), 0, "nor has it a number yet");
    }

    /// Where there is none to be seen there is no figure, and no zero in its place.
    #[test]
    fn the_kernels_threads_are_those_of_the_servers_own_cores() {
        let pid = std::process::id();
        let mine = allowed();
        let seen = softirqd_threads().iter().any(|(core, _)| mine.contains(core));
        assert_eq!(softirqd_run_ns(pid, &[]).is_some(), seen);
        assert_eq!(softirqd_run_ns(pid, &mine), None);
    }
}
