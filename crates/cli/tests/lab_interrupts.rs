//! Ctrl-C and worse at moments that nobody chose: stores ended, cgroup, swap file and namespaces
//! gone, what was measured kept. No lab is interrupted before something of it is there. Where this user
//! may make neither groups nor namespaces, the stores and the report are what is looked at.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const DOLIUM: &str = env!("CARGO_BIN_EXE_dolium");
/// Interrupted runs of each kind, and the time within which the interrupt falls.
const RUNS: u64 = 3;
const SPAN_MS: u64 = 6_000;
const SHORTEST: Duration = Duration::from_millis(300);
/// CAP_NET_ADMIN and CAP_SYS_ADMIN: who has both may make groups, swap files and namespaces.
const ADMINISTRATOR: u64 = 1 << 12 | 1 << 21;

fn is_administrator() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap() & ADMINISTRATOR == ADMINISTRATOR
}

/// Who was started to outlive his terminal, as by `nohup`, starts others that do.
fn outlives_terminals() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap() & 1 == 1
}

/// A moment that differs from run to run; it is in the message of what fails.
fn moment(number: u64) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let drawn =
        (u64::from(now.subsec_nanos()) / 1_000 + number * 7_919).wrapping_mul(2_654_435_761);
    SHORTEST + Duration::from_millis(drawn % SPAN_MS)
}

fn start(words: &[&str], out: &PathBuf) -> Child {
    Command::new(DOLIUM)
        .args(["lab", "run"])
        .args(words)
        .arg("--out")
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn interrupt(lab: &Child) {
    kill_process(Pid::from_raw(lab.id() as i32).unwrap(), Signal::INT).unwrap();
}

/// Everything of the lab's process `lab` that is still there.
fn left(lab: u32) -> Vec<String> {
    let mut left = Vec::new();
    let mark = format!("dolium-lab-{lab}");
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let home = fs::read_link(process.path().join("cwd")).unwrap_or_default();
        if home.to_string_lossy().contains(&format!("{mark}/")) {
            left.push(format!("process {}", process.path().display()));
        }
    }
    for folder in ["/sys/fs/cgroup/memory", "/sys/fs/cgroup", "/var/tmp", "/var/run/netns"] {
        let names = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let namespace = format!("dolium-{lab}-");
        let ours = |name: &String| name.starts_with(&mark) || name.starts_with(&namespace);
        left.extend(names.filter(ours).map(|name| format!("{folder}/{name}")));
    }
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps.contains(&mark) {
        left.push(swaps);
    }
    left
}

fn wait_until(what: &str, test: impl Fn() -> bool) {
    let begun = Instant::now();
    while !test() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until a swap file, a group or a namespace of the lab's is there: where it may make none of
/// them, a store. False: the lab has ended before.
fn has_begun(lab: &mut Child) -> bool {
    let may_make = is_administrator();
    let begun = Instant::now();
    while !left(lab.id()).iter().any(|what| !may_make || !what.starts_with("process ")) {
        if lab.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the lab does not begin");
        thread::sleep(Duration::from_millis(10));
    }
    true
}

fn ends_in_order(name: &str, words: &[&str]) {
    let mut interrupted = 0;
    for number in 0..RUNS {
        let out =
            std::env::temp_dir().join(format!("dolium-{name}-{}-{number}", std::process::id()));
        let mut lab = start(words, &out);
        let is_last_chance = number + 1 == RUNS && interrupted == 0;
        let moment = if is_last_chance { SHORTEST } else { moment(number) };
        if has_begun(&mut lab) {
            thread::sleep(moment);
        }
        let early = lab.try_wait().unwrap();
        if early.is_none() {
            interrupt(&lab);
        }
        let begun = Instant::now();
        let status = lab.wait().unwrap();
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(30), "{took:?} to end after {moment:?}");
        assert_eq!(left(lab.id()), Vec::<String>::new(), "after {moment:?}");
        if early.is_some() {
            assert!(status.success() || !is_administrator(), "it failed by itself: {status}");
        } else if !status.success() {
            interrupted += 1;
            let file = out.join(format!("{}.json", words[0]));
            let kept = fs::read_to_string(&file).unwrap_or_default();
            assert!(kept.contains("\"interrupted\":true"), "{} after {moment:?}", file.display());
        }
        let _ = fs::remove_dir_all(&out);
    }
    assert!(interrupted > 0 || !is_administrator(), "all runs ended before their interrupt");
}

#[test]
fn ctrl_c_during_a_run_with_swapping_puts_the_machine_back() {
    // Large enough that making the swap file, filling and swapping all last a while.
    ends_in_order("swap", &["cao16-fig7", "--stores", "dolium", "--quick", "--scale", "2"]);
}

