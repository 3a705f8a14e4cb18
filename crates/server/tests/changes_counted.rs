//! `rdb_changes_since_last_save` counts what Redis counts: elements that changed, where there are any, and not
//! the keys that they are in. The numbers are those of redis-server 7.0.15.

#[allow(dead_code)]
mod door;

use door::{Client, House};

/// Commands, the last of which is counted, and what it counts.
const COUNTED: [(&str, i64); 40] = [
    ("SET a 1", 1),
    ("SET a 1|SET a 2 NX", 0),
    ("SET a 1|SET a 2 PXAT 1", 1),
    ("MSET a 1 b 2 c 3", 3),
    ("SET a 1|SET b 2|DEL a b c", 2),
    ("RPUSH a 1 2 3", 3),
    ("RPUSHX a 1 2", 0),
    ("RPUSH a 1|LPUSHX a 1 2 3", 3),
    ("RPUSH a 1 2 3|LPOP a", 1),
    ("RPUSH a 1 2 3|LPOP a 2", 2),
    ("RPUSH a 1 2 3|RPOP a 10", 3),
    ("RPUSH a 1|BLPOP a 0", 1),
    ("RPUSH a 1 2 3|LMPOP 1 a LEFT COUNT 5", 3),
    ("RPUSH a 1 1 2 1|LREM a 2 1", 2),
    ("RPUSH a 1 1|LREM a 0 1", 2),
    ("RPUSH a 1 2|LSET a 0 7", 1),
    ("RPUSH a 1 2|LINSERT a BEFORE 2 x", 1),
    ("RPUSH a 1 2 3 4 5|LTRIM a 1 2", 3),
    ("RPUSH a 1 2 3 4 5|LTRIM a 0 -1", 0),
    ("RPUSH a 1 2 3 4 5|LTRIM a 7 8", 5),
    ("RPUSH a 1 2|LMOVE a b LEFT RIGHT", 1),
    ("RPUSH a 1|LMOVE a b LEFT RIGHT", 1),
    ("RPUSH a 1 2|RPOPLPUSH a a", 1),
    ("SADD a 1 2 3", 3),
    ("SADD a 1 2 3|SADD a 3 4 5", 2),
    ("SADD a x y z|SREM a x y q", 2),
    ("SADD a x y|SREM a x y", 2),
    ("SADD a x|SMOVE a b x", 2),
    ("SADD a x|SADD b x|SMOVE a b x", 1),
    ("SADD a 1 2 3|SPOP a 2", 2),
    ("SADD a 1|SPOP a", 1),
    ("SADD a 1 2|SUNIONSTORE c a", 1),
    ("SET a 1|RENAME a b", 1),
    ("SET a 1|SET b 1|RENAME a b", 1),
    ("SET a 1|COPY a b", 1),
    ("SET a 1|MOVE a 1", 1),
    ("SET a 1|SET b 1|FLUSHDB", 2),
    ("FLUSHDB", 0),
    ("SET a 1|SET b 1|FLUSHALL", 2),
    ("CONFIG RESETSTAT", 0),
];

fn info(client: &mut Client, section: &str) -> String {
    client.send(format!("INFO {section}\r\n").as_bytes());
    let mut reply = Vec::new();
    while !reply.ends_with(b"\r\n\r\n") {
        reply.extend(client.take(1));
    }
    String::from_utf8(reply).expect("text")
}

fn changes(client: &mut Client) -> i64 {
    let text = info(client, "persistence");
    let line = text.lines().find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
    line.expect("a line").parse().expect("a number")
}

fn run(client: &mut Client, command: &str) {
    client.send(format!("{command}\r\nECHO over\r\n").as_bytes());
    let mut said = Vec::new();
    while !said.ends_with(b"$4\r\nover\r\n") {
        said.extend(client.take(1));
    }
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(!said.contains("-ERR"), "{command}: {said}");
}

#[test]
fn elements_are_counted_as_in_redis() {
    let house = House::open(&[]);
    let mut client = house.client();
    let mut others = Vec::new();
    for (commands, expected) in COUNTED {
        run(&mut client, "FLUSHALL");
        let (before, last) = commands.rsplit_once('|').unwrap_or(("", commands));
        before.split('|').filter(|command| !command.is_empty()).for_each(|command| {
            run(&mut client, command);
        });
        let counted = changes(&mut client);
        run(&mut client, last);
        let counted = changes(&mut client) - counted;
        if counted != expected {
            others.push(format!("{commands}: {counted}, not {expected}"));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn what_expires_and_what_goes_on_at_once_is_no_change() {
    let house = House::open(&[]);
    let mut client = house.client();
    run(&mut client, "SET a 1 PX 1");
    let counted = changes(&mut client);
    std::thread::sleep(std::time::Duration::from_millis(5));
    run(&mut client, "GET a");
    client.ask("DBSIZE\r\n", ":0\r\n");
    assert_eq!(changes(&mut client), counted);
    let mut waiting = house.client();
    waiting.send(b"BLPOP a 0\r\n");
    while !info(&mut client, "clients").contains("blocked_clients:1\r\n") {}
    run(&mut client, "RPUSH a 1 2 3");
    waiting.expect("*2\r\n$1\r\na\r\n$1\r\n1\r\n");
    assert_eq!(changes(&mut client), counted + 3);
}
