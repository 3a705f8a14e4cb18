//! What processes that write through rings come to, beside as many that ask over a Unix socket.
//!
//! `cargo run --release -p dolium-attach --example ring_speed -- ATTACH_SOCKET UNIX_SOCKET [--bytes 4096]
//! [--rounds 5] [--batch 100]`, with a server that runs: `dolium --attach-socket A --unixsocket U`.
//!
//! Every process stores values under random keys of 50,000 for 0.7 seconds: one request after the other over
//! its Unix socket, the same through its ring, and in batches through its ring. The three take turns.
//! Printed are requests a second of all processes together and the worst process' 99th percentile, medians of
//! the rounds. One request of eight is timed.

use dolium_attach::{Socket, Store};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROCESSES: [usize; 6] = [1, 2, 4, 8, 16, 40];
const WAYS: [&str; 3] = ["unix", "ring", "batch"];
const KEYS: u64 = 50_000;
const TURN: Duration = Duration::from_millis(700);
/// In which all processes of a turn come up.
const START: Duration = Duration::from_millis(200);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, usual: usize| {
        let at = words.iter().position(|word| word == name);
        at.and_then(|at| words.get(at + 1)?.parse().ok()).unwrap_or(usual)
    };
    let [attach, unix, ..] = words.as_slice() else { panic!("which sockets? see the head") };
    let (bytes, batch) = (number("--bytes", 4096), number("--batch", 100));
    if let Some(at) = words.iter().position(|word| word == "--child") {
        return child(&words[at + 1], attach, unix, bytes, batch);
    }
    println!("processes  {:>22} {:>22} {:>22}", "unix", "ring", format!("ring, {batch} at once"));
    for processes in PROCESSES {
        let mut seen: [Vec<(u64, u64)>; WAYS.len()] = Default::default();
        for _ in 0..number("--rounds", 5) {
            for (way, seen) in WAYS.iter().zip(&mut seen) {
                seen.push(turn(&words, way, processes));
            }
        }
        let columns = seen.map(|turns| {
            let rate = median(turns.iter().map(|turn| turn.0).collect());
            let p99 = median(turns.iter().map(|turn| turn.1).collect());
            format!("{rate:>12}/s {p99:>5} us")
        });
        println!("{processes:>9}  {}", columns.join(" "));
    }
}

/// So many processes at once: what they did a second, and the worst 99th percentile in microseconds.
fn turn(words: &[String], way: &str, processes: usize) -> (u64, u64) {
    let own = std::env::current_exe().expect("this program's file");
    let start = || {
        let mut command = Command::new(&own);
        command.args(words).args(["--child", way]).stdout(Stdio::piped()).spawn().expect("a child")
    };
    let children: Vec<_> = (0..processes).map(|_| start()).collect();
    let (mut rate, mut worst) = (0, 0);
    for child in children {
        let said = child.wait_with_output().expect("its end").stdout;
        let said = String::from_utf8(said).expect("numbers");
        let (count, p99) = said.trim().split_once(' ').expect("two numbers");
        rate += count.parse::<u64>().expect("a count") * 1000 / TURN.as_millis() as u64;
        worst = worst.max(p99.parse().expect("a time"));
    }
    (rate, worst)
}

fn child(way: &str, attach: &str, unix: &str, bytes: usize, batch: usize) {
    let value = vec![b'v'; bytes];
    let mut seed = u64::from(std::process::id()) | 1;
    let mut key = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("key:{:020}", (seed >> 33) % KEYS)
    };
    let store = Store::attach(attach).expect("a server that can be attached to");
    let mut socket = Socket::unix(unix).expect("a server at the Unix socket");
    std::thread::sleep(START);
    let (mut count, mut times) = (0_u64, Vec::new());
    let start = Instant::now();
    while start.elapsed() < TURN {
        let begun = Instant::now();
        if way == "batch" {
            let keys: Vec<String> = (0..batch).map(|_| key()).collect();
            let sets: Vec<[&[u8]; 3]> =
                keys.iter().map(|key| [b"SET", key.as_bytes(), value.as_slice()]).collect();
            let replies = store.execute_many(&sets).expect("replies");
            assert!(replies.iter().all(|reply| reply.as_error().is_none()));
            count += batch as u64;
        } else {
            let key = key();
            let set: [&[u8]; 3] = [b"SET", key.as_bytes(), &value];
            let reply = if way == "unix" { socket.execute(&set) } else { store.execute(&set) };
            assert!(reply.expect("a reply").as_error().is_none());
            count += 1;
        }
        if way == "batch" || count.is_multiple_of(8) {
            times.push(begun.elapsed().as_micros() as u64);
        }
    }
    times.sort_unstable();
    println!("{count} {}", times.get(times.len() * 99 / 100).unwrap_or(&0));
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}
