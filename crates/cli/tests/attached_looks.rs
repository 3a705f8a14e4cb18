//! Requests through rings that come just when the server stops looking for them, and begins to sleep.
//!
//! A server's thread looks into a ring for some microseconds behind a request, and then tells its client to ring. One
//! that came between the last look and the telling must not be left in the ring: its client would wait for ever.

mod served;

use dolium_attach::{Socket, Store, Value};
use served::Served;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CLIENTS: u64 = 4;
const TIME: Duration = Duration::from_secs(2);
/// A request that is not answered by then has been forgotten.
const LIMIT: Duration = Duration::from_secs(10);
/// Pauses between requests: up to as long, around what the server looks and what it takes to sleep.
const PAUSE_US_MAX: u64 = 60;

/// One after the other, with pauses of changing length between them. How many.
fn ask_with_pauses(store: &Store, mut state: u64) -> i64 {
    let begun = Instant::now();
    let mut asked = 0;
    while begun.elapsed() < TIME {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let random = state >> 33;
        match random % 512 {
            // All are held, and what comes meanwhile is not to be forgotten either.
            0 => {
                let reply = store.execute(&[b"CLIENT", b"PAUSE", b"2"]).unwrap();
                assert_eq!(reply, Value::Simple(b"OK".to_vec()));
            }
            1..8 => std::thread::sleep(Duration::from_millis(2)),
            // Larger than a ring.
            8..16 => {
                let value = vec![b'v'; 200_000];
                let reply = store.execute(&[b"SET", b"large", &value]).unwrap();
                assert_eq!(reply, Value::Simple(b"OK".to_vec()));
            }
            _ => {}
        }
        assert!(matches!(store.execute(&[b"INCR", b"asked"]).unwrap(), Value::Int(_)));
        asked += 1;
        let pause = Duration::from_micros(random / 512 % PAUSE_US_MAX);
        let since = Instant::now();
        while since.elapsed() < pause {
            std::hint::spin_loop();
        }
    }
    asked
}

#[test]
fn no_request_is_left_in_a_ring_whatever_the_pause_before_it() {
    let served = Served::start(&["--threads", "1"]);
    let (asked, heard) = std::thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|number| {
            let store = served.attach().with_time_limit(Some(LIMIT));
            scope.spawn(move || ask_with_pauses(&store, number))
        });
        let clients: Vec<_> = clients.collect();
        // Who asks over a socket has turns meanwhile.
        let mut socket = Socket::unix(served.redis_path()).unwrap();
        let mut heard = 0;
        while clients.iter().any(|client| !client.is_finished()) {
            let begun = Instant::now();
            assert_eq!(socket.execute(&[b"ECHO", b"x"]).unwrap(), Value::Bulk(b"x".to_vec()));
            assert!(begun.elapsed() < LIMIT);
            heard += 1;
            std::thread::sleep(Duration::from_micros(100));
        }
        (clients.into_iter().map(|client| client.join().unwrap()).sum::<i64>(), heard)
    });
    let store = served.attach();
    assert_eq!(store.get(b"asked").unwrap(), Some(asked.to_string().into_bytes()));
    assert!(asked > 1_000 && heard > 100, "{asked} requests through rings, {heard} over a socket");
}

/// A thread that was told of an event while it looked went to it without having told its clients to ring. By then
/// the event could be gone: a datagram that another thread had taken, or a look that a signal had interrupted, which
/// counts as one. So it slept, and the next request lay in its ring until the server's tick, for up to a second. Here
/// strace tells the thread that each of its looks was interrupted.
#[test]
fn a_thread_does_not_sleep_where_the_event_that_ended_its_look_is_gone() {
    const REQUESTS: u32 = 20;
    let served = Served::start(&["--threads", "1"]);
    let store = served.attach().with_time_limit(Some(LIMIT));
    let tasks = format!("/proc/{}/task", served.child.id());
    let named = |name: &str| {
        let mut tasks = std::fs::read_dir(&tasks).unwrap().map(|task| task.unwrap().path());
        tasks.find(|task| std::fs::read_to_string(task.join("comm")).unwrap().trim() == name)
    };
    let thread = named("dolium-0").expect("the thread that serves");
    let seen = served.folder.join("strace");
    let mut strace = Command::new("strace")
        .args(["-e", "trace=poll,ppoll", "-e", "inject=poll,ppoll:error=EINTR", "-o"])
        .arg(&seen)
        .args(["-p", thread.file_name().unwrap().to_str().unwrap()])
        .stderr(Stdio::null())
        .spawn()
        .expect("strace is installed (cargo xtask test does that)");
    let begun = Instant::now();
    while std::fs::read_to_string(thread.join("status")).unwrap().contains("TracerPid:\t0\n") {
        assert!(begun.elapsed() < LIMIT, "strace does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    let begun = Instant::now();
    for _ in 0..REQUESTS {
        assert!(matches!(store.execute(&[b"INCR", b"asked"]).unwrap(), Value::Int(_)));
        std::thread::sleep(Duration::from_millis(2));
    }
    let took = begun.elapsed();
    strace.kill().unwrap();
    strace.wait().unwrap();
    assert!(took < Duration::from_secs(u64::from(REQUESTS) / 4), "they waited for ticks: {took:?}");
    let seen = std::fs::read_to_string(seen).unwrap();
    // With a single core it does not look.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(cores == 1 || seen.contains("EINTR"), "it looked: {seen}");
}
