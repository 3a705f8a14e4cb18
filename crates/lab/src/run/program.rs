//! Programs of other systems that are run to their end: waited for, and ended when they are stuck or
//! when the user asks to stop.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::tree;
use crate::LabError;
use crate::stores::tie;

const STEP: Duration = Duration::from_millis(20);
/// Tells apart what several programs say.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A program that runs; what it says goes into files, so that no pipe fills. Dropped before its end,
/// it is ended with all that it started.
pub struct Program {
    child: Child,
    said: [std::path::PathBuf; 2],
    ended: bool,
}

/// What it said.
pub struct Said {
    pub out: String,
    /// The last line of its complaints.
    pub complaint: String,
}

impl Program {
    /// Starts it in a process group of its own, to be killed when this thread ends.
    pub fn start(command: &mut Command, directory: &Path) -> Result<Self, LabError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |error| LabError::system(format!("run {name}"), error);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let said = ["out", "err"].map(|kind| directory.join(format!("program-{number}.{kind}")));
        command
            .stdin(Stdio::null())
            .stdout(File::create(&said[0]).map_err(failed)?)
            .stderr(File::create(&said[1]).map_err(failed)?);
        tie(command, Vec::new());
        let child = command.spawn().map_err(failed)?;
        Ok(Self { child, said, ended: false })
    }

    /// Waits until it ends, no longer than `longest`.
    pub fn finish(mut self, longest: Duration) -> Result<Said, LabError> {
        let begun = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) => break,
                Ok(None) if crate::interrupt::asked() => return Err(LabError::Interrupted),
                Ok(None) if begun.elapsed() > longest => {
                    return Err(LabError::Silent { seconds: longest.as_secs() });
                }
                Ok(None) => thread::sleep(STEP),
                Err(error) => return Err(LabError::system("wait for a program", error)),
            }
        }
        self.ended = true;
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let errors = read(&self.said[1]);
        let complaint = errors.lines().rev().find(|line| !line.trim().is_empty());
        let complaint = complaint.unwrap_or_default().trim().to_string();
        Ok(Said { out: read(&self.said[0]), complaint })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.ended {
            tree::end(self.child.id());
            // What lost its parent on the way is known by its group only.
            if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
                // An error means that nobody is left.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.wait();
        }
        for file in &self.said {
            // The directory goes at the end of the run; until then few files are tidier.
            let _ = fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_end_by_themselves_or_are_ended() {
        let directory = std::env::temp_dir();
        let mut echo = Command::new("sh");
        echo.args(["-c", "echo said; echo first >&2; echo last >&2"]);
        let said = Program::start(&mut echo, &directory).unwrap();
        let said = said.finish(Duration::from_secs(20)).unwrap();
        assert_eq!((said.out.trim(), said.complaint.as_str()), ("said", "last"));
        let mut slow = Command::new("sh");
        slow.args(["-c", "sleep 100 & sleep 100"]);
        let begun = Instant::now();
        let ended = Program::start(&mut slow, &directory).unwrap();
        assert!(ended.finish(Duration::from_millis(100)).is_err());
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    /// Spark's workers are in a group of their own. A run that was ended while Spark computed left
    /// them behind.
    #[test]
    fn an_ended_program_takes_other_groups_and_orphans_along() {
        let directory = std::env::temp_dir();
        let mut shell = Command::new("sh");
        // One in a session of its own and its child; one whose parent ends at once.
        let script = "setsid sh -c 'sleep 100 & echo $! $$; wait' & sh -c 'sleep 100 & echo $!'";
        shell.args(["-c", &format!("{script}; sleep 100")]);
        let program = Program::start(&mut shell, &directory).unwrap();
        let begun = Instant::now();
        let pids = loop {
            let said = fs::read_to_string(&program.said[0]).unwrap();
            let pids: Vec<u32> = said.split_whitespace().flat_map(str::parse).collect();
            if pids.len() == 3 {
                break pids;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "they said {said:?}");
            thread::sleep(STEP);
        };
        drop(program);
        let runs = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // Nobody may have waited for it yet.
            stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
        };
        while pids.iter().any(runs) {
            assert!(begun.elapsed() < Duration::from_secs(20), "of {pids:?} some are left");
            thread::sleep(STEP);
        }
    }
}
