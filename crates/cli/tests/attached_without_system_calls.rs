//! A read through attach makes no system call: the kernel itself watches.
//!
//! A child attaches, reads a million keys in every way there is, and reports. In the first test it
//! reads under seccomp's strict mode, in which the kernel kills a thread at its first system call
//! but read, write and its own end; in the second, under strace, which lists them all.

mod served;

use dolium_attach::{Store, Ttl};
use served::Served;
use std::hint::black_box;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

const READS: usize = 1_000_000;
const KEYS: usize = 10_000;

fn load(served: &Served) {
    let store = served.attach();
    for n in 0..KEYS {
        let (key, value) = (format!("key:{n}"), format!("value of {n}"));
        let key = key.as_bytes();
        // Every third has a deadline, so that the clock matters.
        let words: &[&[u8]] = match n % 3 {
            0 => &[b"SET", key, value.as_bytes(), b"EX", b"1000"],
            _ => &[b"SET", key, value.as_bytes()],
        };
        store.execute(words).unwrap();
    }
}

fn child(name: &str, served: &Served) -> Vec<String> {
    // Any test runs in a thread of its own; the harness' other thread only waits.
    let program = std::env::current_exe().unwrap();
    assert!(served.attach_path().exists());
    [program.to_str().unwrap(), name, "--exact", "--ignored", "--nocapture"].map(Into::into).into()
}

fn every_read(store: &Store, keys: &[String]) {
    let mut value = Vec::with_capacity(1024);
    let mut read = 0;
    for key in keys.iter().cycle().take(READS) {
        value.clear();
        read += usize::from(store.get_into(key.as_bytes(), &mut value).unwrap());
    }
    assert_eq!(read, READS);
    for key in keys {
        assert!(store.exists(key.as_bytes()).unwrap());
        assert!(store.ttl(key.as_bytes()).unwrap() != Ttl::NoKey);
        assert!(store.kind(key.as_bytes()).unwrap().is_some());
    }
    // The engine's sums alone: the list of the server's names would be allocated.
    assert!(black_box(store.reader().statistics()).changes > 0);
}

#[test]
fn reads_survive_where_a_system_call_is_death() {
    let served = Served::start(&[]);
    load(&served);
    let words = child("child_that_reads_under_seccomp", &served);
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .env("DOLIUM_TEST_ATTACH", served.attach_path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(n @ 1..) = out.read(&mut piece) {
            text.extend_from_slice(&piece[..n]);
            if text.ends_with(b"READ ALL\n") {
                break;
            }
        }
        // If the kernel were not watching, this is when the other word would come.
        std::thread::sleep(Duration::from_millis(300));
        child.kill().unwrap();
        child.wait().unwrap();
        let _ = out.read_to_end(&mut text);
        text
    });
    let text = reader.join().unwrap();
    let text = String::from_utf8_lossy(&text);
    assert!(
        text.contains("READ ALL"),
        "a read made a system call, and the kernel ended it: {text}"
    );
    assert!(!text.contains("NOBODY WATCHED"), "{text}");
}

/// Started by the test above, in a process of its own.
#[test]
#[ignore = "a child of reads_survive_where_a_system_call_is_death"]
fn child_that_reads_under_seccomp() {
    let Some(path) = std::env::var_os("DOLIUM_TEST_ATTACH") else { return };
    let store = Store::attach(path).unwrap();
    let keys: Vec<String> = (0..KEYS).map(|n| format!("key:{n}")).collect();
    let out = std::io::stdout();
    // The strict mode: one more system call than read, write, exit or sigreturn is death.
    let strict = rustix::thread::SecureComputingMode::Strict;
    rustix::thread::set_secure_computing_mode(strict).unwrap();
    every_read(&store, &keys);
    rustix::io::write(&out, b"READ ALL\n").unwrap();
    black_box(rustix::process::getppid());
    let _ = rustix::io::write(&out, b"NOBODY WATCHED\n");
}

#[test]
fn strace_sees_nothing_between_the_marks() {
    let served = Served::start(&[]);
    load(&served);
    let trace = served.folder.join("trace");
    let words = child("child_that_reads_between_marks", &served);
    let status = Command::new("strace")
        .args(["-f", "-o", trace.to_str().unwrap()])
        .args(&words)
        .env("DOLIUM_TEST_ATTACH", served.attach_path())
        .stdout(Stdio::null())
        .status()
        .expect("strace is installed (cargo xtask test does that)");
    assert!(status.success());
    let text = std::fs::read_to_string(&trace).unwrap();
    let marks: Vec<usize> = text
        .lines()
        .enumerate()
        .filter_map(|(n, line)| line.contains("getppid").then_some(n))
        .collect();
    assert_eq!(marks.len(), 2, "the two marks");
    let thread = text.lines().nth(marks[0]).unwrap().split(' ').next().unwrap();
    let between: Vec<&str> = text
        .lines()
        .take(marks[1])
        .skip(marks[0] + 1)
        .filter(|line| line.starts_with(thread))
        .collect();
    assert_eq!(between, [""; 0], "system calls of the reading thread");
    assert!(text.lines().count() > 50, "strace did look");
}

/// Started by the test above, in a process of its own.
#[test]
#[ignore = "a child of strace_sees_nothing_between_the_marks"]
fn child_that_reads_between_marks() {
    let Some(path) = std::env::var_os("DOLIUM_TEST_ATTACH") else { return };
    let store = Store::attach(path).unwrap();
    let keys: Vec<String> = (0..KEYS).map(|n| format!("key:{n}")).collect();
    black_box(rustix::process::getppid());
    every_read(&store, &keys);
    black_box(rustix::process::getppid());
}
