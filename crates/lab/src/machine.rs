//! What a reader must know of the machine to judge a figure.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::limits::ASSUMED_L2_BYTES;

/// The machine that a run was made on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub memory_gib: f64,
    pub kernel: String,
    pub l2_bytes: usize,
    pub congestion_control: String,
    pub huge_pages: String,
    pub shared_huge_pages: String,
}

impl Machine {
    /// Reads it from /proc and /sys; what cannot be read is named unknown.
    pub fn read() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = after(&meminfo, "MemTotal:")
            .and_then(|text| text.split_ascii_whitespace().next()?.parse::<f64>().ok());
        Self {
            cpu: after(&cpuinfo, "model name")
                .map_or_else(unknown, |text| text.trim_start_matches([':', ' ']).to_string()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: kib.unwrap_or(0.0) / (1024.0 * 1024.0),
            kernel: line("/proc/sys/kernel/osrelease"),
            l2_bytes: l2_bytes(),
            congestion_control: line("/proc/sys/net/ipv4/tcp_congestion_control"),
            huge_pages: chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
            shared_huge_pages: chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
        }
    }

    /// One line for the head of a report.
    pub fn sentence(&self) -> String {
        format!(
            "{}, {} cores, {:.0} GiB, Linux {}, {} congestion control",
            self.cpu, self.cores, self.memory_gib, self.kernel, self.congestion_control
        )
    }
}

/// Bytes that programs can still take without swapping; none known is none.
pub fn free_bytes() -> f64 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = after(&meminfo, "MemAvailable:")
        .and_then(|text| text.split_ascii_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0
}

/// Size of one core's second-level cache.
pub fn l2_bytes() -> usize {
    let text = line("/sys/devices/system/cpu/cpu0/cache/index2/size");
    let kib = text.strip_suffix('K').and_then(|digits| digits.parse::<usize>().ok());
    kib.map_or(ASSUMED_L2_BYTES, |kib| kib * 1024)
}

fn after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

fn line(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| unknown(), |text| text.trim().to_string())
}

/// The word in brackets of a kernel setting such as `always [madvise] never`.
fn chosen(path: &str) -> String {
    let text = line(path);
    let word = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    word.map_or_else(unknown, |(word, _)| word.to_string())
}

fn unknown() -> String {
    "unknown".to_string()
}
