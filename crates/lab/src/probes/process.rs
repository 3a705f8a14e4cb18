//! One process as /proc sees it.

use std::fs;

use crate::cpu;

/// Counters of a process since it began, and its memory now.
#[derive(Clone, Copy, Default, Debug)]
pub struct Process {
    /// Nanoseconds on a core, all threads, as the scheduler counts them.
    pub run_ns: f64,
    /// Seconds in the program and in the system, as the accounting ticks count them.
    pub user_s: f64,
    pub system_s: f64,
    pub minor_faults: f64,
    pub major_faults: f64,
    /// Times it waited, and times it was made to wait.
    pub waits: f64,
    pub preemptions: f64,
    pub rss_kib: f64,
    pub swap_kib: f64,
    pub read_bytes: f64,
    pub written_bytes: f64,
}

impl Process {
    /// Reads it; `None` if the process has ended.
    pub fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in brackets and may hold anything; fields are counted from behind it.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| -> f64 {
            fields.get(number - 3).and_then(|text| text.parse().ok()).unwrap_or(0.0)
        };
        let tick = rustix::param::clock_ticks_per_second() as f64;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let of = |name: &str| number_after(&status, name);
        let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
        let (waits, preemptions) = switches(pid);
        Some(Self {
            run_ns: cpu::process_run_ns(pid).unwrap_or(0) as f64,
            user_s: field(14) / tick,
            system_s: field(15) / tick,
            minor_faults: field(10),
            major_faults: field(12),
            waits,
            preemptions,
            rss_kib: of("VmRSS:"),
            swap_kib: of("VmSwap:"),
            read_bytes: number_after(&io, "read_bytes:"),
            written_bytes: number_after(&io, "\nwrite_bytes:"),
        })
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            run_ns: self.run_ns + other.run_ns,
            user_s: self.user_s + other.user_s,
            system_s: self.system_s + other.system_s,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            waits: self.waits + other.waits,
            preemptions: self.preemptions + other.preemptions,
            rss_kib: self.rss_kib + other.rss_kib,
            swap_kib: self.swap_kib + other.swap_kib,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
        }
    }

    /// This, grown by what the counters of `later` are beyond those of `earlier`; memory is `later`'s.
    pub fn grown(&self, earlier: &Self, later: &Self) -> Self {
        Self {
            run_ns: self.run_ns + later.run_ns - earlier.run_ns,
            user_s: self.user_s + later.user_s - earlier.user_s,
            system_s: self.system_s + later.system_s - earlier.system_s,
            minor_faults: self.minor_faults + later.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults + later.major_faults - earlier.major_faults,
            waits: self.waits + later.waits - earlier.waits,
            preemptions: self.preemptions + later.preemptions - earlier.preemptions,
            rss_kib: later.rss_kib,
            swap_kib: later.swap_kib,
            read_bytes: self.read_bytes + later.read_bytes - earlier.read_bytes,
            written_bytes: self.written_bytes + later.written_bytes - earlier.written_bytes,
        }
    }

    /// Its proportional share of the memory that it maps, in KiB. Slow: once a visit at most.
    pub fn pss_kib(pid: u32) -> Option<f64> {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        Some(number_after(&rollup, "\nPss:"))
    }
}

/// Context switches of all threads; `status` of the process has only the first one's.
fn switches(pid: u32) -> (f64, f64) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return (0.0, 0.0) };
    tasks.flatten().fold((0.0, 0.0), |(waits, preemptions), task| {
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        (
            waits + number_after(&status, "\nvoluntary_ctxt_switches:"),
            preemptions + number_after(&status, "nonvoluntary_ctxt_switches:"),
        )
    })
}

/// The number behind `name`; 0 if it is not there.
pub(super) fn number_after(text: &str, name: &str) -> f64 {
    let rest = text.split_once(name).map_or("", |(_, rest)| rest);
    rest.split_ascii_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_uses_time() {
        let before = Process::read(std::process::id()).unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 30 {
            std::hint::black_box(begun);
        }
        let after = Process::read(std::process::id()).unwrap();
        assert!(after.rss_kib > 500.0, "{after:?}");
        assert!(after.run_ns > before.run_ns);
        assert!(Process::pss_kib(std::process::id()).unwrap() > 100.0);
        assert!(Process::read(u32::MAX).is_none());
    }
}
