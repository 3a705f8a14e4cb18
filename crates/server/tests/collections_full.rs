//! Lists and sets where memory is used up: what takes out needs none, what adds makes room for a list or
//! a set that has to be made anew, and nothing is there twice or nowhere.

mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::time::{Duration, Instant};

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.";

fn line(client: &mut Client) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.extend(client.take(1));
    }
    String::from_utf8_lossy(&line[..line.len() - 2]).into_owned()
}

/// A reply in one line: bulk strings bare, `nil`, arrays in brackets.
fn reply(client: &mut Client) -> String {
    let head = line(client);
    match (head.as_bytes()[0], head[1..].parse::<i64>()) {
        (b'$' | b'*', Ok(-1)) => "nil".into(),
        (b'$', Ok(len)) => {
            let text = client.take(len as usize + 2);
            String::from_utf8_lossy(&text[..len as usize]).into_owned()
        }
        (b'*', Ok(len)) => {
            let all: Vec<String> = (0..len).map(|_| reply(client)).collect();
            format!("[{}]", all.join(" "))
        }
        _ => head,
    }
}

fn send(client: &mut Client, words: &[&str]) {
    let mut request = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| request += &format!("${}\r\n{word}\r\n", word.len()));
    client.send(request.as_bytes());
}

/// Words with blanks between them.
fn call(client: &mut Client, command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    send(client, &words);
    reply(client)
}

fn check(client: &mut Client, command: &str, expected: &str) {
    assert_eq!(call(client, command), expected, "{}", &command[..command.len().min(80)]);
}

/// `RPUSH key` or `SADD key` of numbers, a thousand at a time.
fn add(client: &mut Client, command: &str, numbers: std::ops::Range<u32>) {
    for first in numbers.clone().step_by(1000) {
        let some = (first..numbers.end.min(first + 1000)).map(|n| format!("{n:07}"));
        let answer = call(client, &format!("{command} {}", some.collect::<Vec<_>>().join(" ")));
        assert!(answer.starts_with(':'), "{answer}");
    }
}

/// Stores strings until not even a short one fits.
fn fill(client: &mut Client) {
    let (mut len, mut number) = (100_000, 0);
    while len >= 8 {
        send(client, &["SET", &format!("f{number}"), &"v".repeat(len)]);
        number += 1;
        if reply(client) != "+OK" {
            len /= 2;
        }
    }
}

/// Strings for more than there is memory. They have a time to live, and nothing else may go.
fn overfill(client: &mut Client, bytes: usize) {
    let value = "v".repeat(1000);
    for number in 0..bytes / 1000 {
        send(client, &["SET", &format!("f{number}"), &value, "EX", "100000"]);
        client.expect("+OK\r\n");
    }
}

#[test]
fn what_takes_out_needs_no_memory() {
    let house = House::open(&["maxmemory 24mb", "maxmemory-policy noeviction"]);
    let mut client = house.client();
    add(&mut client, "RPUSH l", 0..100_000);
    add(&mut client, "SADD s", 0..20_000);
    client.ask("SADD t x\r\n", ":1\r\n");
    // A list with hardly any room to spare.
    let room = 100_000 * 9 / 2 - 2_000;
    send(&mut client, &["RPUSH", "l", &"z".repeat(room)]);
    assert_eq!(reply(&mut client), ":100001");
    fill(&mut client);
    check(&mut client, "SADD t y", OOM);
    for (command, expected) in [
        ("SREM s 0000005", ":1"),
        ("SREM s nobody", ":0"),
        ("SREM none x", ":0"),
        ("SPOP none", "nil"),
        ("SPOP s 0", "[]"),
        ("LREM none 1 x", ":0"),
        ("LTRIM none 1 2", "+OK"),
        ("SMOVE none t x", ":0"),
        ("SMOVE s t nobody", ":0"),
        ("LREM l 1 0000001", ":1"),
        ("LREM l 0 0000002", ":1"),
        ("LTRIM l 5 -1", "+OK"),
        ("LINDEX l 0", "0000007"),
        ("LPOP l", "0000007"),
        ("LLEN l", ":99993"),
        ("SCARD s", ":19999"),
    ] {
        check(&mut client, command, expected);
    }
    assert_eq!(call(&mut client, "SPOP s").len(), 7);
    // All but a few, whereupon the set gives back what it does not need: where it stands.
    let gone: Vec<String> = (10..19_990).map(|n| format!("{n:07}")).collect();
    for some in gone.chunks(1000) {
        assert!(call(&mut client, &format!("SREM s {}", some.join(" "))).starts_with(':'));
    }
}

