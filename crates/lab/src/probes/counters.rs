//! System calls and hardware counters of a process over a short window, by `perf` or `strace`.
//!
//! Both slow the process down, strace by a multiple, so this is never done in a window that is
//! timed. A counter that the machine does not have is absent, and reports say so.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Event of perf, and the name in results.
const EVENTS: [(&str, &str); 7] = [
    ("raw_syscalls:sys_enter", "calls"),
    ("instructions", "instructions"),
    ("cycles", "cycles"),
    ("L1-dcache-loads", "l1d_loads"),
    ("L1-dcache-load-misses", "l1d_misses"),
    ("L1-icache-load-misses", "l1i_misses"),
    ("LLC-load-misses", "llc_misses"),
];

/// Counts by name; what the machine does not have is not in it.
pub type Counts = BTreeMap<String, f64>;

/// Counts for `window`. Empty if neither program is installed or neither is allowed.
pub fn count(pid: u32, window: Duration) -> Counts {
    let counts = by_perf(pid, window);
    if counts.contains_key("calls") { counts } else { by_strace(pid, window).unwrap_or(counts) }
}

fn by_perf(pid: u32, window: Duration) -> Counts {
    let events = EVENTS.map(|(event, _)| event).join(",");
    let done = Command::new("perf")
        .args(["stat", "-x", ";", "-e", &events, "-p", &pid.to_string(), "--", "sleep"])
        .arg(window.as_secs_f64().to_string())
        .stdin(Stdio::null())
        .output();
    let Ok(done) = done else { return Counts::new() };
    perf_counts(&String::from_utf8_lossy(&done.stderr))
}

/// `1234;;instructions;...` a line; `<not supported>` where the machine has no such counter.
fn perf_counts(text: &str) -> Counts {
    let mut counts = Counts::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let (Some(count), Some(event)) = (fields.first(), fields.get(2)) else { continue };
        let name = EVENTS.iter().find(|(known, _)| event.starts_with(known));
        if let (Some((_, name)), Ok(count)) = (name, count.parse::<f64>()) {
            counts.insert((*name).into(), count);
        }
    }
    counts
}

fn by_strace(pid: u32, window: Duration) -> Option<Counts> {
    let file = std::env::temp_dir().join(format!("dolium-lab-strace-{pid}"));
    let done = Command::new("timeout")
        .args(["--signal=INT", &window.as_secs_f64().to_string(), "strace", "-f", "-c", "-o"])
        .arg(&file)
        .args(["-p", &pid.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let text = std::fs::read_to_string(&file);
    // The file is in the temporary directory and tells nothing to anybody else.
    let _ = std::fs::remove_file(&file);
    done.ok()?;
    let text = text.ok()?;
    let total = text.lines().find(|line| line.trim_end().ends_with("total"))?;
    let calls = total.split_ascii_whitespace().nth(3)?.parse().ok()?;
    Some(Counts::from([("calls".to_string(), calls)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_counters_are_absent() {
        let text = "1234;;raw_syscalls:sys_enter;1;100.00;;\n\
                    <not supported>;;cycles;0;100.00;;\n";
        let counts = perf_counts(text);
        assert_eq!(counts.get("calls"), Some(&1234.0));
        assert_eq!(counts.len(), 1);
    }
}
