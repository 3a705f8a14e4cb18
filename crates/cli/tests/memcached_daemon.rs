//! `dolium memcached -d`: where the process in the background is, what it says, and what it leaves.

use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const WAIT: Duration = Duration::from_secs(60);

struct Daemon {
    folder: PathBuf,
    pid: Pid,
}

impl Daemon {
    /// In a folder of its own that has these in it, to be reached by a Unix socket there.
    fn start(name: &str, options: &[&str], folders: &[&str]) -> Daemon {
        let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        for name in folders {
            std::fs::create_dir(folder.join(name)).expect("a folder in it");
        }
        let pid_file = folder.join("mc.11211");
        let said = std::fs::File::create(folder.join("said")).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        command.args(["memcached", "-u", "root", "-s"]).arg(folder.join("socket"));
        command.arg("-P").arg(&pid_file).args(options).current_dir(&folder);
        command.env("XDG_RUNTIME_DIR", &folder).stderr(said);
        assert!(command.status().expect("the program starts").success());
        let begun = Instant::now();
        let pid = loop {
            let text = std::fs::read_to_string(&pid_file).unwrap_or_default();
            match text.trim().parse().ok().and_then(Pid::from_raw) {
                Some(pid) => break pid,
                None => assert!(begun.elapsed() < WAIT, "it does not start"),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        Daemon { folder, pid }
    }

    fn proc(&self) -> PathBuf {
        Path::new("/proc").join(self.pid.as_raw_nonzero().to_string())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = kill_process(self.pid, Signal::KILL);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// It stayed in the folder that it was started in, which could not be unmounted.
#[test]
fn a_daemon_is_at_the_root_unless_it_may_leave_a_core_file() {
    let daemon = Daemon::start("daemon", &["-d"], &[]);
    assert_eq!(std::fs::read_link(daemon.proc().join("cwd")).unwrap(), Path::new("/"));
    let with_core = Daemon::start("daemon-core", &["-d", "-r"], &[]);
    let place = std::fs::read_link(with_core.proc().join("cwd")).unwrap();
    assert_eq!(place, with_core.folder.canonicalize().unwrap());
}

/// Only a word of its own was taken for a wish to hear more.
#[test]
fn a_verbose_daemon_keeps_its_standard_error() {
    for (name, option, is_kept) in [("quiet", "-d", false), ("verbose", "-dv", true)] {
        let daemon = Daemon::start(name, &[option], &[]);
        let said = std::fs::metadata(daemon.folder.join("said")).unwrap();
        let has = std::fs::metadata(daemon.proc().join("fd/2")).unwrap();
        assert_eq!((said.dev(), said.ino()) == (has.dev(), has.ino()), is_kept, "{option}");
    }
}

/// Two servers that wrote theirs at once put one's number into the other's file.
#[test]
fn the_file_beside_a_pid_file_has_its_whole_name() {
    // What both wrote to is in the way.
    let daemon = Daemon::start("beside", &["-d"], &["mc.tmp"]);
    assert!(daemon.folder.join("mc.tmp").is_dir());
}

/// It went to the background first: the status was 0, and no server ran.
#[test]
fn what_is_refused_is_refused_before_it_is_a_daemon() {
    let folder = std::env::temp_dir().join(format!("dolium-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("passwords"), "user:password\n").expect("a file");
    std::fs::set_permissions(folder.join("passwords"), PermissionsExt::from_mode(0o600)).unwrap();
    let refused = |options: &[&str], code: i32, sentence: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dolium"));
        command.args(["memcached", "-d", "-s"]).arg(folder.join("socket")).args(options);
        let ended = command.current_dir(&folder).output().expect("the program starts");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains(sentence), "{options:?}: {said}");
        assert_eq!(ended.status.code(), Some(code), "{options:?}: {said}");
    };
    refused(&["-u", "root", "-Y", "nowhere"], 1, "nowhere cannot be read");
    if rustix::process::getuid().is_root() {
        refused(&["-u", "no-such-user"], 67, "can't find the user no-such-user");
        // Root may read it, and the server would not be root.
        refused(&["-u", "nobody", "-Y", "passwords"], 1, "passwords cannot be read");
    }
    std::fs::remove_dir_all(folder).expect("our folder");
}
