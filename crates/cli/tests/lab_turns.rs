//! Servers that are compared take turns: each is asked in its own and in no other's.
//!
//! ```text
//! A ....##..##....##..##        # asked: its process is woken again and again
//! B ..##..##....##..##..        . asleep: not woken at all
//! ```
//!
//! What is looked at is how often the kernel put each server's process to sleep, which is about
//! once for each request of a single connection, and never while nobody asks it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dolium_lab::cpu;
use dolium_lab::generator::{LoadSpec, Side, Target, take_turns};
use dolium_lab::stores::free_port;
use dolium_lab::workload::{Distribution, Mix, Protocol, RequestPool, Workload};

const DOLIUM: &str = env!("CARGO_BIN_EXE_dolium");
const WINDOW: Duration = Duration::from_secs(1);
const TURN: Duration = Duration::from_millis(20);
/// A server goes to sleep once after its last reply, which may be after the other's turn began.
const GOING_TO_SLEEP: u64 = 1;

struct Null {
    child: Child,
    address: SocketAddr,
}

impl Null {
    fn start() -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        let child = Command::new(DOLIUM)
            .args(["lab", "null", "--port", &address.port().to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let null = Self { child, address };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the server does not come up");
            thread::sleep(Duration::from_millis(10));
        }
        null
    }

    /// How often its threads went to sleep by themselves.
    fn sleeps(&self) -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let of = |task: fs::DirEntry| {
            let status = fs::read_to_string(task.path().join("status")).unwrap();
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
            let count = line.and_then(|line| line.split_ascii_whitespace().last());
            count.unwrap().parse::<u64>().unwrap()
        };
        tasks.flatten().map(of).sum()
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_server_is_asked_in_its_own_turns_and_about_as_often_as_the_other() {
    // All on one core, as children of this thread are: what else runs there meets both alike.
    let core = cpu::allowed()[0];
    cpu::pin(&[core]).unwrap();
    let nulls = [Null::start(), Null::start()];
    let workload = Workload {
        protocol: Protocol::Resp,
        mix: Mix::Get,
        keys: 1_000,
        key_bytes: 16.into(),
        value_bytes: 100.into(),
        distribution: Distribution::Uniform,
        ttl: 0,
        seed: 5,
    };
    let pool = RequestPool::build(&workload).unwrap();
    let loads = nulls.iter().map(|null| {
        let spec = LoadSpec {
            cores: vec![core],
            servers: vec![null.child.id()],
            warm_up: TURN,
            window: WINDOW,
            ..LoadSpec::plain(Target::Tcp(null.address))
        };
        (spec, &pool)
    });
    let mut sides: Vec<Side<'_>> = Side::all(loads).unwrap();
    let sleeps = || [0, 1].map(|number: usize| nulls[number].sleeps());
    let (mut before, mut own, mut order) = ([0, 0], 0, Vec::new());
    let reports = take_turns(&mut sides, 1, |number, report| {
        let Some(report) = report else {
            before = sleeps();
            return;
        };
        let now = sleeps();
        let woken = [0, 1].map(|side: usize| now[side] - before[side]);
        let other = woken[1 - number];
        assert!(other <= GOING_TO_SLEEP, "{other} in turn {} of another", order.len());
        // On a busy machine a turn may pass before its first request is answered: then it is after.
        assert!(report.all_operations > 0, "nothing in turn {}", order.len());
        own += woken[number];
        order.push(number);
    })
    .unwrap();
    assert!(own > 2 * order.len() as u64 * GOING_TO_SLEEP, "{own} in their own turns");
    // Every other pair is the other way round, so that a steady change of speed meets both.
    let expected = [1, 0, 0, 1, 0, 1, 1, 0].iter().cycle();
    assert!(order.len() > 1 && order.iter().zip(expected).all(|(was, is)| was == is), "{order:?}");
    assert_eq!(reports[0].len(), reports[1].len());
    let turns = (WINDOW.as_secs_f64() / TURN.as_secs_f64()).round();
    assert!(reports[0].len() as f64 <= turns, "{} turns", reports[0].len());
    let asked = [0, 1].map(|side: usize| {
        reports[side].iter().map(|report| report.all_operations).sum::<u64>() as f64
    });
    assert!((0.5..2.0).contains(&(asked[0] / asked[1])), "{asked:?}");
}
