//! How an attached process learns that its server has gone, has hung up on it, or does not answer.

mod served;

use dolium_attach::{Error, Socket, Store, Value};
use served::Served;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

fn pong(store: &Store) {
    assert_eq!(store.execute(&[b"PING"]).unwrap(), Value::Simple(b"PONG".to_vec()));
}

fn wait_until(otherwise: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{otherwise}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Its ring was closed for good, and the server called gone.
#[test]
fn a_process_that_asks_seldom_stays_attached() {
    let served = Served::start(&["--timeout", "1"]);
    let store = served.attach();
    pong(&store);
    let mut idle = Socket::unix(served.redis_path()).unwrap();
    idle.execute(&[b"PING"]).unwrap();
    let begun = Instant::now();
    // A connection that came at the same time, and is idle as long, has been closed.
    while idle.execute(&[b"PING"]).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the timeout has no effect");
        std::thread::sleep(Duration::from_secs(3));
    }
    assert!(store.is_served());
    pong(&store);
}

#[test]
fn a_connection_that_the_server_closed_is_told_from_a_server_that_is_gone() {
    let served = Served::start(&[]);
    let store = served.attach();
    store.execute(&[b"SET", b"k", b"v"]).unwrap();
    let mut socket = Socket::unix(served.redis_path()).unwrap();
    let address = format!("attached:{}", std::process::id());
    let killed = socket.execute(&[b"CLIENT", b"KILL", b"ADDR", address.as_bytes()]).unwrap();
    assert_eq!(killed, Value::Int(1));
    // Another thread of the server's does it.
    wait_until("it does not hang up", || !store.is_served());
    for _ in 0..2 {
        let closed = store.execute(&[b"PING"]).unwrap_err();
        assert!(matches!(closed, Error::Closed), "{closed}");
    }
    assert_eq!(store.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    pong(&served.attach());
}

#[test]
fn whether_a_server_is_there_can_be_asked_without_it() {
    let mut served = Served::start(&[]);
    let store = served.attach();
    assert!(store.is_served());
    served.stop();
    assert!(store.is_served(), "it is there, and stopped");
    served.child.kill().unwrap();
    wait_until("nobody notices that it has gone", || !store.is_served());
    // Its parent has not asked after it, so that its number is still that of a process.
    let gone = store.execute(&[b"PING"]).unwrap_err();
    assert!(matches!(gone, Error::ServerGone), "{gone}");
    assert!(store.is_empty());
}

/// It waited for ever, and all other threads of the process behind it.
#[test]
fn a_command_to_a_server_that_is_stopped_is_given_up_in_time() {
    let served = Served::start(&[]);
    let limited = served.attach().with_time_limit(Some(Duration::from_millis(300)));
    pong(&limited);
    served.stop();
    let begun = Instant::now();
    let late = limited.execute(&[b"SET", b"k", b"v"]).unwrap_err();
    let took = begun.elapsed();
    served.go_on();
    assert!(matches!(late, Error::TimedOut), "{late}");
    assert!(took >= Duration::from_millis(300) && took < PATIENCE, "{took:?}");
    // The reply that comes now is to that one.
    for store in [&limited, &limited.with_time_limit(None)] {
        let refused = store.execute(&[b"PING"]).unwrap_err();
        assert!(matches!(refused, Error::OutOfStep), "{refused}");
    }
    assert!(!limited.is_served());
    assert!(limited.get(b"nothing").unwrap().is_none());
    pong(&served.attach());
}

/// A step of no keys said that the iteration was over, and later ones that it had got no further.
#[test]
fn a_step_of_no_keys_goes_on_all_the_same() {
    let served = Served::start(&[]);
    let store = served.attach();
    for n in 0..20 {
        store.execute(&[b"SET", format!("key:{n}").as_bytes(), b"v"]).unwrap();
    }
    let (mut cursor, mut met, mut steps) = (0, 0, 0);
    loop {
        cursor = store.scan(cursor, 0, |_, _| met += 1).unwrap();
        steps += 1;
        assert!(steps < 1_000_000, "it gets nowhere");
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(met, 20);
}

/// It was reported as a failure: `the server is gone`.
#[test]
fn a_shutdown_that_is_obeyed_is_a_success() {
    let mut served = Served::start(&[]);
    let refused = served.dolium(&["exec", "SHUTDOWN", "SAVE"]);
    assert_eq!(refused.status.code(), Some(1), "it cannot be obeyed");
    let obeyed = served.dolium(&["exec", "shutdown", "nosave"]);
    let said = [obeyed.stdout, obeyed.stderr].concat();
    assert_eq!((obeyed.status.code(), String::from_utf8_lossy(&said).as_ref()), (Some(0), ""));
    assert!(served.child.wait().unwrap().success());
}
