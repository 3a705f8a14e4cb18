//! Less memory than data: the store's process in a cgroup of limited memory, and a temporary swap
//! file. Everything is put back when the limit is dropped, Ctrl-C included.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::LabError;

/// Where the two versions of cgroups are found.
const V1: &str = "/sys/fs/cgroup/memory";
const V2: &str = "/sys/fs/cgroup";
/// Where the swap file is laid; a file system in memory would defeat its purpose.
const SWAP_DIRECTORY: &str = "/var/tmp";

/// A limit that holds as long as it is held.
pub struct Limit {
    group: PathBuf,
    root: PathBuf,
    swap: PathBuf,
}

impl Limit {
    /// Limits the memory of `pids` to `bytes`, with a swap file that holds `data` bytes.
    pub fn new(pids: &[u32], bytes: f64, data: f64) -> Result<Self, LabError> {
        let (root, file) = if Path::new(V1).join("memory.limit_in_bytes").exists() {
            (PathBuf::from(V1), "memory.limit_in_bytes")
        } else {
            (PathBuf::from(V2), "memory.max")
        };
        let name = format!("dolium-lab-{}", std::process::id());
        let group = root.join(&name);
        let swap = Path::new(SWAP_DIRECTORY).join(format!("{name}.swap"));
        fs::create_dir_all(&group)
            .map_err(|error| LabError::system("make a cgroup (are you root?)", error))?;
        // From here on dropping puts everything back.
        let limit = Self { group, root, swap };
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

    fn make_swap(&self, bytes: f64) -> Result<(), LabError> {
        const MIB: f64 = 1_048_576.0;
        let mebibytes = (bytes / MIB).ceil() as u64 + 64;
        let from = String::from("if=/dev/zero");
        let to = format!("of={}", self.swap.display());
        let count = format!("count={mebibytes}");
        command("dd", &[&from, &to, "bs=1M", &count, "status=none"])?;
        let path = self.swap.display().to_string();
        command("chmod", &["600", &path])?;
        command("mkswap", &[&path])?;
        command("swapon", &[&path])
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // Each step is tried whatever became of the others: as much as can be is put back.
        let members = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines() {
            let _ = fs::write(self.root.join("cgroup.procs"), pid);
        }
        let _ = command("swapoff", &[&self.swap.display().to_string()]);
        let _ = fs::remove_file(&self.swap);
        let _ = fs::remove_dir(&self.group);
    }
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
