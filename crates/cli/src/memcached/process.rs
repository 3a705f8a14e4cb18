//! What becomes of the process: in the background, as whom, with which limits.

use super::options::Options;
use super::{NO_USER, Refused};
use crate::output::note;
use rustix::mm::MlockAllFlags;
use rustix::process::{Gid, Resource, Rlimit, Uid, getrlimit, setrlimit};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;

/// Set for the process that runs in the background.
const DAEMON_MARK: &str = "DOLIUM_MEMCACHED_DAEMON";

pub fn is_daemon() -> bool {
    std::env::var_os(DAEMON_MARK).is_some()
}

/// Starts the same command line in the background. A second process instead of a fork: threads and
/// locks of this one are none of its business.
pub fn become_daemon(words: &[String], options: &Options) -> Result<(), Refused> {
    let failed = |error: std::io::Error| Refused::system(format!("failed to daemonize: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("memcached").args(words).env(DAEMON_MARK, "1");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    if options.setup.live.verbosity.load(Relaxed) == 0 {
        command.stderr(Stdio::null());
    }
    command.spawn().map_err(failed)?;
    Ok(())
}

/// What the process in the background will be able to do as its user, without becoming that user: a
/// user is a thread's own here, and this thread ends.
pub fn try_as_user<T: Send>(
    options: &Options,
    work: impl FnOnce() -> Result<T, Refused> + Send,
) -> Result<T, Refused> {
    let user = options.user.as_deref();
    std::thread::scope(|scope| {
        let tried = scope.spawn(|| change_user(user).and_then(|()| work())).join();
        tried.unwrap_or_else(|_| Err(Refused::system("failed to look at the user's rights")))
    })
}

/// Before any thread is started.
pub fn prepare(options: &Options) -> Result<(), Refused> {
    if is_daemon() {
        rustix::process::setsid().map_err(|e| Refused::system(format!("setsid: {e}")))?;
    }
    if options.core_files {
        allow_core_files()?;
    }
    change_user(options.user.as_deref())
}

/// When the passwords are read: their path was tried from the folder of the start.
pub fn leave_folder(options: &Options) -> Result<(), Refused> {
    // As Memcached: no folder is kept from being unmounted, unless it may have to take a core file. All
    // other relative paths are from there, too.
    if is_daemon() && !options.core_files {
        std::env::set_current_dir("/").map_err(|e| Refused::system(format!("chdir: {e}")))?;
    }
    Ok(())
}

/// Keeps what is touched from being swapped out; when the server has started, and page by page. The
/// arena is mapped at its largest from the start, and the system would make all of its pages if
/// mappings were locked whole. Failure is told and is no reason not to serve, as in Memcached.
pub fn lock_memory() {
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    if let Err(error) = rustix::mm::mlockall(flags) {
        note(format_args!("warning: -k invalid, mlockall() failed: {error}"));
    }
}

fn allow_core_files() -> Result<(), Refused> {
    let limit = getrlimit(Resource::Core);
    if setrlimit(Resource::Core, Rlimit { current: None, maximum: None }).is_err() {
        let most = Rlimit { current: limit.maximum, maximum: limit.maximum };
        let _ = setrlimit(Resource::Core, most);
    }
    match getrlimit(Resource::Core).current {
        Some(0) => Err(Refused::system("failed to ensure corefile creation")),
        _ => Ok(()),
    }
}

/// As root, the server runs as somebody else: whom `-u` names.
fn change_user(user: Option<&str>) -> Result<(), Refused> {
    if !rustix::process::getuid().is_root() {
        return Ok(());
    }
    let Some(name) = user.filter(|name| !name.is_empty()) else {
        return Err(Refused::usage("can't run as root without the -u switch"));
    };
    let Some((uid, gid)) = account(name) else {
        let sentence = format!("can't find the user {name} to switch to");
        return Err(Refused { sentence, code: NO_USER });
    };
    if uid.is_root() {
        return Ok(());
    }
    let failed =
        |error| Refused::system(format!("failed to assume identity of user {name}: {error}"));
    rustix::thread::set_thread_groups(&[gid]).map_err(failed)?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(failed)?;
    // Only this thread exists, and those that it will start inherit what it is.
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(failed)
}

/// A user of this machine's own list.
fn account(name: &str) -> Option<(Uid, Gid)> {
    let list = std::fs::read_to_string("/etc/passwd").ok()?;
    list.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let (uid, gid) = (fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?);
        (fields[0] == name).then(|| (Uid::from_raw(uid), Gid::from_raw(gid)))
    })
}

/// Failure is told and is no reason not to serve, as in Memcached.
pub fn write_pid(path: &Path) {
    let pid = std::process::id();
    // Behind the whole name: those of two servers may differ in what follows the last dot.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let written = std::fs::write(&beside, format!("{pid}\n"));
    if let Err(error) = written.and_then(|()| std::fs::rename(&beside, path)) {
        note(format_args!("Could not write the pid file {}: {error}", path.display()));
    }
}
