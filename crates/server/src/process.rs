//! What the system says of this process: memory, processor time, descriptors, cores.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// Bytes of one field of /proc/self/status, which counts in KiB.
fn status_bytes(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next());
    kib.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024
}

pub fn resident_bytes() -> u64 {
    status_bytes("VmRSS")
}

pub fn peak_bytes() -> u64 {
    status_bytes("VmHWM")
}

/// Memory of the machine, or of the control group where that is less.
pub fn machine_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let machine = kib.map_or(u64::MAX, |kib| kib * 1024);
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").unwrap_or_default();
    group.trim().parse::<u64>().map_or(machine, |group| group.min(machine))
}

/// Processor seconds of the whole process: (user, system).
pub fn processor_seconds() -> (f64, f64) {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, which may hold blanks, ends with the last parenthesis.
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or("").split_whitespace().collect();
    let seconds = |at: usize| {
        let ticks = fields.get(at).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
        ticks / rustix::param::clock_ticks_per_second() as f64
    };
    (seconds(11), seconds(12))
}

/// Raises the limit on descriptors to what `wanted` needs; what it is now.
pub fn raise_descriptors(wanted: u64) -> u64 {
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
