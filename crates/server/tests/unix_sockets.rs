//! Unix sockets say that there is room whenever the peer has read something.

#[allow(dead_code)]
mod door;

use door::House;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One house at a time: its thread is found by its name.
static ALONE: Mutex<()> = Mutex::new(());

fn house(name: &str) -> (MutexGuard<'static, ()>, House, UnixStream) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let path: PathBuf =
        std::env::temp_dir().join(format!("dolium-{name}-{}.sock", std::process::id()));
    let house = House::open(&[&format!("unixsocket {}", path.display())]);
    let client = UnixStream::connect(&path).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    (alone, house, client)
}

/// How often the serving thread has gone to sleep.
fn sleeps() -> u64 {
    let of_server = std::fs::read_dir("/proc/self/task").unwrap().find_map(|task| {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).ok()?;
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let is_server = line("Name:")?.trim() == "dolium-0";
        is_server.then(|| line("voluntary_ctxt_switches:")?.trim().parse().ok()).flatten()
    });
    of_server.expect("a serving thread")
}

/// The thread was woken for every request, and again when its client had read the reply. Ticks and other
/// threads' mail come on top, the more of them the longer the machine takes for it: where it is busy with
/// something else one quiet try of several is enough, since two wakes a request would show in each.
#[test]
fn nobody_is_woken_when_a_reply_has_been_read() {
    const REQUESTS: u64 = 50;
    const TRIES: usize = 10;
    let (_alone, _house, mut client) = house("woken");
    let mut ask = || {
        client.write_all(b"PING\r\n").unwrap();
        // The thread has answered and sleeps again.
        std::thread::sleep(Duration::from_millis(5));
        let mut reply = [0; 7];
        client.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+PONG\r\n");
        std::thread::sleep(Duration::from_millis(5));
    };
    ask();
    let mut tries = (0..TRIES).map(|_| {
        let before = sleeps();
        (0..REQUESTS).for_each(|_| ask());
        sleeps() - before
    });
    let expected = REQUESTS..REQUESTS * 3 / 2;
    assert!(tries.any(|slept| expected.contains(&slept)), "never slept {expected:?} times");
}

/// The descriptor is not watched for room until there was none.
#[test]
fn replies_that_find_no_room_go_on_when_there_is_some() {
    const LEN: usize = 4_000_000;
    let (_alone, _house, mut client) = house("room");
    let value = "v".repeat(LEN);
    let expect = |client: &mut UnixStream, expected: &[u8]| {
        let mut reply = vec![0; expected.len()];
        client.read_exact(&mut reply).unwrap();
        assert!(reply == expected, "another reply: {}", reply[..20].escape_ascii());
    };
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n${LEN}\r\n{value}\r\n");
    client.write_all(set.as_bytes()).unwrap();
    expect(&mut client, b"+OK\r\n");
    let whole = format!("${LEN}\r\n{value}\r\n");
    for _ in 0..3 {
        client.write_all(b"GET a\r\nGET a\r\nPING\r\n").unwrap();
        // Long enough for the socket to be full, and for the thread to sleep.
        std::thread::sleep(Duration::from_millis(100));
        expect(&mut client, &[whole.as_bytes(), whole.as_bytes(), b"+PONG\r\n"].concat());
    }
}
