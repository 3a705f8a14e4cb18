//! Replies that are larger than what all clients' buffers may take: each door sends them, one at a time.

#[allow(dead_code)]
mod door;

use dolium_attach::{Store, Value};
use dolium_server::listener::Door;
use door::{Client, House};
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

const MB: usize = 1_000_000;

/// Each test has a place of its own.
fn attach_socket() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
    std::env::temp_dir().join(format!("dolium-answers-{process}-{number}"))
}

/// A server with the usual budget of 64 MB, and the values of 40 and 100 MB in it.
fn house(threads: &str) -> House {
    let socket = format!("attach-socket {}", attach_socket().display());
    let directives = ["maxmemory 600mb", "memcached-item-size-max 200mb", threads, &socket];
    let house = House::open(&directives);
    let mut client = house.client();
    for (key, len) in [("a", 40 * MB), ("b", 100 * MB)] {
        client.send(format!("*3\r\n$3\r\nSET\r\n$1\r\n{key}\r\n${len}\r\n").as_bytes());
        client.send(&vec![b'v'; len]);
        client.ask("\r\n", "+OK\r\n");
    }
    house
}

/// Reads exactly the value.
fn expect_value(client: &mut Client, len: usize) {
    let mut missing = len;
    while missing > 0 {
        let part = client.take(missing.min(MB));
        assert!(part.iter().all(|byte| *byte == b'v'));
        missing -= part.len();
    }
}

fn ask_redis(client: &mut Client, request: &str, len: usize) {
    client.send(request.as_bytes());
    client.expect(&format!("${len}\r\n"));
    expect_value(client, len);
    client.expect("\r\n");
}

/// All that was granted has come back.
fn is_free(house: &House) {
    let buffers = &house.running.server.buffers;
    let begun = Instant::now();
    while buffers.replies() + buffers.used() > MB as u64 || buffers.has_replies_waiting() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{} bytes", buffers.replies());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// From 33 MB on every reply closed its connection without a byte, though the value had been taken.
#[test]
fn every_door_answers_with_values_larger_than_the_budget() {
    let house = house("threads 1");
    for (key, len) in [("a", 40 * MB), ("b", 100 * MB)] {
        let mut client = house.client();
        ask_redis(&mut client, &format!("GET {key}\r\n"), len);
        ask_redis(&mut client, &format!("GETRANGE {key} 0 -2\r\n"), len - 1);
        for keys in [1, 2] {
            client.send(format!("MGET{}\r\n", format!(" {key}").repeat(keys)).as_bytes());
            client.expect(&format!("*{keys}\r\n"));
            for _ in 0..keys {
                client.expect(&format!("${len}\r\n"));
                expect_value(&mut client, len);
                client.expect("\r\n");
            }
        }
        client.send(format!("MULTI\r\nGET {key}\r\nEXEC\r\n").as_bytes());
        client.expect(&format!("+OK\r\n+QUEUED\r\n*1\r\n${len}\r\n"));
        expect_value(&mut client, len);
        client.expect("\r\n");
        client.ask("PING\r\n", "+PONG\r\n");
        let mut client = house.client_of(Door::Memcached);
        client.send(format!("get {key} none {key}\r\n").as_bytes());
        for _ in 0..2 {
            client.expect(&format!("VALUE {key} 0 {len}\r\n"));
            expect_value(&mut client, len);
            client.expect("\r\n");
        }
        client.expect("END\r\n");
        client.send(format!("mg {key} v\r\n").as_bytes());
        client.expect(&format!("VA {len}\r\n"));
        expect_value(&mut client, len);
        client.expect("\r\n");
        let mut client = house.client_of(Door::Memcached);
        let mut request = vec![0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1];
        request.extend([0; 12]);
        request.extend(key.as_bytes());
        client.send(&request);
        let head = client.take(28);
        assert_eq!(head[8..12], (len as u32 + 4).to_be_bytes());
        expect_value(&mut client, len);
        let mut client = house.client_of(Door::Http);
        client.send(format!("GET /keys/{key} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(client.take(1));
        }
        assert!(head.starts_with(b"HTTP/1.1 200"), "{}", head.escape_ascii());
        expect_value(&mut client, len);
        let store = Store::attach(house.running.attach.as_deref().unwrap()).unwrap();
        let reply = store.execute(&[b"GET", key.as_bytes()]).unwrap();
        assert!(matches!(reply, Value::Bulk(value) if value.len() == len));
    }
    is_free(&house);
}

/// Of several that ask at once one is answered after the other, on whatever thread they are.
#[test]
fn who_asks_for_much_beside_others_waits_and_is_answered() {
    for threads in ["threads 1", "threads 2"] {
        let house = house(threads);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let house = &house;
                let (door, request, before, len, behind) = match n % 2 {
                    0 => (
                        Door::Redis,
                        "GET a\r\nSTRLEN a\r\n",
                        "$40000000\r\n",
                        40,
                        "\r\n:40000000\r\n",
                    ),
                    _ => (
                        Door::Memcached,
                        "get b\r\nmn\r\n",
                        "VALUE b 0 100000000\r\n",
                        100,
                        "\r\nEND\r\nMN\r\n",
                    ),
                };
                scope.spawn(move || {
                    let mut client = house.client_of(door);
                    client.send(request.as_bytes());
                    client.expect(before);
                    expect_value(&mut client, len * MB);
                    client.expect(behind);
                });
            }
        });
        is_free(&house);
    }
}

