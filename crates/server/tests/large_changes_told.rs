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
