//! Running other programs: quietly into a log file, with a limit in time, and with the end of the
//! log shown when they fail.

use crate::{Result, children, paths, stacks};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many lines of a failed command's output are worth showing at once.
const TAIL_LINES: usize = 40;
const POLL: Duration = Duration::from_millis(20);

/// How a command ended and what it printed (both streams, in order).
pub struct Finished {
    pub success: bool,
    pub output: String,
    pub log: PathBuf,
}

impl Finished {
    pub fn tail(&self) -> String {
        self.tail_of(|_| true)
    }

    /// The last of those lines.
    pub fn tail_of(&self, is_wanted: impl Fn(&&str) -> bool) -> String {
        let lines: Vec<&str> = self.output.lines().filter(is_wanted).collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }

    /// An error with the end of the output when the command failed.
    pub fn require(self, what: &str) -> Result<Self> {
        if self.success {
            return Ok(self);
        }
        Err(format!("{what} failed; its output is in {}\n{}", self.log.display(), self.tail()))
    }
}

/// Runs a command to its end with its output in `target/test-logs/NAME.log`.
pub fn run(name: &str, command: &mut Command, limit: Duration) -> Result<Finished> {
    paths::create(&paths::logs())?;
    let log = paths::logs().join(format!("{name}.log"));
    let failed = |why: std::io::Error| format!("cannot run {name}: {why}");
    let out = File::create(&log).map_err(failed)?;
    let err = out.try_clone().map_err(failed)?;
    let mut child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().map_err(failed)?;
    let _registered = children::register(child.id());
    let started = Instant::now();
    let success = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status.success();
        }
        if started.elapsed() > limit {
            let stacks = stacks::of_all_under(child.id());
            children::end_all_under(child.id());
            child.wait().map_err(failed)?;
            let seconds = limit.as_secs();
            let log = log.display();
            return Err(format!("{name} was stopped after {seconds} s; see {log}\n{stacks}"));
        }
        std::thread::sleep(POLL);
    };
    let output = std::fs::read(&log).map_err(failed)?;
    let output = without_colours(&String::from_utf8_lossy(&output));
    Ok(Finished { success, output, log })
}

/// Whether a program can be found on the PATH.
pub fn on_path(program: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else { return false };
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Drops the escape sequences by which programs colour their output (`ESC [ ... m`).
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            for inside in characters.by_ref() {
                if inside.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            plain.push(character);
        }
    }
    plain
}
