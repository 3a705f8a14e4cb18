//! What the system says of this process: memory, processor time, descriptors, cores.

use crate::aged::Aged;
use crate::limits::{DESCRIPTORS_RESERVED, LINGER_MAX};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::path::Path;

/// Resident memory is as old as this at most where it is shown: as in Redis.
const RESIDENT_MS: u64 = 100;
/// The limits of control groups may be changed while the server runs, though seldom; Redis looks once.
const MACHINE_MS: u64 = 60_000;
/// The system counts processor time by ticks of as long.
const PROCESSOR_MS: u64 = 10;

/// What INFO tells of them, which would cost more than all of its other lines if each were looked up each time.
#[derive(Debug, Default)]
pub struct Surroundings {
    resident: Aged<u64>,
    machine: Aged<u64>,
    processor: Aged<(f64, f64)>,
    main_thread: Aged<(f64, f64)>,
}

impl Surroundings {
    pub fn resident_bytes(&self) -> u64 {
        self.resident.within(RESIDENT_MS, resident_bytes)
    }

    pub fn machine_bytes(&self) -> u64 {
        self.machine.within(MACHINE_MS, machine_bytes)
    }

    pub fn processor_seconds(&self) -> (f64, f64) {
        self.processor.within(PROCESSOR_MS, processor_seconds)
    }

    pub fn main_thread_seconds(&self) -> (f64, f64) {
        self.main_thread.within(PROCESSOR_MS, main_thread_seconds)
    }
}

/// Bytes of one field of /proc/self/status, which counts in KiB.
fn status_bytes(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next());
    kib.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024
}

pub fn resident_bytes() -> u64 {
    // The second of a few numbers; for all that `status` says the system takes several times as long.
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

pub fn peak_bytes() -> u64 {
    status_bytes("VmHWM")
}

/// Memory of the machine, or of the control groups that this process is in where that is less.
pub fn machine_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let machine = kib.map_or(u64::MAX, |kib| kib * 1024);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    machine.min(group_bytes(&groups, |file| fs::read_to_string(file).ok()))
}

/// Least limit of the control groups in `groups` (/proc/self/cgroup) and of all above them.
///
/// ```text
/// 4:memory:/service     version 1: the directory of that controller
/// 0::/service           version 2
/// ```
fn group_bytes(groups: &str, read: impl Fn(&Path) -> Option<String>) -> u64 {
    let mut least = u64::MAX;
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':');
        let (Some(number), Some(names), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (root, file) = if names.split(',').any(|name| name == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else if number == "0" {
            ("/sys/fs/cgroup", "memory.max")
        } else {
            continue;
        };
        // A container may see its own group at the root, and its path is then one from outside.
        for above in Path::new(path.trim_start_matches('/')).ancestors() {
            let limit = read(&Path::new(root).join(above).join(file));
            // Without a limit version 2 says "max", version 1 a number above every memory.
            let limit = limit.and_then(|text| text.trim().parse::<u64>().ok());
            least = limit.map_or(least, |limit| limit.min(least));
        }
    }
    least
}

/// Processor seconds of the whole process: (user, system).
pub fn processor_seconds() -> (f64, f64) {
    seconds_in("/proc/self/stat")
}

/// The same of the thread that the process began with.
fn main_thread_seconds() -> (f64, f64) {
    seconds_in(&format!("/proc/self/task/{}/stat", std::process::id()))
}

fn seconds_in(path: &str) -> (f64, f64) {
    let stat = fs::read_to_string(path).unwrap_or_default();
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    match ticks(&stat) {
        Some((user, system)) => (user as f64 / ticks_per_second, system as f64 / ticks_per_second),
        None => (0.0, 0.0),
    }
}

/// Fields 14 and 15 of a `stat` file, counted from 1: the ticks in user mode and in the system. The
/// second field is a name in parentheses, which may hold blanks and parentheses itself.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let (_, behind_name) = stat.rsplit_once(") ")?;
    let mut fields = behind_name.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Raises the limit on descriptors to what so many clients need; what it is now.
pub fn raise_descriptors_for(clients: u64, threads: usize) -> u64 {
    // Those that linger close when descriptors are short, so fewer clients are not the price.
    let lingering = (threads * LINGER_MAX) as u64;
    raise_descriptors(clients + DESCRIPTORS_RESERVED + lingering)
}

/// How many clients there can be where the limit on descriptors is this.
pub fn clients_within(limit: u64) -> u64 {
    limit.saturating_sub(DESCRIPTORS_RESERVED).max(1)
}

/// Raises the limit on descriptors to `wanted`, or as far as it goes; what it is now.
fn raise_descriptors(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let now = limit.current.unwrap_or(u64::MAX);
    if now >= wanted {
        return now;
    }
    let raised = wanted.min(hard);
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum }) {
        Ok(()) => raised,
        Err(_) => now,
    }
}

/// The cores that this process may use.
pub fn cores() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect(),
        Err(_) => vec![0],
    }
}

/// Keeps the calling thread on one core.
pub fn pin_to(core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    if let Err(error) = rustix::thread::sched_setaffinity(None, &set) {
        tracing::warn!(core, %error, "a thread could not be kept on its core");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(groups: &str, files: &[(&str, &str)]) -> u64 {
        let read = |file: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == file);
            found.map(|(_, text)| text.to_string())
        };
        group_bytes(groups, read)
    }

    #[test]
    fn ticks_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 31 12 0 0 20 0 4 0";
        assert_eq!(ticks(stat), Some((31, 12)));
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn the_main_thread_is_read_of() {
        let path = format!("/proc/self/task/{}/stat", std::process::id());
        let stat = fs::read_to_string(path).expect("the main thread of this process");
        assert!(ticks(&stat).is_some(), "{stat}");
    }

    #[test]
    fn resident_memory_is_that_of_the_process() {
        let (resident, peak) = (resident_bytes(), peak_bytes());
        assert!(0 < resident && resident <= peak.max(1 << 20) * 2, "{resident}, at most {peak}");
    }

    #[test]
    fn the_least_limit_of_all_groups_above_counts() {
        let second = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "5000\n"),
            ("/sys/fs/cgroup/memory.max", "9000\n"),
        ];
        assert_eq!(of("0::/a/b\n", &second), 5000);
        assert_eq!(of("0::/\n", &second), 9000);
        // A path from outside of a container, whose own group is the root.
        assert_eq!(of("0::/docker/1234\n", &second), 9000);
        let first = [
            ("/sys/fs/cgroup/memory/s/memory.limit_in_bytes", "7000\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(of("9:name=systemd:/\n5:cpu,memory:/s\n0::/\n", &first), 7000);
        assert_eq!(of("5:cpu:/s\n", &first), u64::MAX);
        assert_eq!(of("", &[]), u64::MAX);
    }
}
