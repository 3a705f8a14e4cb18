//! What an attached process' connection remembers: a login, a database, a transaction; and a door
//! that has no descriptors left.

mod served;

use dolium_attach::{Error, Socket, Value};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use served::Served;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

fn ok(value: Value) {
    assert_eq!(value, Value::Simple(b"OK".to_vec()));
}

fn queued(value: Value) {
    assert_eq!(value, Value::Simple(b"QUEUED".to_vec()));
}

/// The server does not answer a request of no words, so its caller waited for ever, and all others of
/// the process behind it.
#[test]
fn a_command_without_a_word_is_refused() {
    let served = Served::start(&[]);
    let store = served.attach();
    assert!(matches!(store.execute(&[]), Err(Error::NoCommand)));
    ok(store.execute(&[b"SET", b"k", b"v"]).unwrap());
    let mut socket = Socket::unix(served.redis_path()).unwrap();
    assert!(matches!(socket.execute(&[]), Err(Error::NoCommand)));
    assert_eq!(socket.execute(&[b"GET", b"k"]).unwrap(), Value::Bulk(b"v".to_vec()));
}

/// SELECT went before AUTH, and a server with a password refuses it.
#[test]
fn one_may_log_in_through_any_database() {
    let served = Served::start(&["--requirepass", "secret"]);
    let one = served.attach().db(1).unwrap();
    assert!(matches!(one.execute(&[b"PING"]), Err(Error::Command(_))));
    ok(one.execute(&[b"AUTH", b"secret"]).unwrap());
    ok(one.execute(&[b"SET", b"k", b"one"]).unwrap());
    assert_eq!(one.get(b"k").unwrap().as_deref(), Some(&b"one"[..]));
    let shown = Command::new(env!("CARGO_BIN_EXE_dolium"))
        .args(["exec", "-n", "1", "--attach-socket"])
        .arg(served.attach_path())
        .args(["GET", "k"])
        .env("DOLIUM_PASSWORD", "secret")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "\"one\"\n");
}

/// A handle of another database put a SELECT into the transaction, and took QUEUED for its success.
#[test]
fn a_transaction_is_not_joined_by_handles_of_other_databases() {
    let served = Served::start(&[]);
    let zero = served.attach();
    let one = zero.db(1).unwrap();
    ok(zero.execute(&[b"MULTI"]).unwrap());
    queued(zero.execute(&[b"SET", b"k", b"zero"]).unwrap());
    let refused = one.execute(&[b"SET", b"k", b"one"]);
    assert!(matches!(refused, Err(Error::OtherTransaction { open: 0, asked: 1 })));
    let done = zero.execute(&[b"EXEC"]).unwrap();
    assert_eq!(done, Value::Array(vec![Value::Simple(b"OK".to_vec())]));
    ok(one.execute(&[b"SET", b"k", b"one"]).unwrap());
    assert_eq!(zero.get(b"k").unwrap().as_deref(), Some(&b"zero"[..]));
    assert_eq!(one.get(b"k").unwrap().as_deref(), Some(&b"one"[..]));

    // A SELECT that was thrown away is not remembered as done.
    ok(zero.execute(&[b"MULTI"]).unwrap());
    queued(zero.execute(&[b"SELECT", b"1"]).unwrap());
    ok(one.execute(&[b"DISCARD"]).unwrap());
    ok(one.execute(&[b"SET", b"after", b"one"]).unwrap());
    ok(zero.execute(&[b"SET", b"after", b"zero"]).unwrap());
    assert_eq!(zero.get(b"after").unwrap().as_deref(), Some(&b"zero"[..]));
    assert_eq!(one.get(b"after").unwrap().as_deref(), Some(&b"one"[..]));
}

/// The client that could not be let in stood at the door, so that each poll came back at once: the
/// door's thread took a core to itself until a descriptor was free.
#[test]
fn a_server_without_descriptors_does_not_spin_at_its_door() {
    let served = Served::start(&[]);
    let pid = Pid::from_child(&served.child);
    // It lets clients in a moment before it watches for signals, which takes descriptors, and ends where
    // it gets none.
    let last = 1 << (Signal::HUP.as_raw() - 1);
    let give_up = Instant::now() + Duration::from_secs(20);
    while caught_signals(pid) & last == 0 {
        assert!(Instant::now() < give_up, "the server does not come to watch for signals");
        std::thread::sleep(Duration::from_millis(1));
    }
    let limit = |current, maximum| {
        prlimit(Some(pid), Resource::Nofile, Rlimit { current, maximum }).unwrap()
    };
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    // No number below three is free.
    let before = limit(Some(3), maximum);
    let waiting = UnixStream::connect(served.attach_path()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let start = cpu_ticks(pid);
    std::thread::sleep(Duration::from_secs(2));
    let used = cpu_ticks(pid) - start;
    limit(before.current, before.maximum);
    // It would be all of two seconds, and is next to nothing.
    assert!(used < rustix::param::clock_ticks_per_second(), "{used} ticks");
    drop(waiting);
    ok(served.attach().execute(&[b"SET", b"k", b"v"]).unwrap());
}

/// A bit for each signal that a process has a handler of.
fn caught_signals(pid: Pid) -> u64 {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let status = std::fs::read_to_string(path).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap()
}

/// User's and system's time of a process.
fn cpu_ticks(pid: Pid) -> u64 {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let line = std::fs::read_to_string(path).unwrap();
    // Behind the name, which may hold anything, come the state and then numbers.
    let (_, fields) = line.rsplit_once(") ").unwrap();
    let number = |at: usize| fields.split(' ').nth(at).unwrap().parse::<u64>().unwrap();
    number(11) + number(12)
}
