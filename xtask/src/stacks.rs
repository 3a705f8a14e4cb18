//! Where the threads of a command stand that does not end: a test that hangs on another machine can't be
//! looked at afterwards, so what it waits for is written down before it is stopped.
//!
//! ```text
//!   busy (4711) dolium-0: epoll_wait < dolium_server::reactor::Reactor::run < ...      a line a thread
//! ```

use crate::{children, commands, paths};
use std::process::Command;

/// So many calls of a thread are shown, the innermost first; the log has more.
const CALLS_SHOWN: usize = 8;
const CALLS: &str = "thread apply all backtrace 24";
/// A debugger that hangs itself.
const SECONDS: &str = "60";
/// Those tell nothing; a test does, and the servers that it has started. Nor does who has ended.
const BUILDERS: [&str; 4] = ["cargo", "rustc", "cc", "ld"];

/// A line for each thread of a process and of all that it has started, as gdb sees them.
pub fn of_all_under(pid: u32) -> String {
    if !commands::on_path("gdb") {
        return "(with gdb installed, what it was waiting for would stand here)".to_string();
    }
    let mut lines = Vec::new();
    for pid in children::all_under(pid as i32) {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = name.trim();
        if name.is_empty() || BUILDERS.contains(&name) {
            continue;
        }
        let mut gdb = Command::new("timeout");
        gdb.args([SECONDS, "gdb", "-batch", "-nx", "-p", &pid.to_string(), "-ex", CALLS]);
        let Ok(said) = gdb.output() else { continue };
        let said = String::from_utf8_lossy(&said.stdout);
        let _ = std::fs::write(paths::logs().join(format!("stacks-{name}-{pid}.log")), &*said);
        lines.extend(threads(&said).map(|line| format!("{name} ({pid}) {line}")));
    }
    lines.join("\n")
}

/// `NAME: INNERMOST < CALLER < ...` of each thread that gdb has shown.
fn threads(output: &str) -> impl Iterator<Item = String> {
    output.split("\nThread ").skip(1).map(|thread| {
        let mut lines = thread.lines();
        let head = lines.next().unwrap_or_default();
        let name = head.split('"').nth(1).unwrap_or(head);
        let calls: Vec<&str> = lines.filter_map(call).take(CALLS_SHOWN).collect();
        format!("{name}: {}", calls.join(" < "))
    })
}

/// The function of `#3  0x0000 in NAME<T> (arguments) at FILE:LINE`.
fn call(line: &str) -> Option<&str> {
    let rest =
        line.strip_prefix('#')?.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let name = rest.split_once(" in ").map_or(rest, |(_, name)| name);
    Some(name.split(" (").next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_a_line() {
        let output = "\nThread 2 (Thread 0x7f (LWP 12) \"dolium-0\"):\n\
            #0  0x00007f in epoll_wait () from /lib/libc.so.6\n\
            #1  0x000055 in dolium_server::reactor::Reactor::run (self=...) at mod.rs:219\n\
            \nThread 1 (Thread 0x7f (LWP 11) \"busy\"):\n#0  wait () at a.rs:1\n";
        let lines: Vec<String> = threads(output).collect();
        assert_eq!(
            lines,
            ["dolium-0: epoll_wait < dolium_server::reactor::Reactor::run", "busy: wait"]
        );
    }
}
