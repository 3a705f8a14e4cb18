//! Clients who do not read go before those who do nothing wrong.
//!
//! Once whoever had most went: a few clients that had been served large elements and did not read them held most of
//! the budget, each with less than the next large request, which was closed, as was every one after it.

mod door;

use door::{Client, House};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use std::time::Duration;

const MB: usize = 1 << 20;
const ELEMENT: usize = 6 * MB;

fn store(client: &mut Client, command: &str, value: &str, reply: &str) {
    let len = value.len();
    client.send(format!("{command}${len}\r\n{value}\r\n").as_bytes());
    client.expect(reply);
}

/// Silent clients that have been served an element each, as many as hold somewhat less than the budget together.
fn silent(house: &House, count: usize) -> Vec<Client> {
    let mut clients = Vec::new();
    for number in 0..count {
        let mut client = house.client();
        set_socket_recv_buffer_size(&client.socket, 4096).expect("a small socket");
        client.send(format!("BLPOP q{number} 0\r\n").as_bytes());
        clients.push(client);
    }
    while house.running.server.waiting.count() < count {
        std::thread::sleep(Duration::from_millis(1));
    }
    clients
}

fn serve(house: &House, count: usize) {
    let element = "e".repeat(ELEMENT);
    let mut pusher = house.client();
    for number in 0..count {
        let command = format!("*3\r\n$5\r\nRPUSH\r\n$2\r\nq{number}\r\n");
        store(&mut pusher, &command, &element, ":1\r\n");
    }
}

/// Large requests and replies of a client, of which none is closed.
fn is_served(house: &House) {
    let value = "v".repeat(ELEMENT);
    for _ in 0..5 {
        let mut healthy = house.client();
        store(&mut healthy, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n", &value, "+OK\r\n");
        healthy.send(b"GET k\r\n");
        healthy.expect(&format!("${ELEMENT}\r\n"));
        assert!(healthy.take(ELEMENT + 2).starts_with(b"vvv"));
    }
}

#[test]
fn who_was_granted_room_is_not_closed_for_those_who_do_not_read() {
    let house = House::open(&["threads 2", "maxmemory 128mb", "client-buffers-max 24mb"]);
    let kept = silent(&house, 6);
    serve(&house, 6);
    is_served(&house);
    let closed = &house.running.server.clients;
    assert!(closed.len() < 6, "some of the silent ones went");
    drop(kept);
}

/// Not even where the healthy client's memory is nothing that it was granted.
#[test]
fn who_has_read_nothing_for_long_goes_first() {
    let house = House::open(&["threads 2", "maxmemory 128mb", "client-buffers-max 24mb"]);
    let kept = silent(&house, 3);
    serve(&house, 3);
    std::thread::sleep(Duration::from_millis(3_500));
    assert_eq!(house.running.server.clients.len(), 3, "none is closed without need");
    let mut queues = house.client();
    queues.ask("MULTI\r\n", "+OK\r\n");
    let argument = "a".repeat(MB);
    for _ in 0..12 {
        store(&mut queues, "*2\r\n$4\r\nECHO\r\n", &argument, "+QUEUED\r\n");
    }
    assert!(house.running.server.clients.len() < 4, "one of the silent ones went");
    queues.ask("DISCARD\r\n", "+OK\r\n");
    drop(kept);
}
