//! `dolium top` beside a server that hangs up on it, ends, and comes again.

mod served;

use dolium_attach::{Socket, Value};
use served::Served;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// A `dolium top` that goes on until it is dropped.
struct Top {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Top {
    fn at(served: &Served) -> Top {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dolium"))
            .args(["top", "--interval", "0.1", "--attach-socket"])
            .arg(served.attach_path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Top { child, lines }
    }

    /// The next line that is meant.
    fn line(&mut self, is_meant: impl Fn(&str) -> bool) -> String {
        self.lines.by_ref().map(Result::unwrap).find(|line| is_meant(line)).unwrap()
    }

    /// The next first line of a page that is not this one.
    fn head_unlike(&mut self, shown: &str) -> String {
        self.line(|line| line.starts_with("dolium") && !line.contains(shown))
    }

    fn maps_an_arena(&self) -> bool {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.child.id())).unwrap();
        maps.contains("dolium-arena")
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hang_up(served: &Served) {
    let mut socket = Socket::unix(served.redis_path()).unwrap();
    let killed = socket.execute(&[b"CLIENT", b"LIST"]).unwrap();
    let list = String::from_utf8(killed.as_bytes().unwrap().to_vec()).unwrap();
    let attached = list.lines().find(|line| line.contains("addr=attached:")).unwrap();
    let id = attached.split_once("id=").unwrap().1.split_once(' ').unwrap().0;
    let killed = socket.execute(&[b"CLIENT", b"KILL", b"ID", id.as_bytes()]).unwrap();
    assert_eq!(killed, Value::Int(1));
}

/// It was said to be gone, and what went on to be its last figures.
#[test]
fn a_server_that_closed_tops_connection_is_not_gone() {
    let mut served = Served::start(&[]);
    let mut top = Top::at(&served);
    let pid = served.child.id();
    let connected = top.head_unlike("nothing");
    assert!(connected.contains(&format!("  server {pid}  ")), "{connected}");
    // Nobody can attach any more; otherwise it would do so, and have nothing to tell.
    std::fs::remove_file(served.attach_path()).unwrap();
    hang_up(&served);
    let closed = top.head_unlike(&format!("  server {pid}  "));
    assert!(closed.contains(&format!("  server {pid} (connection closed)  ")), "{closed}");
    assert!(closed.len() <= 80, "{closed}");
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    let gone = top.head_unlike("connection closed");
    assert!(gone.contains("its server is gone"), "{gone}");
}

#[test]
fn who_was_hung_up_on_attaches_anew() {
    let served = Served::start(&[]);
    let mut top = Top::at(&served);
    let head = top.head_unlike("nothing");
    hang_up(&served);
    let begun = Instant::now();
    let is_attached = || {
        let mut socket = Socket::unix(served.redis_path()).unwrap();
        let list = socket.execute(&[b"CLIENT", b"LIST"]).unwrap();
        list.as_bytes().unwrap().windows(14).any(|part| part == b"addr=attached:")
    };
    while !is_attached() {
        assert!(begun.elapsed() < PATIENCE, "it stays away");
        std::thread::sleep(Duration::from_millis(10));
    }
    let standing = format!("  server {}  ", served.child.id());
    assert!(head.contains(&standing), "{head}");
    for _ in 0..3 {
        let head = top.head_unlike("nothing");
        assert!(head.contains(&standing), "{head}");
    }
}

/// It kept the memory of a server that was gone, showed its last figures for ever, and did not see the next.
#[test]
fn a_server_that_comes_after_another_is_looked_at() {
    let mut first = Served::start(&[]);
    first.attach().execute(&[b"SET", b"k", b"v"]).unwrap();
    let mut top = Top::at(&first);
    let head = top.head_unlike("nothing");
    assert!(head.contains(&format!("  server {}  ", first.child.id())), "{head}");
    assert!(top.maps_an_arena());
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let gone = top.head_unlike("  server ");
    assert!(gone.contains("its server is gone: these are the last figures"), "{gone}");
    let changes = top.line(|line| line.starts_with("changes"));
    assert!(changes.trim_end().ends_with(" 1"), "{changes}");
    let why = top.line(|line| line.starts_with("cannot attach at "));
    assert!(why.contains("no server listens there"), "{why}");
    assert!(!top.maps_an_arena(), "the memory of the one that is gone is still mapped");
    let second = Served::start_in(first.folder.clone(), &[]);
    let head = top.head_unlike("its server is gone");
    assert!(head.contains(&format!("  server {}  ", second.child.id())), "{head}");
    let changes = top.line(|line| line.starts_with("changes"));
    assert!(changes.trim_end().ends_with(" 0"), "{changes}");
    // Before the folder goes, which both have.
    drop(second);
}

#[test]
fn the_last_of_so_many_looks_says_that_nobody_came() {
    let mut served = Served::start(&[]);
    let top = Command::new(env!("CARGO_BIN_EXE_dolium"))
        .args(["top", "--interval", "0.1", "--count", "5", "--attach-socket"])
        .arg(served.attach_path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let maps = format!("/proc/{}/maps", top.id());
    while !std::fs::read_to_string(&maps).unwrap().contains("dolium-arena") {
        assert!(begun.elapsed() < PATIENCE, "it does not attach");
        std::thread::sleep(Duration::from_millis(1));
    }
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    let ended = top.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the server is gone, and no other one came: cannot attach at "),
        "{said}"
    );
    let page = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(page.matches("these are the last figures").count(), 1, "{page}");
}
