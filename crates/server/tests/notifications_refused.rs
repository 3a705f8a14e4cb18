//! CONFIG SET of keyspace notifications that is refused, for their own sake or for another parameter's.

#[allow(dead_code)]
mod door;

use door::{Client, House};
use std::net::TcpListener;

const ON: &str = "CONFIG SET notify-keyspace-events KEA";

/// The first line of the answer.
fn answer(client: &mut Client, request: &str) -> String {
    client.send(format!("{request}\r\n").as_bytes());
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.extend(client.take(1));
    }
    String::from_utf8(line).expect("text")
}

fn is_off(client: &mut Client) {
    client.ask(
        "CONFIG GET notify-keyspace-events\r\n",
        "*2\r\n$22\r\nnotify-keyspace-events\r\n$0\r\n\r\n",
    );
}

/// Changes were read from the refusal on, and published when notifications were asked for once more.
#[test]
fn what_changes_after_a_refusal_is_told_to_nobody() {
    let house = House::open(&["enable-protected-configs yes"]);
    let mut client = house.client();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port();
    for refused in [format!("{ON} port {port}"), format!("{ON} dir /no/such/place")] {
        let said = answer(&mut client, &refused);
        assert!(said.starts_with("-ERR CONFIG SET failed"), "{refused}: {said}");
        is_off(&mut client);
        client.ask("SET before 1\r\n", "+OK\r\n");
        let mut subscriber = house.client();
        let channel = "__keyevent@0__:set";
        subscriber.ask(
            &format!("SUBSCRIBE {channel}\r\n"),
            &format!("*3\r\n$9\r\nsubscribe\r\n$18\r\n{channel}\r\n:1\r\n"),
        );
        assert_eq!(answer(&mut client, ON), "+OK\r\n");
        client.ask("SET after 1\r\n", "+OK\r\n");
        subscriber.expect(&format!("*3\r\n$7\r\nmessage\r\n$18\r\n{channel}\r\n$5\r\nafter\r\n"));
        assert_eq!(answer(&mut client, "CONFIG SET notify-keyspace-events \"\""), "+OK\r\n");
    }
}

/// A refusal of another parameter does not end the notifications that there were.
#[test]
fn notifications_go_on_after_a_refusal() {
    let house = House::open(&["notify-keyspace-events Kg"]);
    let mut client = house.client();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port();
    let said = answer(&mut client, &format!("{ON} port {port}"));
    assert!(said.starts_with("-ERR CONFIG SET failed"), "{said}");
    client.ask(
        "SUBSCRIBE __keyspace@0__:k\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$16\r\n__keyspace@0__:k\r\n:1\r\n",
    );
    let mut other = house.client();
    other.ask("SET k 1\r\nDEL k\r\n", "+OK\r\n:1\r\n");
    client.expect("*3\r\n$7\r\nmessage\r\n$16\r\n__keyspace@0__:k\r\n$3\r\ndel\r\n");
}

/// It was answered OK, and not one came: what they take is more than there may be.
#[test]
fn notifications_that_have_no_place_in_maxmemory_are_refused() {
    for policy in ["allkeys-lru", "noeviction"] {
        let house = House::open(&["maxmemory 16mb", &format!("maxmemory-policy {policy}")]);
        let mut client = house.client();
        let said = answer(&mut client, ON);
        assert!(said.contains("'maxmemory' is too small for them"), "{policy}: {said}");
        is_off(&mut client);
        // Nor with another limit that is as low.
        let said = answer(&mut client, &format!("{ON} maxmemory 18mb"));
        assert!(said.contains("'maxmemory' is too small for them"), "{policy}: {said}");
        assert_eq!(answer(&mut client, &format!("{ON} maxmemory 64mb")), "+OK\r\n");
    }
}
