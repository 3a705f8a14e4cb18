//! Attached processes die at any instruction, and it costs the server nothing.
//!
//! Readers and ring clients are started and killed with SIGKILL at random moments, two at a time.
//! Afterwards the server serves, has nothing left of them, and its memory checks out.
//! `DOLIUM_TEST_KILLS` says how many (200).

mod served;

use dolium_attach::{Store, Value};
use served::Served;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const KEYS: usize = 2_000;
const KILLS: u32 = 200;

#[test]
fn killed_readers_and_ring_clients_leave_nothing() {
    let kills = std::env::var("DOLIUM_TEST_KILLS").ok().and_then(|n| n.parse().ok());
    let served = Served::start(&[]);
    let store = served.attach();
    for n in 0..KEYS {
        store.execute(&[b"SET", format!("key:{n}").as_bytes(), &value(n)]).unwrap();
    }
    let descriptors =
        || std::fs::read_dir(format!("/proc/{}/fd", served.child.id())).unwrap().count();
    let before = descriptors();
    // A child that has attached holds descriptors of the server's.
    let mut had_attached = 0;
    let mut seed = 0x2545_F491_4F6C_DD1Du64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut alive: Vec<Child> = Vec::new();
    for _ in 0..kills.unwrap_or(KILLS) {
        while alive.len() < 2 {
            let what = if random(2) == 0 { "child_that_reads" } else { "child_that_asks" };
            alive.push(start(what, &served));
        }
        // From before it has attached to well into its work.
        std::thread::sleep(Duration::from_micros(random(40_000)));
        had_attached += usize::from(descriptors() > before);
        let mut one = alive.remove(random(2) as usize);
        one.kill().unwrap();
        let status = one.wait().unwrap();
        assert_eq!(status.code(), None, "it was alive until it was killed");
        assert_eq!(store.execute(&[b"PING"]).unwrap(), Value::Simple(b"PONG".to_vec()));
    }
    for mut one in alive {
        one.kill().unwrap();
        one.wait().unwrap();
    }
    assert!(had_attached > 0, "every child was killed before it had attached");
    let limit = Instant::now() + Duration::from_secs(5);
    while descriptors() > before {
        assert!(Instant::now() < limit, "{} descriptors, {before} before", descriptors());
        std::thread::sleep(Duration::from_millis(20));
    }
    let clients = store.execute(&[b"CLIENT", b"LIST"]).unwrap();
    let clients = String::from_utf8_lossy(clients.as_bytes().unwrap()).into_owned();
    assert_eq!(clients.lines().count(), 1, "{clients}");
    for n in 0..KEYS {
        assert_eq!(store.get(format!("key:{n}").as_bytes()).unwrap(), Some(value(n)));
    }
    let checked = served.dolium(&["check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

fn value(n: usize) -> Vec<u8> {
    vec![n as u8; 10 + n % 300]
}

fn start(what: &str, served: &Served) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([what, "--exact", "--ignored", "--nocapture"])
        .env("DOLIUM_TEST_ATTACH", served.attach_path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "a child of killed_readers_and_ring_clients_leave_nothing"]
fn child_that_reads() {
    let Some(path) = std::env::var_os("DOLIUM_TEST_ATTACH") else { return };
    let store = Store::attach(path).unwrap();
    let keys: Vec<String> = (0..KEYS).map(|n| format!("key:{n}")).collect();
    loop {
        store.get_many(&keys).unwrap();
        store.scan(0, 1000, |_, _| ()).unwrap();
    }
}

#[test]
#[ignore = "a child of killed_readers_and_ring_clients_leave_nothing"]
fn child_that_asks() {
    let Some(path) = std::env::var_os("DOLIUM_TEST_ATTACH") else { return };
    let store = Store::attach(path).unwrap();
    // Longer than the ring, so that most die in the midst of a request or a reply.
    let large = vec![b'x'; 300_000];
    loop {
        store.execute(&[b"SET", b"mine", &large]).unwrap();
        store.execute(&[b"GET", b"mine"]).unwrap();
        store.execute(&[b"INCR", b"count"]).unwrap();
    }
}
