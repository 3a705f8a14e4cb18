//! docs/running.md says with which file, and with which words of a systemd unit, a server is started: both are
//! read from the page, and a server is started with them.

use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// The page's block of this kind.
fn block<'a>(page: &'a str, kind: &str) -> &'a str {
    let start = format!("```{kind}\n");
    let at = page.find(&start).expect("the block is on the page") + start.len();
    &page[at..][..page[at..].find("```").expect("its end")]
}

fn received(socket: &UnixDatagram) -> String {
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut bytes = [0; 200];
    let length = socket.recv(&mut bytes).expect("a word from the server");
    String::from_utf8_lossy(&bytes[..length]).into()
}

#[test]
fn a_server_starts_with_the_file_and_the_unit_of_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/running.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let folder = std::env::temp_dir().join(format!("dolium-running-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    // The folders that systemd would make are ours here.
    let here = folder.display().to_string();
    let file = block(&page, "conf").replace("/run/dolium", &here).replace("/var/log/dolium", &here);
    std::fs::write(folder.join("dolium.conf"), &file).expect("a file");
    let unit = block(&page, "ini");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let mut words = line.split(' ').skip(1).map(String::from).collect::<Vec<_>>();
    assert_eq!(words[1], "/etc/dolium.conf", "{line}");
    words[1] = folder.join("dolium.conf").display().to_string();
    let notified = folder.join("notify");
    let systemd = UnixDatagram::bind(&notified).expect("a socket");
    let mut server = Command::new(env!("CARGO_BIN_EXE_dolium"))
        .args(words)
        // Other tests have the ports, and the cores.
        .args(["--port", "0", "--memcached-port", "0", "--http-port", "0"])
        .args(["--pin-threads", "no", "--threads", "1"])
        .env("NOTIFY_SOCKET", &notified)
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let told = std::panic::catch_unwind(|| {
        assert_eq!(received(&systemd), "READY=1");
        for (path, what) in [("dolium.attach", "attach-socket"), ("dolium.log", "logfile")] {
            assert!(folder.join(path).exists(), "{what}");
        }
        let pid = Pid::from_raw(server.id().cast_signed()).expect("a process");
        kill_process(pid, Signal::TERM).expect("it runs");
        assert_eq!(received(&systemd), "STOPPING=1");
    });
    if told.is_err() {
        // The child is ours; an error means that it has ended already.
        let _ = server.kill();
    }
    let ended = server.wait().expect("an end");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    assert!(told.is_ok() && ended.success(), "{ended}");
}
