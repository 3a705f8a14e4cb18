//! A program with everything that it started, also what has made a process group of its own: Spark's
//! workers do.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Looks for more this often at most; each look finds a generation or nothing.
const LOOKS: usize = 64;

/// Ends the process `root`, a child of ours that was not waited for yet, and all that descends from
/// it. Each is stopped before its children are looked for: who is stopped starts no others, and
/// cannot end and leave them to somebody else.
pub fn end(root: u32) {
    let mut found = vec![root];
    let mut stopped = 0;
    for _ in 0..LOOKS {
        for &pid in &found[stopped..] {
            signal(pid, Signal::STOP);
        }
        stopped = found.len();
        let is_new = |(pid, parent): &(u32, u32)| found.contains(parent) && !found.contains(pid);
        let children: Vec<u32> = processes().filter(is_new).map(|(pid, _)| pid).collect();
        if children.is_empty() {
            break;
        }
        found.extend(children);
    }
    for &pid in &found {
        signal(pid, Signal::KILL);
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        // One that has ended by itself meanwhile needs no signal.
        let _ = kill_process(pid, signal);
    }
}

/// Every process with its parent. Not every kernel lists children; every one names the parent, in
/// the second field behind the name in brackets.
fn processes() -> impl Iterator<Item = (u32, u32)> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?;
        Some((pid, parent.parse().ok()?))
    })
}