/// A client that does not read keeps others waiting for a moment, not for ever; and nobody from
/// writing, or from what is small.
#[test]
fn a_client_that_does_not_read_gives_its_room_back() {
    let house = house("threads 2");
    let mut silent = house.client();
    silent.send(b"GET b\r\n");
    let buffers = &house.running.server.buffers;
    while buffers.replies() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let begun = Instant::now();
    let mut other = house.client();
    other.send(b"GET a\r\n");
    let mut writer = house.client();
    let value = "w".repeat(40 * MB);
    writer.ask(&format!("*3\r\n$3\r\nSET\r\n$1\r\nc\r\n$40000000\r\n{value}\r\n"), "+OK\r\n");
    writer.ask("SET d small\r\nGET d\r\n", "+OK\r\n$5\r\nsmall\r\n");
    assert!(begun.elapsed() < Duration::from_secs(8), "it has not waited for the silent one");
    assert!(buffers.has_replies_waiting());
    other.expect("$40000000\r\n");
    expect_value(&mut other, 40 * MB);
    other.expect("\r\n");
    let mut got = 0;
    let mut part = vec![0; 1 << 20];
    while let Ok(n @ 1..) = silent.socket.read(&mut part) {
        got += n;
    }
    assert!(got < 100 * MB, "it was closed");
    is_free(&house);
}

/// One that reads slowly does read. It was taken for one that does not where it read less than some 100 kB a
/// second: the socket tells of room when a third of it is free.
#[test]
fn a_client_that_reads_slowly_is_answered_to_the_last_byte() {
    let house = house("threads 1");
    let mut slow = house.client();
    slow.send(b"GET a\r\n");
    slow.expect("$40000000\r\n");
    let mut other = house.client();
    other.send(b"GET b\r\n");
    let begun = Instant::now();
    let mut missing = 40 * MB;
    while begun.elapsed() < Duration::from_secs(14) {
        missing -= slow.take(40_000).len();
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(house.running.server.buffers.has_replies_waiting(), "nobody wanted its room");
    expect_value(&mut slow, missing);
    slow.expect("\r\n");
    other.expect("$100000000\r\n");
    expect_value(&mut other, 100 * MB);
    other.expect("\r\n");
    is_free(&house);
}

/// Who waits and goes is forgotten, as is who is killed.
#[test]
fn who_waits_for_room_and_goes_takes_none() {
    let house = house("threads 1");
    let mut slow = house.client();
    slow.send(b"GET b\r\n");
    let buffers = &house.running.server.buffers;
    let waits = |is_so: bool| {
        let begun = Instant::now();
        while buffers.has_replies_waiting() != is_so {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    while buffers.replies() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut killed = house.client();
    killed.ask("CLIENT SETNAME gone\r\n", "+OK\r\n");
    killed.ask("CLIENT ID\r\n", ":");
    let mut id = String::new();
    while !id.ends_with('\n') {
        id.push(killed.take(1)[0] as char);
    }
    killed.send(b"GET a\r\n");
    waits(true);
    house.client().ask(&format!("CLIENT KILL ID {}\r\n", id.trim()), ":1\r\n");
    waits(false);
    let mut gone = house.client();
    gone.send(b"GET a\r\n");
    waits(true);
    drop(gone);
    slow.expect("$100000000\r\n");
    expect_value(&mut slow, 100 * MB);
    slow.expect("\r\n");
    is_free(&house);
}

/// Of sixty clients that asked for 3.9 MB each and did not read at once, fifty-two were closed: a reply of less than a
/// sixteenth of the budget asked nobody for room. `mg` counted as a write, whose reply cannot wait.
#[test]
fn many_who_ask_for_some_megabytes_wait_and_are_answered() {
    let house = house("threads 2");
    let (len, value) = (3_900_000, "v".repeat(3_900_000));
    house.client().ask(&format!("*3\r\n$3\r\nSET\r\n$1\r\nm\r\n${len}\r\n{value}\r\n"), "+OK\r\n");
    for (door, request, before, len, clients) in [
        (Door::Redis, "GET m\r\n", "$3900000\r\n", len, 40),
        (Door::Memcached, "gets m\r\n", "VALUE m 0 3900000 ", len, 40),
        (Door::Memcached, "mg m v\r\n", "VA 3900000\r\n", len, 40),
        (Door::Memcached, "mg a v\r\n", "VA 40000000\r\n", 40 * MB, 5),
    ] {
        let mut silent: Vec<Client> = (0..clients).map(|_| house.client_of(door)).collect();
        silent.iter_mut().for_each(|client| client.send(request.as_bytes()));
        std::thread::sleep(Duration::from_millis(300));
        std::thread::scope(|scope| {
            for mut client in silent {
                scope.spawn(move || {
                    client.expect(before);
                    while !before.ends_with('\n') && client.take(1) != b"\n" {}
                    expect_value(&mut client, len);
                    client.expect("\r\n");
                });
            }
        });
        is_free(&house);
    }
}

/// A value that is stale is given to all, and to one of them to be made anew: `mg` reads, whatever marks it meets.
#[test]
fn a_pause_of_writes_lets_meta_gets_through() {
    let house = house("threads 1");
    let mut client = house.client_of(Door::Memcached);
    client.ask("set s 0 0 1\r\ns\r\nmd s I\r\n", "STORED\r\nHD\r\n");
    house.client().ask("CLIENT PAUSE 100000 WRITE\r\n", "+OK\r\n");
    client.ask("mg s v\r\nmg s v\r\nmn\r\n", "VA 1 X W\r\ns\r\nVA 1 Z X\r\ns\r\nMN\r\n");
    let mut writer = house.client_of(Door::Memcached);
    writer.send(b"mg s v T30\r\n");
    let begun = Instant::now();
    while house.running.server.pause.held() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it is not held");
        std::thread::sleep(Duration::from_millis(5));
    }
    house.client().ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
    writer.expect("VA 1 Z X\r\ns\r\n");
}