#[test]
fn ctrl_c_during_a_run_in_namespaces_puts_the_machine_back() {
    ends_in_order("namespaces", &["zhang14-fig4", "--stores", "dolium,null", "--quick"]);
}

/// In Spark's place, a program that starts others as Spark does: in its own group and in another.
/// Spark's processes were left behind by a run that was ended while Spark computed.
#[test]
fn what_stands_for_spark_ends_with_the_lab() {
    let folder = std::env::temp_dir().join(format!("dolium-spark-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // A length of sleep that no other test has.
    let mark = format!("1000.{}", std::process::id());
    let python = folder.join("python3");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = -c ] && echo Spark 4 && exit\n\
         setsid sleep {mark} &\nsleep {mark} &\nexec sleep {mark}\n"
    );
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let sleeping = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.map(|one| fs::read(one.path().join("cmdline")).unwrap_or_default());
        lines.filter(|line| line.ends_with(format!("sleep\0{mark}\0").as_bytes())).count()
    };
    for signal in [Signal::TERM, Signal::INT] {
        let mut lab = Command::new(DOLIUM)
            .args(["lab", "run", "zhang14-memory", "--quick", "--stores", "spark", "--out"])
            .arg(folder.join("out"))
            .env("PATH", &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the program in Spark's place", || sleeping() == 3);
        kill_process(Pid::from_raw(lab.id() as i32).unwrap(), signal).unwrap();
        lab.wait().unwrap();
        wait_until("the end of its processes", || sleeping() == 0);
        assert_eq!(left(lab.id()), Vec::<String>::new());
    }
    let _ = fs::remove_dir_all(&folder);
}

/// Of all but `lab run`, `trust` and `crowd` SIGTERM left the directory; a terminal that was closed ended
/// `lab run` in the middle.
#[test]
fn every_experiment_over_stores_ends_in_order_by_whichever_signal() {
    let out = std::env::temp_dir().join(format!("dolium-signals-{}", std::process::id()));
    let into = out.display().to_string();
    let long = ["--keys", "1000", "--window", "400", "--rounds", "1000"];
    for (words, signal) in [
        (["compare", "--stores", "null", "--ops", "get"].as_slice(), Signal::TERM),
        (&["qos", "--stores", "null"], Signal::TERM),
        (&["threads", "--ops", "get"], Signal::TERM),
        (&["growth"], Signal::TERM),
        (&["compare", "--stores", "null", "--ops", "get"], Signal::HUP),
        (&["run", "zhang14-fig4", "--stores", "null", "--quick", "--out", &into], Signal::HUP),
    ] {
        if signal == Signal::HUP && outlives_terminals() {
            continue;
        }
        let more: &[&str] = if words[0] == "run" { &[] } else { &long };
        let mut lab = Command::new(DOLIUM)
            .arg("lab")
            .args(words)
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&lab);
        let directory = std::env::temp_dir().join(format!("dolium-lab-{}", lab.id()));
        let begun = Instant::now();
        while !directory.exists() && lab.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{words:?} does not begin");
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(SHORTEST);
        if lab.try_wait().unwrap().is_some() {
            // Two threads need two cores.
            assert!(words[0] == "threads", "{words:?} has ended by itself");
            continue;
        }
        kill_process(pid, signal).unwrap();
        if signal == Signal::HUP {
            // The shell says it again.
            thread::sleep(Duration::from_millis(20));
            let _ = kill_process(pid, signal);
        }
        let status = lab.wait().unwrap();
        assert_eq!(status.code(), Some(1), "{words:?}: {status}");
        assert!(!directory.exists(), "{words:?} left {}", directory.display());
    }
    let file = out.join("zhang14-fig4.json");
    let is_kept = fs::read_to_string(&file).is_ok_and(|kept| kept.contains("\"interrupted\":true"));
    assert!(is_kept || outlives_terminals(), "{}", file.display());
    let _ = fs::remove_dir_all(&out);
}

#[test]
fn a_killed_lab_leaves_no_swap_file_no_group_and_no_namespace() {
    for words in [
        ["cao16-fig7", "--stores", "dolium", "--quick", "--scale", "2"],
        ["zhang14-fig4", "--stores", "dolium", "--quick", "--scale", "1"],
    ] {
        let out = std::env::temp_dir().join(format!("dolium-killed-{}", std::process::id()));
        let mut lab = start(&words, &out);
        thread::sleep(Duration::from_millis(2_000));
        assert!(
            has_begun(&mut lab) || !is_administrator(),
            "nothing was there to be left: {words:?}"
        );
        lab.kill().unwrap();
        lab.wait().unwrap();
        let number = lab.id();
        wait_until("the machine as it was", || left(number).is_empty());
        let _ = fs::remove_dir_all(&out);
        let _ = fs::remove_dir_all(std::env::temp_dir().join(format!("dolium-lab-{number}")));
    }
}
