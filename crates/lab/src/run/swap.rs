//! Less memory than data: the store's process in a cgroup of limited memory, and a temporary swap
//! file. Everything is put back when the limit is dropped, Ctrl-C included.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::program::Program;
use crate::stores::guard::Guard;
use crate::{LabError, output};

/// Where the two versions of cgroups are found.
const V1: &str = "/sys/fs/cgroup/memory";
const V2: &str = "/sys/fs/cgroup";
/// Where the swap file is laid; a file system in memory would defeat its purpose.
const SWAP_DIRECTORY: &str = "/var/tmp";

const V2_FILE: &str = "memory.max";
/// Making a swap file takes no longer than this.
const MAKING: Duration = Duration::from_secs(600);
/// How often the group's statistics are read.
const COUNTING: Duration = Duration::from_millis(100);
const SWAPOFF_TRIES: usize = 20;
const SWAPOFF_PAUSE: Duration = Duration::from_millis(250);
/// Tells apart the limits of one run.
static LIMITS: AtomicU32 = AtomicU32::new(0);

/// A limit that holds as long as it is held.
pub struct Limit {
    group: PathBuf,
    file: &'static str,
    root: PathBuf,
    swap: PathBuf,
    pub bytes: f64,
    _counting: Counting,
    /// Does what `drop` does when this program cannot.
    _guard: Guard,
}

impl Limit {
    /// Limits the memory of `pids` to `bytes`, with a swap file that holds `data` bytes.
    pub fn new(pids: &[u32], bytes: f64, data: f64) -> Result<Self, LabError> {
        let (root, file) = if Path::new(V1).join("memory.limit_in_bytes").exists() {
            (PathBuf::from(V1), "memory.limit_in_bytes")
        } else {
            (PathBuf::from(V2), V2_FILE)
        };
        let number = LIMITS.fetch_add(1, Ordering::Relaxed);
        let name = format!("dolium-lab-{}-{number}", std::process::id());
        let group = root.join(&name);
        let swap = Path::new(SWAP_DIRECTORY).join(format!("{name}.swap"));
        let guard = Guard::new(&undo(&group, file, &root, &swap))?;
        fs::create_dir_all(&group)
            .map_err(|error| LabError::system("make a cgroup (are you root?)", error))?;
        // From here on dropping puts everything back.
        let counting = Counting::of(group.join("memory.stat"));
        let limit = Self { group, file, root, swap, bytes, _counting: counting, _guard: guard };
        let write = |file: &str, text: String| {
            let doing = format!("limit memory by {}", limit.group.join(file).display());
            fs::write(limit.group.join(file), text).map_err(|error| LabError::system(doing, error))
        };
        limit.make_swap(data)?;
        write(file, format!("{bytes:.0}"))?;
        for pid in pids {
            write("cgroup.procs", pid.to_string())?;
        }
        Ok(limit)
    }

    /// Whether the kernel ended a process of the group because it found no page to swap out in time.
    pub fn has_killed(&self) -> bool {
        let report = if self.file == V2_FILE { "memory.events" } else { "memory.oom_control" };
        kills(&fs::read_to_string(self.group.join(report)).unwrap_or_default()) > 0
    }

    fn make_swap(&self, bytes: f64) -> Result<(), LabError> {
        const MIB: f64 = 1_048_576.0;
        let mebibytes = (bytes / MIB).ceil() as u64 + 64;
        let from = String::from("if=/dev/zero");
        let to = format!("of={}", self.swap.display());
        let count = format!("count={mebibytes}");
        // Gigabytes take a while: Ctrl-C must not wait for them.
        let mut making = Command::new("dd");
        making.args([&from, &to, "bs=1M", &count, "status=none"]);
        Program::start(&mut making, &std::env::temp_dir())?.finish(MAKING)?;
        let path = self.swap.display().to_string();
        command("chmod", &["600", &path])?;
        command("mkswap", &[&path])?;
        command("swapon", &[&path])
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Each step is tried whatever became of the others: as much as can be is put back.
        // First the limit: pages that come back from the swap file need room in the group.
        let _ =
            fs::write(self.group.join(self.file), if self.file == V2_FILE { "max" } else { "-1" });
        let members = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines() {
            let _ = fs::write(self.root.join("cgroup.procs"), pid);
        }
        let path = self.swap.display().to_string();
        let mut off = command("swapoff", &[&path]);
        for _ in 0..SWAPOFF_TRIES {
            if off.is_ok() || !in_use(&path) {
                break;
            }
            thread::sleep(SWAPOFF_PAUSE);
            off = command("swapoff", &[&path]);
        }
        if in_use(&path) {
            // Removing the file of a swap area that is in use would lose the pages in it.
            output::note(format_args!(
                "dolium lab: the swap file is still in use; end it with: swapoff {path} && rm {path}"
            ));
        } else {
            let _ = fs::remove_file(&self.swap);
        }
        let _ = fs::remove_dir(&self.group);
    }
}

/// Reads a group's statistics again and again. The kernel chooses what to swap out by sums that it makes
/// every two seconds or when somebody reads them. A store that fills its memory faster has all of its
/// pages in use by then, none of them is chosen, and it is killed with the swap file empty.
struct Counting {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Counting {
    fn of(file: PathBuf) -> Self {
        let (end, ended) = channel();
        let thread = thread::spawn(move || {
            while ended.recv_timeout(COUNTING) == Err(RecvTimeoutError::Timeout) {
                let _ = fs::read_to_string(&file);
            }
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Processes that were ended, by either version's account of a group.
fn kills(report: &str) -> u64 {
    let count = report.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Lines of a shell that put everything back: first the limit, then the swap file, then the group,
/// whose processes have ended by then or go back to where they were.
fn undo(group: &Path, file: &str, root: &Path, swap: &Path) -> String {
    let (group, root, swap) = (group.display(), root.display(), swap.display());
    let none = if file == V2_FILE { "max" } else { "-1" };
    format!(
        "test -d {group} || exit 0
        echo {none} > {group}/{file}
        for pid in $(cat {group}/cgroup.procs); do echo $pid > {root}/cgroup.procs; done
        for try in 1 2 3 4 5 6 7 8 9 10; do
            grep -q {swap} /proc/swaps || break
            swapoff {swap} || sleep 0.5
        done
        grep -q {swap} /proc/swaps || rm -f {swap}
        rmdir {group}"
    )
}

fn in_use(path: &str) -> bool {
    fs::read_to_string("/proc/swaps").is_ok_and(|text| text.contains(path))
}

fn command(program: &str, words: &[&str]) -> Result<(), LabError> {
    let done = Command::new(program)
        .args(words)
        .output()
        .map_err(|error| LabError::system(format!("run {program}"), error))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(LabError::Options(format!(
        "this machine does not let the lab make a swap file: {program} said {}",
        said.trim()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_ended_is_read_from_either_account() {
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"), 1);
        assert_eq!(kills("low 0\nhigh 0\nmax 7\noom 2\noom_kill 2\noom_group_kill 0\n"), 2);
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 1\noom_kill 0\n"), 0);
        assert_eq!(kills(""), 0);
    }
}