/// That somebody had asked for the CAS unique of a list made its every change one that needs memory.
#[test]
fn a_unique_makes_no_change_need_memory_and_nothing_be_there_twice() {
    let directives = ["maxmemory 24mb", "maxmemory-policy noeviction"];
    let house = House::open(&directives);
    let mut client = house.client();
    add(&mut client, "RPUSH l", 0..100_000);
    add(&mut client, "SADD s", 0..20_000);
    check(&mut client, "RPUSH m x", ":1");
    check(&mut client, "SADD t x", ":1");
    let mut memcached = house.client_of(Door::Memcached);
    let mut unique = |key: &str| {
        memcached.send(format!("mg {key} c\r\n").as_bytes());
        let line = line(&mut memcached);
        line.strip_prefix("HD c").and_then(|number| number.parse::<u64>().ok()).expect(&line)
    };
    let before = (unique("l"), unique("s"));
    fill(&mut client);
    let mut last = before;
    for turn in 0..20 {
        // There may be memory for an element or none: it is in one of the lists.
        let moved = call(&mut client, "LMOVE l m LEFT RIGHT");
        assert!(moved == OOM || moved == format!("{turn:07}"), "{moved}");
        let there = call(&mut client, &format!("LPOS m {turn:07}"));
        assert_eq!(there == "nil", moved == OOM, "{moved}, and then at {there}");
        if moved == OOM {
            check(&mut client, "LPOP l", &format!("{turn:07}"));
        }
        let moved = call(&mut client, &format!("SMOVE s t {turn:07}"));
        assert!(moved == OOM || moved == ":1", "{moved}");
        check(
            &mut client,
            &format!("SISMEMBER s {turn:07}"),
            &format!(":{}", i32::from(moved == OOM)),
        );
        check(
            &mut client,
            &format!("SISMEMBER t {turn:07}"),
            &format!(":{}", i32::from(moved != OOM)),
        );
        check(&mut client, &format!("SREM s 00100{turn:02}"), ":1");
        let now = (unique("l"), unique("s"));
        assert!(now.0 > last.0 && now.1 > last.1, "{last:?}, then {now:?}");
        last = now;
    }
}

/// An element that comes to a list without room to spare found no memory, for ever, while all strings
/// might have gone for it.
#[test]
fn a_list_made_anew_for_an_element_that_moves_has_room_made_for_it() {
    let house = House::open(&["maxmemory 48mb", "maxmemory-policy volatile-lru", "threads 2"]);
    let (mut client, mut other) = (house.client(), house.client());
    add(&mut client, "RPUSH src", 0..3_000);
    add(&mut client, "RPUSH l", 0..200_000);
    add(&mut client, "SADD from", 0..3_000);
    add(&mut client, "SADD to", 10_000..80_000);
    overfill(&mut client, 60 << 20);
    for turn in 0..1000 {
        check(&mut client, "LMOVE src l LEFT LEFT", &format!("{turn:07}"));
        check(&mut client, &format!("SMOVE from to {turn:07}"), ":1");
    }
    // By EXEC, and for one who waits. What was pushed at the back alone has no room at the front.
    for turn in 0..3 {
        let (queued, waited) = (format!("q{turn}"), format!("w{turn}"));
        add(&mut client, &format!("RPUSH {queued}"), 0..100_000);
        add(&mut client, &format!("RPUSH {waited}"), 0..100_000);
        overfill(&mut client, 8 << 20);
        check(&mut client, "MULTI", "+OK");
        check(&mut client, &format!("LPUSH {queued} x"), "+QUEUED");
        check(&mut client, "EXEC", "[:100001]");
        overfill(&mut client, 8 << 20);
        send(&mut other, &["BLMOVE", "from here", &waited, "LEFT", "LEFT", "0"]);
        std::thread::sleep(Duration::from_millis(50));
        send(&mut client, &["RPUSH", "from here", "element"]);
        assert_eq!(reply(&mut client), ":1");
        assert_eq!(reply(&mut other), "element");
        check(&mut client, &format!("LLEN {waited}"), ":100001");
    }
}

/// Of many small sets a union takes much more than these.
#[test]
fn a_union_of_many_small_sets_finds_its_room() {
    let house = House::open(&["maxmemory 32mb", "maxmemory-policy volatile-lru"]);
    let mut client = house.client();
    overfill(&mut client, 36 << 20);
    let names: Vec<String> = (0..2_000).map(|n| format!("u{n}")).collect();
    for (number, name) in names.iter().enumerate() {
        let members: Vec<String> = (number * 16..number * 16 + 16).map(|n| n.to_string()).collect();
        check(&mut client, &format!("SADD {name} {}", members.join(" ")), ":16");
    }
    let names = names.join(" ");
    for turn in 0..20 {
        check(&mut client, &format!("SUNIONSTORE dst{turn} {names}"), ":32000");
    }
    check(&mut client, "MULTI", "+OK");
    check(&mut client, &format!("SUNIONSTORE last {names}"), "+QUEUED");
    check(&mut client, "EXEC", "[:32000]");
}

#[test]
fn notifications_are_refused_where_there_is_no_memory_for_them_or_come_soon() {
    let house = House::open(&["maxmemory 32mb", "maxmemory-policy noeviction"]);
    let mut client = house.client();
    fill(&mut client);
    let on = "CONFIG SET notify-keyspace-events KEA";
    let answer = call(&mut client, on);
    assert!(answer.contains("there is no memory for them"), "{answer}");
    check(&mut client, "CONFIG GET notify-keyspace-events", "[notify-keyspace-events ]");
    check(&mut client, "CONFIG SET maxmemory-policy allkeys-lru", "+OK");
    check(&mut client, on, "+OK");
    check(&mut client, "CONFIG GET notify-keyspace-events", "[notify-keyspace-events AKE]");
    let mut subscriber = house.client();
    check(&mut subscriber, "SUBSCRIBE __keyevent@0__:set", "[subscribe __keyevent@0__:set :1]");
    let since = Instant::now();
    let (mut told, publish) = (house.client(), "PUBLISH __keyevent@0__:set none");
    loop {
        check(&mut client, "SET k v", "+OK");
        check(&mut told, publish, ":1");
        match reply(&mut subscriber).as_str() {
            "[message __keyevent@0__:set k]" => break,
            "[message __keyevent@0__:set none]" => {}
            other => panic!("{other}"),
        }
        assert!(since.elapsed() < Duration::from_secs(20), "nothing is told");
        std::thread::sleep(Duration::from_millis(20));
    }
    let memory = house.running.server.engine.memory();
    assert!(memory.max == 32 << 20 && memory.committed <= memory.max, "{memory:?}");
}
