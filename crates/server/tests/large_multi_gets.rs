//! One `get` for many large values: it is answered in pieces, as its client reads them.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::time::{Duration, Instant};

const LARGE: usize = 100_000;
const KEYS: usize = 100;

/// Keys `k0`, `k1` and so on; the value of each is a letter of its own.
fn house(directives: &[&str]) -> (House, Client) {
    let house = House::open(&[&["maxmemory 200mb"], directives].concat());
    let mut writer = house.client_of(Door::Memcached);
    for number in 0..KEYS {
        let value = value(number);
        writer.ask(&format!("set k{number} {number} 0 {LARGE}\r\n{value}\r\n"), "STORED\r\n");
    }
    (house, writer)
}

fn value(number: usize) -> String {
    char::from(b'a' + (number % 26) as u8).to_string().repeat(LARGE)
}

fn names(numbers: std::ops::Range<usize>) -> String {
    numbers.map(|number| format!("k{number}")).collect::<Vec<_>>().join(" ")
}

fn expect_items(client: &mut Client, numbers: std::ops::Range<usize>) {
    for number in numbers {
        client.expect(&format!("VALUE k{number} {number} {LARGE}\r\n"));
        assert!(client.take(LARGE) == value(number).as_bytes(), "the value of k{number}");
        client.expect("\r\n");
    }
}

/// What one client's connection keeps in buffers once the server has sent what the socket takes.
fn kept_for_a_full_socket(house: &House, client: &mut Client, request: &str) -> u64 {
    let buffers = &house.running.server.buffers;
    client.send(request.as_bytes());
    let begun = Instant::now();
    while buffers.used() == 0 && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    buffers.used()
}

/// What the socket had no room for was copied at once: six megabytes of ten, and as often as clients
/// asked for it. Later it was what was left of four megabytes, which took 7 % of the time of a server
/// that answers such requests; now it is what is left of one value, and of the requests.
#[test]
fn who_does_not_read_has_a_value_kept_and_not_the_reply() {
    const MOST: u64 = LARGE as u64 + 10_000;
    let (house, _) = house(&[]);
    let request = format!("get {} none {}\r\nget k7\r\n", names(0..50), names(50..KEYS));
    let mut client = house.client_of(Door::Memcached);
    // The second time its peer has read four megabytes meanwhile.
    for time in ["first", "second"] {
        let kept = kept_for_a_full_socket(&house, &mut client, &request);
        assert!((1..=MOST).contains(&kept), "{kept} bytes are kept the {time} time");
        expect_items(&mut client, 0..KEYS);
        client.expect("END\r\n");
        expect_items(&mut client, 7..8);
        client.expect("END\r\n");
        client.ask(&format!("get {}\r\n", names(0..40)), "");
        expect_items(&mut client, 0..40);
        client.expect("END\r\n");
    }
}

/// A number of `stats`.
fn told(client: &mut Client, name: &str) -> u64 {
    client.send(b"stats\r\n");
    let mut reply = Vec::new();
    while !reply.ends_with(b"END\r\n") {
        reply.extend(client.take(1));
    }
    let reply = String::from_utf8(reply).expect("text");
    let begin = format!("STAT {name} ");
    let number = reply.lines().find_map(|line| line.strip_prefix(&begin)).expect("it is told");
    number.parse().expect("a number")
}

