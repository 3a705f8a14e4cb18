//! Large values that are handed over by commands which also change something: they cannot be asked for again, so
//! nothing is taken before there is room for what is answered.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::time::{Duration, Instant};

const MB: usize = 1_000_000;
const LEN: usize = 30 * MB;

/// The usual budget of 64 MB: two replies at once have no room in it.
fn house() -> House {
    House::open(&["maxmemory 900mb", "memcached-item-size-max 200mb", "threads 2"])
}

fn set(client: &mut Client, key: &str) {
    store(client, "SET", key);
    client.expect("+OK\r\n");
}

/// A list or a set of one element.
fn store_one(client: &mut Client, command: &str, key: &str) {
    store(client, command, key);
    client.expect(":1\r\n");
}

fn store(client: &mut Client, command: &str, key: &str) {
    let name = format!("${}\r\n{command}", command.len());
    client.send(format!("*3\r\n{name}\r\n$2\r\n{key}\r\n${LEN}\r\n").as_bytes());
    client.send(&vec![b'v'; LEN]);
    client.send(b"\r\n");
}

fn expect_value(client: &mut Client) {
    let mut missing = LEN;
    while missing > 0 {
        let part = client.take(missing.min(MB));
        assert!(part.iter().all(|byte| *byte == b'v'));
        missing -= part.len();
    }
}

/// Six clients ask for a value each, read nothing for a while, and get it whole.
fn six_are_answered(
    door: Door,
    store: impl Fn(&mut Client, &str),
    request: &str,
    before: &str,
    behind: &str,
) {
    let house = house();
    let mut clients = Vec::new();
    for n in 0..6 {
        store(&mut house.client(), &format!("k{n}"));
        clients.push((n, house.client_of(door)));
    }
    for (n, client) in &mut clients {
        client.send(request.replace("KK", &format!("k{n}")).as_bytes());
    }
    std::thread::sleep(Duration::from_millis(300));
    std::thread::scope(|scope| {
        for (n, mut client) in clients {
            scope.spawn(move || {
                if request.starts_with("MULTI") {
                    client.expect("+OK\r\n+QUEUED\r\n");
                }
                client.expect(&before.replace("KK", &format!("k{n}")));
                expect_value(&mut client);
                client.expect(behind);
            });
        }
    });
}

/// Before it asked first, the value was gone and its client closed: all but one or two of six.
#[test]
fn who_takes_a_value_beside_others_waits_and_gets_it() {
    let bulk = format!("${LEN}\r\n");
    let one = format!("*1\r\n{bulk}");
    let meta = format!("VA {LEN}\r\n");
    for (door, request, before, behind) in [
        (Door::Redis, "GETDEL KK\r\n", bulk.as_str(), "\r\n"),
        (Door::Redis, "GETEX KK EX 100\r\n", &bulk, "\r\n"),
        (Door::Redis, "GETSET KK new\r\n", &bulk, "\r\n"),
        (Door::Redis, "SET KK new GET\r\n", &bulk, "\r\n"),
        (Door::Redis, "MULTI\r\nGET KK\r\nEXEC\r\n", &one, "\r\n"),
        (Door::Memcached, "gat 100 KK\r\n", "VALUE KK 0 30000000\r\n", "\r\nEND\r\n"),
        (Door::Memcached, "mg KK v T100\r\n", &meta, "\r\n"),
    ] {
        six_are_answered(door, set, request, before, behind);
    }
}

/// The same of elements and members, which are gone too, and of what a transaction reads of them.
#[test]
fn who_takes_elements_beside_others_waits_and_gets_them() {
    let bulk = format!("${LEN}\r\n");
    let one = format!("*1\r\n{bulk}");
    let named = format!("*2\r\n$2\r\nKK\r\n{bulk}");
    let some = format!("*2\r\n$2\r\nKK\r\n{one}");
    let nested = format!("*1\r\n{one}");
    for (store, request, before) in [
        ("RPUSH", "LPOP KK\r\n", &bulk),
        ("RPUSH", "RPOP KK 2\r\n", &one),
        ("RPUSH", "BLPOP none KK 9\r\n", &named),
        ("RPUSH", "LMPOP 2 none KK LEFT COUNT 7\r\n", &some),
        ("RPUSH", "LMOVE KK KK LEFT RIGHT\r\n", &bulk),
        ("RPUSH", "MULTI\r\nLINDEX KK -1\r\nEXEC\r\n", &one),
        ("SADD", "SPOP KK\r\n", &bulk),
        ("SADD", "SPOP KK 5\r\n", &one),
        ("SADD", "MULTI\r\nSINTER KK KK\r\nEXEC\r\n", &nested),
        ("SADD", "MULTI\r\nSRANDMEMBER KK\r\nEXEC\r\n", &one),
    ] {
        let store = |client: &mut Client, key: &str| store_one(client, store, key);
        six_are_answered(Door::Redis, store, request, before, "\r\n");
    }
}

/// Who waits has taken nothing, and takes nothing when it is killed.
#[test]
fn who_is_killed_while_it_waits_leaves_the_value() {
    let house = house();
    let mut other = house.client();
    set(&mut other, "k0");
    set(&mut other, "k1");
    let mut slow = house.client();
    slow.send(b"GET k0\r\n");
    let buffers = &house.running.server.buffers;
    let until = |is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    until(&|| buffers.replies() > 0);
    let mut killed = house.client();
    killed.send(b"GETDEL k1\r\n");
    until(&|| buffers.has_replies_waiting());
    other.ask("CLIENT KILL TYPE normal SKIPME yes\r\n", ":2\r\n");
    until(&|| !buffers.has_replies_waiting());
    until(&|| buffers.replies() == 0);
    other.ask("STRLEN k1\r\n", &format!(":{LEN}\r\n"));
}

/// The values are not copied before there is room: what waits takes no memory of its own.
#[test]
fn values_that_wait_for_room_take_none() {
    let house = house();
    let mut other = house.client();
    set(&mut other, "k0");
    let mut silent: Vec<Client> = (0..12).map(|_| house.client()).collect();
    let buffers = &house.running.server.buffers;
    let mut most = 0;
    silent[0].send(b"GET k0\r\n");
    while buffers.replies() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let hits = keyspace_hits(&mut other);
    for client in &mut silent[1..] {
        client.send(b"GET k0\r\n");
    }
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(500) {
        most = most.max(buffers.used());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(most < 2 * LEN as u64, "{most} bytes");
    assert_eq!(keyspace_hits(&mut other), hits, "nobody who waits has run");
}

fn keyspace_hits(client: &mut Client) -> u64 {
    client.send(b"INFO stats\r\nPING\r\n");
    let mut text = Vec::new();
    while !text.ends_with(b"+PONG\r\n") {
        text.extend(client.take(1));
    }
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("keyspace_hits:"));
    line.unwrap().parse().unwrap()
}
