//! GETs that a client sends together are answered as a row, and so are SETs: nobody sees a difference
//! to one by one.

#[allow(dead_code)]
mod door;

use door::{Client, House};
use std::time::Duration;

fn get(key: &str) -> String {
    format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len())
}

fn set(key: &str, value: &str) -> String {
    format!("*3\r\n$3\r\nSET\r\n{}{}", bulk(key), bulk(value))
}

fn bulk(value: &str) -> String {
    format!("${}\r\n{value}\r\n", value.len())
}

fn row(keys: &[String]) -> String {
    keys.iter().map(|key| get(key)).collect()
}

/// The number behind `name` in a section of INFO.
fn count(client: &mut Client, section: &str, name: &str) -> u64 {
    client.send(format!("INFO {section}\r\n").as_bytes());
    let header = client.take_line();
    let len: usize = header.strip_prefix('$').and_then(|len| len.parse().ok()).expect("a length");
    let text = String::from_utf8(client.take(len + 2)).expect("text");
    let rest = text.split(name).nth(1).unwrap_or_else(|| panic!("no {name} in {text}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

fn hears_nothing(client: &mut Client) {
    client.socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let read = std::io::Read::read(&mut client.socket, &mut [0]);
    assert!(read.is_err(), "answered too early");
    client.socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
}

trait Lines {
    fn take_line(&mut self) -> String;
}

impl Lines for Client {
    fn take_line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.extend(self.take(1));
        }
        String::from_utf8(line).expect("text").trim_end().to_string()
    }
}

#[test]
fn whatever_the_keys_are_the_replies_are_those_of_single_requests() {
    let house = House::open(&[]);
    let mut client = house.client();
    let long = "l".repeat(1900);
    let longer = "m".repeat(5000);
    let lent = "n".repeat(100_000);
    for (key, value) in [("plain", "value"), ("empty", ""), ("int", "12345"), ("gone", "soon")] {
        client.ask(&set(key, value), "+OK\r\n");
    }
    for (key, value) in [("long", &long), ("longer", &longer), ("lent", &lent)] {
        client.ask(&set(key, value), "+OK\r\n");
    }
    client.ask("PEXPIRE gone 1\r\nRPUSH list a\r\nSET kept x EX 1000\r\n", ":1\r\n:1\r\n+OK\r\n");
    std::thread::sleep(Duration::from_millis(20));
    let expected = [
        ("plain", bulk("value")),
        ("empty", bulk("")),
        ("int", bulk("12345")),
        ("missing", "$-1\r\n".to_string()),
        ("gone", "$-1\r\n".to_string()),
        ("kept", bulk("x")),
        (
            "list",
            "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n".to_string(),
        ),
        ("long", bulk(&long)),
        ("longer", bulk(&longer)),
        ("lent", bulk(&lent)),
        ("", "$-1\r\n".to_string()),
    ];
    for (key, reply) in &expected {
        client.ask(&get(key), reply);
    }
    // Each before and behind each other, so that every one ends a row and begins one.
    let (mut requests, mut replies) = (String::new(), String::new());
    for (first, one) in &expected {
        for (second, other) in &expected {
            requests.extend([get(first), get(second)]);
            replies.extend([one.as_str(), other.as_str()]);
        }
    }
    client.ask(&requests, &replies);
    // In version 3 a missing key is answered otherwise.
    client.send(b"HELLO 3\r\nECHO end\r\n");
    while client.take_line() != "end" {}
    client.ask(
        &row(&["plain".into(), "missing".into(), "int".into()]),
        "$5\r\nvalue\r\n_\r\n$5\r\n12345\r\n",
    );
}

#[test]
fn what_has_a_say_in_a_request_has_it_in_each_of_a_row() {
    let house = House::open(&[]);
    let mut client = house.client();
    client.ask("SET a 1\r\nSET b two\r\n", "+OK\r\n+OK\r\n");
    let row = row(&["a".into(), "b".into(), "c".into()]);
    let (answers, queued) = ("$1\r\n1\r\n$3\r\ntwo\r\n$-1\r\n", "+QUEUED\r\n".repeat(3));
    client.ask(&row, answers);
    client.ask(
        &format!("MULTI\r\n{row}EXEC\r\n{row}"),
        &format!("+OK\r\n{queued}*3\r\n{answers}{answers}"),
    );
    client.ask(&format!("CLIENT REPLY SKIP\r\n{row}"), "$3\r\ntwo\r\n$-1\r\n");
    client.ask(&format!("CLIENT REPLY OFF\r\n{row}CLIENT REPLY ON\r\n"), "+OK\r\n");
    client.ask(
        &format!("{row}SELECT 1\r\n{row}SELECT 0\r\n{row}"),
        &format!("{answers}+OK\r\n$-1\r\n$-1\r\n$-1\r\n+OK\r\n{answers}"),
    );
    // Written between two rows of one batch.
    client.ask(
        &format!("{row}SET c new\r\n{row}DEL b\r\n{row}"),
        "$1\r\n1\r\n$3\r\ntwo\r\n$-1\r\n+OK\r\n$1\r\n1\r\n$3\r\ntwo\r\n$3\r\nnew\r\n:1\r\n\
         $1\r\n1\r\n$-1\r\n$3\r\nnew\r\n",
    );
    client.send(format!("{}QUIT\r\n{row}", get("a")).as_bytes());
    assert_eq!(client.take_all().escape_ascii().to_string(), r"$1\r\n1\r\n+OK\r\n");
}

#[test]
fn a_row_waits_for_the_end_of_a_pause() {
    let house = House::open(&[]);
    let (mut client, mut other) = (house.client(), house.client());
    let row = row(&["a".into(), "none".into(), "a".into()]);
    let sets = set("a", "two").repeat(3);
    // From here on requests are known by their beginnings, and rows are rows from the first one on.
    client.ask(
        &format!("{sets}{row}"),
        &format!("{}$3\r\ntwo\r\n$-1\r\n$3\r\ntwo\r\n", "+OK\r\n".repeat(3)),
    );
    other.ask("SET a one\r\nCLIENT PAUSE 600 WRITE\r\n", "+OK\r\n+OK\r\n");
    client.ask(&row, "$3\r\none\r\n$-1\r\n$3\r\none\r\n");
    client.send(sets.as_bytes());
    hears_nothing(&mut client);
    other.ask("GET a\r\n", "$3\r\none\r\n");
    client.expect(&"+OK\r\n".repeat(3));
    other.ask("SET a one\r\nCLIENT PAUSE 600 ALL\r\n", "+OK\r\n+OK\r\n");
    client.send(row.as_bytes());
    hears_nothing(&mut client);
    // Under ALL nobody is heard who would end it: it ends by itself.
    client.expect("$3\r\none\r\n$-1\r\n$3\r\none\r\n");
}

#[test]
fn each_of_a_row_is_counted() {
    let house = House::open(&[]);
    let mut client = house.client();
    client.ask("SET a one\r\nSET i 1\r\n", "+OK\r\n+OK\r\n");
    client.ask("CONFIG RESETSTAT\r\n", "+OK\r\n");
    let keys: Vec<String> = (0..300).map(|n| ["a", "i", "none"][n % 3].to_string()).collect();
    client.ask(&row(&keys), &"$3\r\none\r\n$1\r\n1\r\n$-1\r\n".repeat(100));
    assert_eq!(count(&mut client, "commandstats", "cmdstat_get:calls="), 300);
    assert_eq!(count(&mut client, "stats", "keyspace_hits:"), 200);
    assert_eq!(count(&mut client, "stats", "keyspace_misses:"), 100);
    // One that comes, or goes, at a time, as in Redis: pipelines take few. What counted commands told nothing.
    let receipts = count(&mut client, "stats", "total_reads_processed:");
    assert!((4..50).contains(&receipts), "{receipts}");
    let sends = count(&mut client, "stats", "total_writes_processed:");
    assert!((5..50).contains(&sends), "{sends}");
    // And RESETSTAT itself, and five requests for INFO.
    assert_eq!(count(&mut client, "stats", "total_commands_processed:"), 300 + 6);
}

/// What is answered is sent as it grows, and who does not read is held in the midst of a row.
#[test]
fn who_does_not_read_gets_all_of_a_long_row_in_the_end() {
    let house = House::open(&[]);
    let mut client = house.client();
    let (mut requests, mut replies) = (String::new(), String::new());
    for number in 0..100 {
        let value = format!("{number:0>1500}");
        client.ask(&format!("SET k{number} x{value}\r\n"), "+OK\r\n");
        replies.push_str(&bulk(&format!("x{value}")));
        requests.push_str(&get(&format!("k{number}")));
    }
    // 30 MB of replies, more than sockets and buffers hold.
    let mut writer = client.socket.try_clone().expect("a handle");
    let sender = std::thread::spawn(move || {
        for _ in 0..200 {
            std::io::Write::write_all(&mut writer, requests.as_bytes())
                .expect("the server reads on");
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    for turn in 0..200 {
        assert!(client.take(replies.len()) == replies.as_bytes(), "turn {turn} differs");
    }
    sender.join().expect("it has sent all");
}

#[test]
fn sets_in_a_row_store_what_single_ones_do() {
    let house = House::open(&[]);
    let (mut client, mut other) = (house.client(), house.client());
    client.ask("RPUSH list a\r\nSET kept x EX 1000\r\n", ":1\r\n+OK\r\n");
    other.ask("WATCH watched\r\n", "+OK\r\n");
    let long = "l".repeat(9000);
    let pairs = [
        ("plain", "value"),
        ("int", "41"),
        ("empty", ""),
        ("", "no name"),
        ("long", long.as_str()),
        ("list", "no more"),
        ("kept", "for ever"),
        ("watched", "w"),
        ("plain", "again"),
    ];
    let row: String = pairs.iter().map(|(key, value)| set(key, value)).collect();
    client.ask(&row, &"+OK\r\n".repeat(pairs.len()));
    for (key, value) in &pairs[1..] {
        client.ask(&get(key), &bulk(value));
    }
    client.ask("OBJECT ENCODING int\r\n", "$3\r\nint\r\n");
    client.ask("INCR int\r\nTTL kept\r\nTYPE list\r\n", ":42\r\n:-1\r\n+string\r\n");
    other.ask("MULTI\r\nPING\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n*-1\r\n");
    // What has a say in one of them.
    let queued = "+QUEUED\r\n".repeat(pairs.len());
    let answers = "+OK\r\n".repeat(pairs.len());
    client.ask(
        &format!("MULTI\r\n{row}EXEC\r\n"),
        &format!("+OK\r\n{queued}*{}\r\n{answers}", pairs.len()),
    );
    client.ask(&set("plain", "again"), "+OK\r\n");
    client.ask(&format!("CLIENT REPLY SKIP\r\n{row}"), &"+OK\r\n".repeat(pairs.len() - 1));
    // One that is more than a key and a value stands between two rows.
    let more = "*4\r\n$3\r\nSET\r\n$5\r\nplain\r\n$1\r\nx\r\n$2\r\nNX\r\n";
    client.ask(
        &format!("{}{more}{}{}", set("a", "1"), set("b", "2"), get("plain")),
        "+OK\r\n$-1\r\n+OK\r\n$5\r\nagain\r\n",
    );
    client.ask("CONFIG RESETSTAT\r\n", "+OK\r\n");
    client.ask(&row.repeat(20), &answers.repeat(20));
    let expected = 20 * pairs.len() as u64;
    assert_eq!(count(&mut client, "commandstats", "cmdstat_set:calls="), expected);
}

#[test]
fn each_set_of_a_row_is_told_to_who_listens() {
    let house = House::open(&["notify-keyspace-events KEA"]);
    let (mut client, mut listener) = (house.client(), house.client());
    listener.ask(
        "SUBSCRIBE __keyevent@0__:set\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$18\r\n__keyevent@0__:set\r\n:1\r\n",
    );
    let keys: Vec<String> = (0..100).map(|number| format!("key{number}")).collect();
    let row: String = keys.iter().map(|key| set(key, "v")).collect();
    client.ask(&row, &"+OK\r\n".repeat(100));
    for key in &keys {
        listener
            .expect(&format!("*3\r\n$7\r\nmessage\r\n$18\r\n__keyevent@0__:set\r\n{}", bulk(key)));
    }
}

#[test]
fn who_has_no_room_is_told_so_for_each_of_a_row() {
    let house = House::open(&["maxmemory 40mb", "maxmemory-policy noeviction"]);
    let mut client = house.client();
    let value = "v".repeat(9000);
    let (mut stored, mut refused) = (0, 0);
    for turn in 0..80 {
        let row: String = (0..100).map(|n| set(&format!("{turn}:{n}"), &value)).collect();
        client.send(row.as_bytes());
        for _ in 0..100 {
            match client.take_line().as_str() {
                "+OK" => stored += 1,
                refusal if refusal.starts_with("-OOM ") => refused += 1,
                other => panic!("{other}"),
            }
        }
    }
    assert!(stored > 500 && refused > 500, "{stored} stored, {refused} refused");
    client.ask("DBSIZE\r\n", &format!(":{stored}\r\n"));
    client.ask(&get("0:0"), &bulk(&value));
}

#[test]
fn a_row_behind_a_request_that_waits_waits_too() {
    let house = House::open(&[]);
    let (mut client, mut other) = (house.client(), house.client());
    let answers = "+OK\r\n$1\r\n1\r\n$1\r\n1\r\n";
    let row = [set("a", "1"), get("a"), get("a")].concat();
    client.ask(&row, answers);
    other.ask("DEL a\r\n", ":1\r\n");
    let wait = "*3\r\n$5\r\nBLPOP\r\n$1\r\nq\r\n$1\r\n0\r\n";
    client.send(format!("{wait}{row}{row}").as_bytes());
    hears_nothing(&mut client);
    other.ask("EXISTS a\r\nRPUSH q x\r\n", ":0\r\n:1\r\n");
    client.expect(&format!("*2\r\n$1\r\nq\r\n$1\r\nx\r\n{answers}{answers}"));
}

#[test]
fn each_of_a_row_is_timed_if_somebody_asks_for_that_just_before() {
    let house = House::open(&[]);
    let mut client = house.client();
    let row = [set("a", "1"), set("b", "2"), get("a"), get("b"), get("a")].concat();
    let answers = "+OK\r\n+OK\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n1\r\n";
    client.ask(&row, answers);
    client.ask("SLOWLOG LEN\r\n", ":0\r\n");
    client.ask(
        &format!(
            "CONFIG SET slowlog-log-slower-than 0\r\n{row}CONFIG SET slowlog-log-slower-than -1\r\n"
        ),
        &format!("+OK\r\n{answers}+OK\r\n"),
    );
    // The row, and the CONFIG SET that it came behind.
    client.ask("SLOWLOG LEN\r\n", ":6\r\n");
}