/// Keys whose values were found, had no room in the socket and were asked for again are counted
/// and shown to who watches when they were found, and no more. Those that were not there as well.
#[test]
fn each_key_is_counted_once_and_shown_once() {
    let (house, mut other) = house(&[]);
    other.ask("set short 7 0 3\r\nabc\r\n", "STORED\r\n");
    let mut watcher = house.client_of(Door::Memcached);
    watcher.ask("watch fetchers\r\n", "OK\r\n");
    let mut client = house.client_of(Door::Memcached);
    // One that is copied before each that is lent: wherever it is cut, there are some behind.
    let pairs = (0..KEYS).map(|number| format!("short k{number}")).collect::<Vec<_>>().join(" ");
    let request = format!("get none {pairs} none\r\n");
    let before = house.running.server.engine.statistics();
    for time in 1..=3 {
        kept_for_a_full_socket(&house, &mut client, &request);
        for number in 0..KEYS {
            client.expect("VALUE short 7 3\r\nabc\r\n");
            expect_items(&mut client, number..number + 1);
        }
        client.expect("END\r\n");
        let counts = ["cmd_get", "get_hits", "get_misses"].map(|name| told(&mut other, name));
        assert_eq!(counts, [time * 202, time * 200, time * 2]);
        let engine = house.running.server.engine.statistics();
        let counts = [engine.hits - before.hits, engine.misses - before.misses];
        assert_eq!(counts, [time * 200, time * 2]);
    }
    other.ask("get last\r\n", "END\r\n");
    let mut seen = String::new();
    while !seen.contains(" key=last ") {
        seen.push_str(&String::from_utf8(watcher.take(1)).expect("text"));
    }
    for name in (0..KEYS).map(|number| format!("k{number}")) {
        assert_eq!(seen.matches(&format!(" key={name} ")).count(), 3, "{name}");
    }
    assert_eq!(seen.matches(" key=none ").count(), 6);
    assert_eq!(seen.matches(" key=short ").count(), 300);
}

/// Requests behind it wait for its end, and each is counted when it runs, once.
#[test]
fn what_comes_behind_runs_behind_and_is_counted_once() {
    let (house, mut other) = house(&[]);
    let statistics = &house.running.server.statistics;
    // Counted when the batch has run, which is after the replies were sent.
    let settled = |least: u64| {
        let begun = Instant::now();
        while statistics.sum(|thread| &thread.commands) < least
            && begun.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(100));
        statistics.sum(|thread| &thread.commands)
    };
    let before = settled(KEYS as u64);
    let request = format!(
        "get {}  \r\nset k1 1 0 1\r\nx\r\ngets k1 none\r\nget {}\r\nversion\r\n",
        names(0..KEYS),
        names(0..KEYS)
    );
    let mut client = house.client_of(Door::Memcached);
    kept_for_a_full_socket(&house, &mut client, &request);
    // It has not run.
    other.ask("mg k1 s\r\n", &format!("HD s{LARGE}\r\n"));
    expect_items(&mut client, 0..KEYS);
    client.expect("END\r\nSTORED\r\nVALUE k1 1 1 ");
    while client.take(1) != b"\n" {}
    client.expect("x\r\nEND\r\n");
    expect_items(&mut client, 0..1);
    client.expect("VALUE k1 1 1\r\nx\r\n");
    expect_items(&mut client, 2..KEYS);
    client.expect("END\r\nVERSION 1.6.18\r\n");
    // What is not there yet is waited for, although there is a line already.
    client.send(b"set part 0 0 300\r\n");
    std::thread::sleep(Duration::from_millis(100));
    client.ask(&format!("{}\r\n", "v".repeat(300)), "STORED\r\n");
    assert_eq!(settled(before + 7) - before, 7);
}

/// Every unique number is given, also where it has to be made.
#[test]
fn gets_goes_on_with_unique_numbers() {
    let (house, _) = house(&[]);
    let mut client = house.client_of(Door::Memcached);
    for _ in 0..2 {
        kept_for_a_full_socket(&house, &mut client, &format!("gets {}\r\n", names(0..KEYS)));
        let mut seen = std::collections::HashSet::new();
        for number in 0..KEYS {
            client.expect(&format!("VALUE k{number} {number} {LARGE} "));
            let mut unique = Vec::new();
            while unique.last() != Some(&b'\n') {
                unique.extend(client.take(1));
            }
            assert!(seen.insert(unique), "a number of its own");
            assert!(client.take(LARGE) == value(number).as_bytes(), "the value of k{number}");
            client.expect("\r\n");
        }
        client.expect("END\r\n");
    }
}

/// A list among the keys is the whole reply, wherever it stands; if a key becomes one when the first
/// items have been sent, that is the end of the reply.
#[test]
fn a_list_is_told_of_before_the_first_item_is_sent() {
    let (house, _) = house(&[]);
    let refusal = "CLIENT_ERROR the key holds a value of another type\r\n";
    let mut redis = house.client();
    redis.ask("RPUSH list x\r\n", ":1\r\n");
    let mut client = house.client_of(Door::Memcached);
    for verb in ["get", "gets"] {
        client.ask(&format!("{verb} {} list k1\r\n", names(0..KEYS - 1)), refusal);
    }
    let request = format!("get {}\r\nget k3\r\n", names(0..KEYS));
    kept_for_a_full_socket(&house, &mut client, &request);
    redis.ask("DEL k99\r\nRPUSH k99 x\r\n", ":1\r\n:1\r\n");
    expect_items(&mut client, 0..KEYS - 1);
    client.expect(refusal);
    expect_items(&mut client, 3..4);
    client.expect("END\r\n");
    // And the next request begins anew.
    client.ask(&format!("get {} k99\r\n", names(0..KEYS - 1)), refusal);
}

