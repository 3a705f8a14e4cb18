//! INFO's CPU section.
//!
//! Redis' main thread runs the commands; here it waits for the server's end, and the threads beside it
//! serve. The fields named for it are true of it, and so are small: the process' own are the ones to watch.

use super::info::lines;
use crate::process;
use crate::server::Server;
use std::fmt::Write;

pub(super) fn cpu(_: &Server, out: &mut String) {
    let (user, system) = process::processor_seconds();
    let (main_user, main_system) = main_thread_seconds();
    let seconds = |seconds: f64| format!("{seconds:.6}");
    lines!(out,
        "used_cpu_sys" => seconds(system),
        "used_cpu_user" => seconds(user),
        "used_cpu_sys_children" => seconds(0.0),
        "used_cpu_user_children" => seconds(0.0),
        "used_cpu_sys_main_thread" => seconds(main_system),
        "used_cpu_user_main_thread" => seconds(main_user),
    );
}

/// Processor seconds of the thread that the process began with: (user, system).
fn main_thread_seconds() -> (f64, f64) {
    let path = format!("/proc/self/task/{}/stat", std::process::id());
    let stat = std::fs::read_to_string(path).unwrap_or_default();
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    match ticks(&stat) {
        Some((user, system)) => (user as f64 / ticks_per_second, system as f64 / ticks_per_second),
        None => (0.0, 0.0),
    }
}

/// Fields 14 and 15 of a `stat` file, counted from 1: the ticks in user mode and in the system. The
/// second field is a name in parentheses, which may hold blanks and parentheses itself.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let (_, behind_name) = stat.rsplit_once(") ")?;
    let mut fields = behind_name.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 31 12 0 0 20 0 4 0";
        assert_eq!(ticks(stat), Some((31, 12)));
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn the_main_thread_is_read_of() {
        let path = format!("/proc/self/task/{}/stat", std::process::id());
        let stat = std::fs::read_to_string(path).expect("the main thread of this process");
        assert!(ticks(&stat).is_some(), "{stat}");
    }
}
