//! What clients send while they wait for an element of a list: it is read at once, since the client's end may
//! stand behind it, and answered later, in its order.

mod door;

use door::{Client, House};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// More than a socket holds for a server that does not read.
const MUCH_BYTES: usize = 6 << 20;

/// What CLIENT LIST says of whoever waits: its fields, or nothing.
fn who_waits(client: &mut Client) -> Option<String> {
    client.send(b"CLIENT LIST\r\n");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n") {
        head.extend(client.take(1));
    }
    let len: usize = String::from_utf8(head).unwrap()[1..].trim().parse().unwrap();
    let text = String::from_utf8(client.take(len + 2)).unwrap();
    text.lines().find(|line| line.contains(" flags=b ")).map(String::from)
}

fn field(line: &str, name: &str) -> u64 {
    let value = line.split(' ').find_map(|field| field.strip_prefix(&format!("{name}=")));
    value.unwrap().parse().unwrap()
}

fn until(mut is_so: impl FnMut() -> bool, or: &str) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(20), "{or}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Its end was not seen behind a full window, and the next element went down with it.
#[test]
fn who_left_behind_much_that_it_had_sent_takes_nothing() {
    let house = House::open(&["threads 2"]);
    let mut pusher = house.client();
    for wait in ["BLPOP k 0", "BLMOVE k m LEFT LEFT 0", "BLMPOP 0 1 k LEFT"] {
        let mut gone = house.client();
        gone.send(format!("{wait}\r\n").as_bytes());
        until(|| who_waits(&mut pusher).is_some(), "nobody waits");
        gone.send(&b"PING\r\n".repeat(MUCH_BYTES / 6));
        drop(gone);
        until(|| who_waits(&mut pusher).is_none(), "its end is not seen");
        pusher.ask("RPUSH k v\r\n", ":1\r\n");
        pusher.ask("LPOP k\r\n", "$1\r\nv\r\n");
    }
}

#[test]
fn what_is_sent_while_one_waits_is_answered_in_its_order() {
    const ECHOES: usize = 400_000;
    let house = House::open(&["threads 2"]);
    let mut pusher = house.client();
    let mut client = house.client();
    let mut requests = String::from("BLPOP k 0\r\n");
    let mut replies = String::from("*2\r\n$1\r\nk\r\n$1\r\nv\r\n");
    for n in 0..ECHOES {
        // Waits among them, which find stored bytes behind them.
        if n % 100_000 == 77 {
            requests.push_str("BLPOP k 0\r\n");
            replies.push_str("*2\r\n$1\r\nk\r\n$1\r\nv\r\n");
        }
        requests.push_str(&format!("ECHO {n:07}\r\n"));
        replies.push_str(&format!("$7\r\n{n:07}\r\n"));
    }
    let reader = {
        let socket = client.socket.try_clone().unwrap();
        let len = replies.len();
        std::thread::spawn(move || {
            let (mut socket, mut got) = (socket, vec![0; len]);
            std::io::Read::read_exact(&mut socket, &mut got).expect("every reply");
            got
        })
    };
    client.send(requests.as_bytes());
    let sent = requests.len() as u64;
    // The whole of it has been taken, and shows as what waits to be run.
    let mut seen = 0;
    until(
        || {
            seen = who_waits(&mut pusher).map_or(0, |line| field(&line, "qbuf"));
            seen > sent - 100
        },
        "what was sent behind the wait is not read",
    );
    for _ in 0..5 {
        until(|| who_waits(&mut pusher).is_some(), "nobody waits");
        pusher.send(b"RPUSH k v\r\n");
        pusher.take(4);
    }
    let got = reader.join().unwrap();
    assert!(got == replies.as_bytes(), "other replies, or in another order");
    client.ask("PING\r\n", "+PONG\r\n");
}

/// A client that only ends its side still gets what it asked for, and then its end.
#[test]
fn who_is_served_before_its_end_is_seen_is_answered_to_the_last() {
    let house = House::open(&["threads 2"]);
    let mut client = house.client();
    let mut pusher = house.client();
    client.send(b"BLPOP k 0\r\n");
    until(|| who_waits(&mut pusher).is_some(), "nobody waits");
    client.send(&b"PING\r\n".repeat(1000));
    until(
        || who_waits(&mut pusher).is_some_and(|line| field(&line, "qbuf") == 6000),
        "what was sent behind the wait is not read",
    );
    pusher.ask("RPUSH k v\r\n", ":1\r\n");
    client.socket.shutdown(Shutdown::Write).unwrap();
    let expected = format!("*2\r\n$1\r\nk\r\n$1\r\nv\r\n{}", "+PONG\r\n".repeat(1000));
    assert_eq!(String::from_utf8(client.take_all()).unwrap(), expected);
}

#[test]
fn who_sends_more_than_it_may_while_it_waits_is_closed() {
    let house = House::open(&["client-query-buffer-limit 1mb"]);
    let mut client = house.client();
    let mut pusher = house.client();
    client.send(b"BLPOP k 0\r\n");
    until(|| who_waits(&mut pusher).is_some(), "nobody waits");
    let _ = std::io::Write::write_all(&mut client.socket, &b"PING\r\n".repeat(MUCH_BYTES / 6));
    assert_eq!(client.take_all(), b"");
    pusher.ask("RPUSH k v\r\n", ":1\r\n");
    pusher.ask("LPOP k\r\n", "$1\r\nv\r\n");
    pusher.send(b"INFO stats\r\nPING\r\n");
    let mut stats = Vec::new();
    while !stats.ends_with(b"+PONG\r\n") {
        stats.extend(pusher.take(1));
    }
    let stats = String::from_utf8(stats).unwrap();
    assert!(stats.contains("client_query_buffer_limit_disconnections:1\r\n"), "{stats}");
}

/// What came in one piece with the request that waits was neither shown nor counted as memory.
#[test]
fn what_came_with_the_request_that_waits_is_counted() {
    let house = House::open(&["threads 1"]);
    let mut client = house.client();
    let mut other = house.client();
    client.send(format!("BLPOP k 0\r\n{}", "PING\r\n".repeat(1000)).as_bytes());
    until(|| who_waits(&mut other).is_some(), "nobody waits");
    let line = who_waits(&mut other).unwrap();
    assert_eq!(field(&line, "qbuf"), 6000, "{line}");
    assert!(field(&line, "tot-mem") >= 6000, "{line}");
}
