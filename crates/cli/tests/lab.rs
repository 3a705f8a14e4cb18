//! The lab as a user meets it: what a stopped server does to its figures, and what Ctrl-C leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const DOLIUM: &str = env!("CARGO_BIN_EXE_dolium");

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32).unwrap()
}

/// A server on a Unix socket in a folder of its own: of ports, another test's store could have taken
/// one that was free a moment ago. `name` is the test's.
fn serve(name: &str) -> (Ended, PathBuf) {
    let folder = std::env::temp_dir().join(format!("dolium-lab-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("redis");
    let child = Command::new(DOLIUM)
        .args(["serve", "--port", "0", "--memcached-port", "0", "--http-port", "0"])
        .args(["--threads", "1", "--maxmemory", "256mb"])
        .arg("--attach-socket")
        .arg(folder.join("attach"))
        .arg("--unixsocket")
        .arg(&socket)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Ended(child);
    wait_until("the server", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    (server, folder)
}

fn load(socket: &Path, more: &[&str]) -> Output {
    let options = ["lab", "load", "--conns", "4", "--keys", "1000", "--seconds", "3", "--unix"];
    Command::new(DOLIUM).args(options).arg(socket).args(more).output().unwrap()
}

/// The number behind a label in what `lab load` prints.
fn figure(output: &Output, label: &str) -> f64 {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.trim_start().starts_with(label));
    let line = line.unwrap_or_else(|| {
        panic!("no {label} in {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    line.split_ascii_whitespace().last().unwrap().parse().unwrap()
}

/// A wait that a signal interrupts was taken for twenty seconds of silence: a generator that was
/// stopped and continued, or traced, gave up at once.
#[test]
fn a_generator_that_is_stopped_and_continued_goes_on() {
    let (server, folder) = serve("continued");
    let mut command = Command::new(DOLIUM);
    command.args(["lab", "load", "--conns", "4", "--keys", "1000", "--seconds", "2", "--unix"]);
    let child = command.arg(folder.join("redis")).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let (store, generator) = (pid(&server.0), Pid::from_child(&child));
    thread::sleep(Duration::from_secs(1));
    // Nothing is answered now: its thread waits.
    kill_process(store, Signal::STOP).unwrap();
    thread::sleep(Duration::from_millis(200));
    kill_process(generator, Signal::STOP).unwrap();
    thread::sleep(Duration::from_millis(100));
    kill_process(generator, Signal::CONT).unwrap();
    thread::sleep(Duration::from_millis(100));
    kill_process(store, Signal::CONT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    drop(server);
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn a_server_that_is_stopped_shows_in_an_open_loop_and_hides_in_a_closed_one() {
    let (server, folder) = serve("stopped");
    let socket = folder.join("redis");
    let done = Arc::new(AtomicBool::new(false));
    let (over, stopped) = (Arc::clone(&done), pid(&server.0));
    let stopper = thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(800));
            kill_process(stopped, Signal::STOP).unwrap();
            thread::sleep(Duration::from_millis(200));
            kill_process(stopped, Signal::CONT).unwrap();
        }
    });
    let open = figure(&load(&socket, &["--rate", "2000"]), "p99 ");
    // Other tests may delay every request of a closed loop for a while: it has several chances.
    let hidden = (0..6).any(|_| figure(&load(&socket, &["--no-load"]), "p99 ") < 20_000.0);
    done.store(true, Ordering::Relaxed);
    stopper.join().unwrap();
    drop(server);
    fs::remove_dir_all(folder).unwrap();
    assert!(open >= 150_000.0, "open loop p99: {open} us");
    assert!(hidden, "no closed loop hid the stop");
}

/// Processes that run in a directory of the lab's process `lab`.
fn stores_of(lab: u32) -> Vec<PathBuf> {
    let mark = format!("dolium-lab-{lab}/");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|process| {
            let home = fs::read_link(process.join("cwd")).unwrap_or_default();
            home.to_string_lossy().contains(&mark)
        })
        .collect()
}

fn wait_until(what: &str, test: impl Fn() -> bool) {
    let begun = Instant::now();
    while !test() {
        assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn ctrl_c_ends_the_stores_and_keeps_what_was_measured() {
    let out = std::env::temp_dir().join(format!("dolium-lab-test-{}", std::process::id()));
    let options = ["lab", "run", "limit-null", "--stores", "dolium,null", "--seconds", "0.5"];
    let mut lab = Command::new(DOLIUM)
        .args(options)
        .arg("--out")
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let number = lab.id();
    wait_until("the stores", || stores_of(number).len() >= 2);
    thread::sleep(Duration::from_secs(5));
    kill_process(pid(&lab), Signal::INT).unwrap();
    let status = lab.wait().unwrap();
    assert!(!status.success(), "an interrupted run is no success");
    assert_eq!(stores_of(number), Vec::<PathBuf>::new());
    let left = std::env::temp_dir().join(format!("dolium-lab-{number}"));
    assert!(!left.exists(), "the stores' directory is left behind");
    let kept = fs::read_to_string(out.join("limit-null.json")).unwrap();
    assert!(kept.contains("\"interrupted\":true") && kept.contains("\"server_us\""), "{kept}");
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("ended early") && page.contains("<svg"));
    let _ = fs::remove_dir_all(&out);
}

#[test]
fn a_killed_lab_leaves_no_store_behind() {
    let out = std::env::temp_dir().join(format!("dolium-lab-killed-{}", std::process::id()));
    let mut lab = Command::new(DOLIUM)
        .args(["lab", "run", "limit-null", "--stores", "dolium,null", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let number = lab.id();
    wait_until("the stores", || stores_of(number).len() >= 2);
    lab.kill().unwrap();
    lab.wait().unwrap();
    wait_until("the stores' end", || stores_of(number).is_empty());
    let left: &Path = &std::env::temp_dir().join(format!("dolium-lab-{number}"));
    let _ = fs::remove_dir_all(left);
    let _ = fs::remove_dir_all(&out);
}

#[test]
fn what_threads_cost_is_told_beside_one_thread_and_beside_servers_of_one() {
    let run = |threads: &str| {
        let mut command = Command::new(DOLIUM);
        command.args(["lab", "threads", "--keys", "1000", "--conns", "4", "--pipelines", "10"]);
        command.args(["--rounds", "1", "--window", "100", "--warm-up", "20", "--threads", threads]);
        command.output().unwrap()
    };
    let output = run("2");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for row in ["GET P10", "SET P10"] {
        let line =
            text.lines().find(|line| line.starts_with(row)).unwrap_or_else(|| panic!("{text}"));
        let words = line.split_ascii_whitespace().skip(2);
        // Three costs, then ratios with their intervals.
        let costs: Vec<f64> = words.take(3).map(|word| word.parse().unwrap()).collect();
        assert!(costs.iter().all(|us| *us > 0.0), "{line}");
    }
    let refused = run("1");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("two threads at least"), "{said}");
}

#[test]
fn what_growth_costs_is_told_from_neighbouring_windows_of_a_load() {
    let run = |keys: &str, window: &str| {
        let mut command = Command::new(DOLIUM);
        command.args(["lab", "growth", "--keys", keys, "--pipelines", "10", "--rounds", "1"]);
        command.args(["--window", window]).output().unwrap()
    };
    let output = run("300000", "10");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find(|line| line.starts_with("SET P10"));
    let words = line.unwrap_or_else(|| panic!("{text}")).split_ascii_whitespace().skip(2);
    // Keys a second, pairs, and the bytes a key where the index grew less and where it grew more.
    let figures: Vec<f64> = words.take(4).map(|word| word.parse().unwrap()).collect();
    assert!(figures[0] > 0.0 && figures[1] >= 1.0 && figures[2] < figures[3], "{text}");
    let refused = run("2000", "1000");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("more keys, or shorter windows"), "{said}");
}
