//! Keyspace notifications of large values: they were lost without a word, since the values went through
//! the ring of changes that notifications are made from.

#[allow(dead_code)]
mod door;

use door::{Client, House};

const LARGE: usize = 20_000_000;

fn message(event: &str, key: &str) -> String {
    let channel = format!("__keyevent@0__:{event}");
    format!("*3\r\n$7\r\nmessage\r\n${}\r\n{channel}\r\n${}\r\n{key}\r\n", channel.len(), key.len())
}

fn set(client: &mut Client, key: &str, len: usize, reply: &str) {
    let head = format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${len}\r\n", key.len());
    client.send(head.as_bytes());
    client.send(&vec![b'v'; len]);
    client.ask("\r\n", reply);
}

#[test]
fn changes_of_large_values_are_told() {
    let house = House::open(&["maxmemory 600mb", "notify-keyspace-events KEA"]);
    let mut listener = house.client();
    for (number, event) in
        ["set", "append", "setbit", "rename_from", "rename_to"].into_iter().enumerate()
    {
        let channel = format!("__keyevent@0__:{event}");
        listener.ask(
            &format!("SUBSCRIBE {channel}\r\n"),
            &format!(
                "*3\r\n$9\r\nsubscribe\r\n${}\r\n{channel}\r\n:{}\r\n",
                channel.len(),
                number + 1
            ),
        );
    }
    let mut client = house.client();
    set(&mut client, "big", LARGE, "+OK\r\n");
    listener.expect(&message("set", "big"));
    client.ask("APPEND big x\r\n", &format!(":{}\r\n", LARGE + 1));
    listener.expect(&message("append", "big"));
    client.ask("SETBIT big 7 1\r\n", ":0\r\n");
    listener.expect(&message("setbit", "big"));
    client.ask("RENAME big other\r\n", "+OK\r\n");
    listener.expect(&message("rename_from", "big"));
    listener.expect(&message("rename_to", "other"));
    client.ask("MULTI\r\n", "+OK\r\n");
    for n in 0..40 {
        set(&mut client, &format!("k{n}"), 500_000, "+QUEUED\r\n");
    }
    client.ask("EXEC\r\n", &format!("*40\r\n{}", "+OK\r\n".repeat(40)));
    for n in 0..40 {
        listener.expect(&message("set", &format!("k{n}")));
    }
}

/// More changes in one transaction than the ring holds: they were told of when it was over, and all were lost.
#[test]
fn every_change_of_a_long_transaction_is_told() {
    const CHANGES: usize = 500_000;
    let house = House::open(&["maxmemory 600mb", "notify-keyspace-events E$", "threads 2"]);
    let mut listener = house.client();
    let channel = "__keyevent@0__:set";
    let subscribed = format!("*3\r\n$9\r\nsubscribe\r\n${}\r\n{channel}\r\n:1\r\n", channel.len());
    listener.ask(&format!("SUBSCRIBE {channel}\r\n"), &subscribed);
    let told = std::thread::spawn(move || {
        for n in 0..CHANGES {
            listener.expect(&message("set", &format!("key:{n:012}")));
        }
    });
    let mut client = house.client();
    client.ask("MULTI\r\n", "+OK\r\n");
    for some in (0..CHANGES).collect::<Vec<_>>().chunks(1000) {
        let sets: String = some.iter().map(|n| format!("SET key:{n:012} v\r\n")).collect();
        client.ask(&sets, &"+QUEUED\r\n".repeat(some.len()));
    }
    // Housekeeping, which announces as well, waits for the transaction's locks where keys are over.
    let mut other = house.client();
    for n in 0..500 {
        let request = format!("RPUSH over:{n} v\r\nPEXPIRE over:{n} {}\r\n", 1 + n);
        other.ask(&request, ":1\r\n:1\r\n");
    }
    client.ask("EXEC\r\n", &format!("*{CHANGES}\r\n{}", "+OK\r\n".repeat(CHANGES)));
    told.join().expect("each is told, in its order");
}
