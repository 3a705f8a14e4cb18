//! `dolium memcached -d`: where the process in the background is, what it says, and what it leaves.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
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
        Daemon::start_with(name, options, folders, |_| {})
    }

    /// What `prepare` puts into the folder is there before the start.
    fn start_with(
        name: &str,
        options: &[&str],
        folders: &[&str],
        prepare: impl FnOnce(&Path),
    ) -> Daemon {
        let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        for name in folders {
            std::fs::create_dir(folder.join(name)).expect("a folder in it");
        }
        prepare(&folder);
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

    /// Whether it lets somebody in with this name and password.
    fn knows(&self, login: &str) -> bool {
        let mut socket = UnixStream::connect(self.folder.join("socket")).expect("it listens");
        socket.set_read_timeout(Some(WAIT)).expect("a timeout");
        write!(socket, "set a 0 0 {}\r\n{login}\r\n", login.len()).expect("a request");
        let (mut said, mut bytes) = (String::new(), [0; 256]);
        while !said.ends_with("\r\n") {
            let len = socket.read(&mut bytes).expect("a reply");
            assert_ne!(len, 0, "closed after {said:?}");
            said.push_str(&String::from_utf8_lossy(&bytes[..len]));
        }
        said == "STORED\r\n"
    }

    fn proc(&self) -> PathBuf {
        Path::new("/proc").join(self.pid.as_raw_nonzero().to_string())
    }
}

fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).expect("our file");
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

/// The passwords of a path from the folder of the start were looked for at the root when they were read
/// again: new ones were never taken up.
#[test]
fn a_daemon_reads_its_passwords_again_where_it_first_read_them() {
    let folder = std::env::temp_dir().join(format!("dolium-passwords-{}", std::process::id()));
    let daemon = Daemon::start_with("passwords", &["-d", "-Y", "accounts"], &[], |folder| {
        write_private(&folder.join("accounts"), "user:old\n");
    });
    assert_eq!(daemon.folder, folder);
    assert!(daemon.knows("user old"));
    write_private(&folder.join("accounts"), "user:new\n");
    kill_process(daemon.pid, Signal::HUP).expect("it runs");
    let begun = Instant::now();
    while !daemon.knows("user new") {
        assert!(begun.elapsed() < WAIT, "it does not know the new password");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!daemon.knows("user old"));
}

/// It went to the background first: the status was 0, and no server ran.
#[test]
fn what_is_refused_is_refused_before_it_is_a_daemon() {
    let folder = std::env::temp_dir().join(format!("dolium-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    write_private(&folder.join("passwords"), "user:password\n");
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
