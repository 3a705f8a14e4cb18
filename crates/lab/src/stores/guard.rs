//! Puts things back whatever becomes of this program: a shell waits for the end of a pipe that only
//! this program holds, and then runs what it was given. A second Ctrl-C, or SIGKILL, ends the
//! program at once and with it the pipe, and the shell still does its work.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::LabError;

/// Something to be put back, for as long as it is held.
pub struct Guard {
    shell: Option<Child>,
}

impl Guard {
    /// `undo` are lines of a shell; what fails in them does not keep the others from running.
    pub fn new(undo: &str) -> Result<Self, LabError> {
        let script = format!("read -r _; {undo}");
        let shell = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C on a terminal is for the group of this program alone.
            .process_group(0)
            .spawn()
            .map_err(|error| LabError::system("start what puts things back", error))?;
        Ok(Self { shell: Some(shell) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut shell) = self.shell.take() {
            // The end of the pipe is the sign; the wait makes sure that it is done.
            drop(shell.stdin.take());
            let _ = shell.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_put_back_when_the_guard_goes() {
        let file = std::env::temp_dir().join(format!("dolium-guard-{}", std::process::id()));
        std::fs::write(&file, "x").unwrap();
        let guard = Guard::new(&format!("false\nrm -f {}", file.display())).unwrap();
        assert!(file.exists());
        drop(guard);
        assert!(!file.exists());
    }
}