/// Values that are not lent are sent in pieces as well.
#[test]
fn values_too_large_to_be_lent_come_piece_by_piece() {
    const HUGE: usize = 1_500_000;
    const MOST: u64 = 4_000_000;
    let house = House::open(&["maxmemory 200mb", "proto-max-bulk-len 10mb"]);
    let mut redis = house.client();
    let value = "v".repeat(HUGE);
    for number in 0..8 {
        redis.ask(
            &format!("*3\r\n$3\r\nSET\r\n$2\r\nk{number}\r\n${HUGE}\r\n{value}\r\n"),
            "+OK\r\n",
        );
    }
    let mut client = house.client_of(Door::Memcached);
    let kept = kept_for_a_full_socket(&house, &mut client, &format!("get {}\r\n", names(0..8)));
    assert!((1..=MOST).contains(&kept), "{kept} bytes are kept");
    for number in 0..8 {
        client.expect(&format!("VALUE k{number} 0 {HUGE}\r\n"));
        assert!(client.take(HUGE).iter().all(|byte| *byte == b'v'));
        client.expect("\r\n");
    }
    client.expect("END\r\n");
}

/// A client that has asked and closed its side gets all of it, and the end. Of several such requests
/// those behind the first are not gathered with it.
#[test]
fn who_has_said_all_gets_every_piece() {
    let (house, _) = house(&[]);
    let mut client = house.client_of(Door::Memcached);
    let request = format!("get {}\r\n", names(0..KEYS));
    kept_for_a_full_socket(&house, &mut client, &(request.repeat(3) + "mn\r\n" + &request));
    client.socket.shutdown(std::net::Shutdown::Write).expect("a socket");
    std::thread::sleep(Duration::from_millis(100));
    for end in ["", "", "MN\r\n", ""] {
        expect_items(&mut client, 0..KEYS);
        client.expect("END\r\n");
        client.expect(end);
    }
    assert_eq!(client.take_all(), b"");
}

/// A server that stops sends what it has begun: the client would take half of its items for all.
#[test]
fn who_stops_ends_the_reply() {
    let (house, _) = house(&[]);
    let mut client = house.client_of(Door::Memcached);
    kept_for_a_full_socket(&house, &mut client, &format!("get {}\r\n", names(0..KEYS)));
    house.running.server.stop();
    expect_items(&mut client, 0..KEYS);
    client.expect("END\r\n");
    assert_eq!(client.take_all(), b"");
}

/// What stood behind a `get` that is answered in pieces was answered before its last piece, where a large
/// request at the end of the same segment waited for room in the buffers' budget.
#[test]
fn replies_keep_their_order_before_a_request_that_waits_for_room() {
    // More than the half, so that nothing is left of it; and of the other half enough for both clients.
    const HELD: usize = 2_200_000;
    const ADDED: usize = 40_000;
    let (house, _) = house(&["client-buffers-max 4mb"]);
    let mut holder = house.client();
    holder.send(format!("*3\r\n$3\r\nSET\r\n$1\r\nb\r\n${HELD}\r\n").as_bytes());
    let begun = Instant::now();
    while house.running.server.buffers.reserved() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it is granted room");
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut client = house.client_of(Door::Memcached);
    let gets = format!("get {}\r\nget k7\r\n", names(0..KEYS));
    client.send(format!("{gets}append k1 0 0 {ADDED}\r\nbegun").as_bytes());
    expect_items(&mut client, 0..KEYS);
    client.expect("END\r\n");
    expect_items(&mut client, 7..8);
    client.expect("END\r\n");
    holder.send("z".repeat(HELD).as_bytes());
    holder.ask("\r\n", "+OK\r\n");
    client.send("z".repeat(ADDED - "begun".len()).as_bytes());
    client.ask("\r\n", "STORED\r\n");
}
