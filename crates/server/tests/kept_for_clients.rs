//! What commands have had kept for a client (names, subscriptions, the queue of MULTI, watched keys and those that
//! are waited for) is part of the clients' budget, as its buffers are.
//!
//! Once it was not counted at all: ten clients that had each queued 36 MB in MULTI took 350 MB beside a
//! `maxmemory` of 64 MB, and INFO and CLIENT LIST said that they took none.

mod door;

use door::{Client, House};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const BUDGET: u64 = 4 << 20;
const NAME: usize = 200_000;

fn house() -> House {
    House::open(&["maxmemory 64mb", "client-buffers-max 4mb"])
}

fn request(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

/// A name like no other.
fn name(client: usize, number: usize) -> String {
    format!("{client}-{number}-{}", "n".repeat(NAME))
}

/// Until the budget says so; others' threads take a moment.
fn until(house: &House, is_so: impl Fn(u64) -> bool, what: &str) {
    let begun = Instant::now();
    while !is_so(house.running.server.buffers.used()) {
        let used = house.running.server.buffers.used();
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}: {used} bytes are used");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Clients who have much kept for them, request by request, are closed where it becomes too much, and what
/// was kept for them is given back.
fn fill(before: &[u8], make: impl Fn(usize, usize) -> Vec<u8>, what: &str) {
    let house = house();
    let mut clients: Vec<Client> = (0..4).map(|_| house.client()).collect();
    let mut answer = vec![0; 1 << 20];
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(before);
        for round in 0..10 {
            // A client that is closed meanwhile is told of it by an error, or by the end of what it reads.
            let is_sent = client.socket.write_all(&make(number, round)).is_ok();
            if !is_sent || !matches!(client.socket.read(&mut answer), Ok(1..)) {
                break;
            }
            let used = house.running.server.buffers.used();
            // Beside the budget there is the last request, and what is kept of it.
            assert!(used < BUDGET + 4 * NAME as u64, "{what}: {used} bytes");
        }
    }
    let left = house.running.server.clients.len();
    assert!((1..4).contains(&left), "{what}: {left} clients are left");
    let mut other = house.client();
    other.ask("PING\r\n", "+PONG\r\n");
    drop(clients);
    until(&house, |used| used == 0, what);
}

#[test]
fn what_multi_queues_is_counted() {
    let echo = |_, _| request(&["ECHO", &"x".repeat(NAME)]);
    fill(&request(&["MULTI"]), echo, "MULTI");
    let set = |_, _| request(&["SET", "key", &"x".repeat(NAME)]);
    fill(&request(&["MULTI"]), set, "SET in MULTI");
}

#[test]
fn names_of_channels_and_patterns_are_counted() {
    fill(b"", |client, n| request(&["SUBSCRIBE", &name(client, n)]), "SUBSCRIBE");
    fill(b"", |client, n| request(&["PSUBSCRIBE", &name(client, n)]), "PSUBSCRIBE");
}

#[test]
fn watched_keys_are_counted() {
    let keys = |client, n| {
        let keys: Vec<String> =
            (0..10).map(|key| format!("{client}-{n}-{key}-{}", "k".repeat(NAME / 10))).collect();
        let words: Vec<&str> =
            std::iter::once("WATCH").chain(keys.iter().map(String::as_str)).collect();
        request(&words)
    };
    fill(b"", keys, "WATCH");
}

/// Each state is counted while it lasts and not a byte longer, and where others may see it.
#[test]
fn what_is_kept_is_told_of_and_given_back() {
    let house = house();
    let mut client = house.client();
    let used = || house.running.server.buffers.used();
    let word = "w".repeat(10_000);
    let fits = |used: u64| (10_000..50_000).contains(&used);
    let cases = [
        (vec!["CLIENT", "SETNAME", &word], vec!["RESET"]),
        (vec!["CLIENT", "SETINFO", "LIB-NAME", &word], vec!["CLIENT", "SETINFO", "LIB-NAME", ""]),
        (vec!["CLIENT", "SETINFO", "LIB-VER", &word], vec!["CLIENT", "SETINFO", "LIB-VER", ""]),
        (vec!["HELLO", "3", "SETNAME", &word], vec!["RESET"]),
        (vec!["SUBSCRIBE", &word], vec!["UNSUBSCRIBE"]),
        (vec!["PSUBSCRIBE", &word], vec!["PUNSUBSCRIBE", &word]),
        (vec!["SUBSCRIBE", &word], vec!["RESET"]),
        (vec!["WATCH", &word], vec!["UNWATCH"]),
        (vec!["WATCH", &word], vec!["RESET"]),
    ];
    for (keep, give_back) in cases {
        let what = format!("{} {}", keep[0], give_back[0]);
        client.send(&request(&keep));
        until(&house, fits, &what);
        client.send(&request(&give_back));
        until(&house, |used| used == 0, &what);
    }
    let mut queues = house.client();
    for end in ["DISCARD", "EXEC", "RESET"] {
        queues.ask("MULTI\r\n", "+OK\r\n");
        queues.send(&request(&["ECHO", &word]));
        queues.expect("+QUEUED\r\n");
        until(&house, fits, end);
        let mut other = house.client();
        other.send(b"CLIENT LIST\r\nINFO memory\r\nQUIT\r\n");
        let told = String::from_utf8_lossy(&other.take_all()).into_owned();
        let of_multi = told.lines().find(|line| line.contains(" multi=1 ")).expect("a line");
        let figure = |name: &str, text: &str| -> u64 {
            let (_, rest) = text.split_once(name).expect(name);
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().expect("a number")
        };
        assert!(fits(figure("multi-mem=", of_multi)), "{of_multi}");
        assert!(fits(figure("tot-mem=", of_multi)), "{of_multi}");
        assert!(fits(figure("mem_clients_normal:", &told)), "{told}");
        queues.send(&request(&[end]));
        until(&house, |used| used == 0, end);
        match end {
            "EXEC" => queues.expect(&format!("*1\r\n$10000\r\n{word}\r\n")),
            "DISCARD" => queues.expect("+OK\r\n"),
            _ => queues.expect("+RESET\r\n"),
        }
    }
    assert_eq!(used(), 0);
}

/// Keys of whoever waits, for as long as it waits: until it is served, its time is over, or it goes.
#[test]
fn keys_that_are_waited_for_are_counted_while_the_wait_lasts() {
    let house = house();
    let (mut waits, mut pushes) = (house.client(), house.client());
    let key = "k".repeat(10_000);
    let lasts = |used: u64| used > 20_000;
    waits.send(&request(&["BLPOP", &key, "other", "0"]));
    until(&house, lasts, "BLPOP");
    pushes.send(&request(&["RPUSH", "other", "e"]));
    waits.expect("*2\r\n$5\r\nother\r\n$1\r\ne\r\n");
    until(&house, |used| used == 0, "served");
    waits.send(&request(&["BLMOVE", "other", &key, "LEFT", "LEFT", "0.1"]));
    until(&house, |used| used > 10_000, "BLMOVE");
    waits.expect("*-1\r\n");
    until(&house, |used| used == 0, "its time is over");
    waits.send(&request(&["BRPOP", &key, "0"]));
    until(&house, lasts, "BRPOP");
    drop(waits);
    until(&house, |used| used == 0, "gone");
    let crowd: Vec<Client> = (0..4)
        .map(|number| {
            let mut client = house.client();
            let keys: Vec<String> = (0..4).map(|n| name(number, n)).collect();
            client.send(&request(&["BLPOP", &keys[0], &keys[1], &keys[2], &keys[3], "0"]));
            client
        })
        .collect();
    until(&house, |used| (1 << 20..BUDGET + 4 * NAME as u64).contains(&used), "a crowd");
    pushes.send(b"PING\r\n");
    pushes.expect(":1\r\n+PONG\r\n");
    drop(crowd);
    until(&house, |used| used == 0, "the crowd is gone");
}

/// The slow log kept the whole name of each request's client, 128 times 20 MB, after the client had gone.
#[test]
fn the_slow_log_keeps_the_beginning_of_a_long_name() {
    let house = House::open(&["slowlog-log-slower-than 0"]);
    let mut client = house.client();
    client.send(&request(&["CLIENT", "SETNAME", &"n".repeat(10_000)]));
    client.expect("+OK\r\n");
    client.ask("PING\r\n", "+PONG\r\n");
    client.send(b"SLOWLOG GET\r\nQUIT\r\n");
    let told = String::from_utf8_lossy(&client.take_all()).into_owned();
    assert!(told.contains("... (9872 more bytes)"), "{told}");
    assert!(!told.contains(&"n".repeat(129)), "{told}");
}
