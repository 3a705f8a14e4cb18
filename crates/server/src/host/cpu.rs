//! INFO's CPU section.
//!
//! Redis' main thread runs the commands; here it waits for the server's end, and the threads beside it
//! serve. The fields named for it are true of it, and so are small: the process' own are the ones to watch.

use super::info::lines;
use crate::server::Server;
use std::fmt::Write;

pub(super) fn cpu(server: &Server, out: &mut String) {
    let (user, system) = server.surroundings.processor_seconds();
    let (main_user, main_system) = server.surroundings.main_thread_seconds();
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
