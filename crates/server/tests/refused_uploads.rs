//! Who is refused while still sending reads why. The server once closed such connections at once; the system
//! answered what came then with a reset, which took the reply from the client before it was read.

mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::io::{Read, Write};
use std::time::Duration;

/// Far more than sockets hold: a client can send it only if the server takes it.
const UPLOAD: usize = 32 << 20;
const HEAD: &str = "PUT /keys/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 33554432\r\n\r\n";

fn house() -> House {
    House::open(&["proto-max-bulk-len 1mb"])
}

/// Of a refused upload, whose answer is read to its end.
fn refused(house: &House) -> Client {
    let mut client = house.client_of(Door::Http);
    client.send(HEAD.as_bytes());
    let mut answer = Vec::new();
    client.socket.read_to_end(&mut answer).expect("an end, no reset");
    assert!(answer.starts_with(b"HTTP/1.1 413 "), "{}", answer.escape_ascii());
    client
}

#[test]
fn the_answer_is_read_after_the_whole_upload() {
    let house = house();
    let mut client = house.client_of(Door::Http);
    client.send(HEAD.as_bytes());
    let part = vec![b'x'; 1 << 20];
    for _ in 0..UPLOAD / part.len() {
        client.send(&part);
    }
    let mut answer = String::new();
    client.socket.read_to_string(&mut answer).expect("an end, no reset");
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a whole head");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{answer}");
}

/// A stranger's head was read, and the body asked for, or memory set aside for it, before the password was
/// looked for.
#[test]
fn who_may_not_send_a_body_is_told_before_it_is_waited_for() {
    let house = House::open(&["requirepass secret"]);
    let long = "Host: localhost\r\nContent-Length: 400000000\r\n";
    for (line, rest, status) in [
        ("PUT /keys/k", "", "401"),
        ("PUT /keys/k", "Authorization: Bearer wrong\r\n", "401"),
        ("PUT /keys/k", "Expect: 100-continue\r\n", "401"),
        ("POST /keys/k", "Authorization: Bearer secret\r\n", "405"),
        ("PUT /elsewhere", "Authorization: Bearer secret\r\n", "404"),
        ("PUT /metrics", "Authorization: Bearer secret\r\nExpect: 100-continue\r\n", "405"),
        ("BREW /keys/k", "Authorization: Bearer secret\r\n", "501"),
    ] {
        let mut client = house.client_of(Door::Http);
        // Some of the body may come with the head.
        let body = if rest.contains("Expect") { "" } else { "begun" };
        client.send(format!("{line} HTTP/1.1\r\n{long}{rest}\r\n{body}").as_bytes());
        let mut answer = String::new();
        client.socket.read_to_string(&mut answer).expect("an end, no reset");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {rest}: {answer}");
        assert!(answer.contains("Connection: close"), "{answer}");
    }
    let mut client = house.client_of(Door::Http);
    let allowed = "Authorization: Bearer secret\r\nExpect: 100-continue\r\n";
    let short = "Host: localhost\r\nContent-Length: 5\r\n";
    client.send(format!("PUT /keys/k HTTP/1.1\r\n{short}{allowed}\r\n").as_bytes());
    client.expect("HTTP/1.1 100 Continue\r\n\r\n");
    client.ask("value", "HTTP/1.1 201 Created\r\n");
}

#[test]
fn what_it_sends_is_not_taken_for_requests() {
    let house = house();
    let mut client = house.client_of(Door::Http);
    client.send(HEAD.as_bytes());
    client.send(b"PUT /keys/smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx");
    let mut answer = String::new();
    client.socket.read_to_string(&mut answer).expect("an end, no reset");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    house.client().ask("EXISTS smuggled\r\n", ":0\r\n");
}

#[test]
fn it_is_no_client_any_more() {
    let house = house();
    let lingering = refused(&house);
    let mut other = house.client();
    other.ask("CLIENT SETNAME me\r\n", "+OK\r\n");
    other.send(b"CLIENT LIST\r\n");
    let head = String::from_utf8(other.take(1)).expect("text");
    assert_eq!(head, "$");
    let mut len = String::new();
    while !len.ends_with("\r\n") {
        len.push(char::from(other.take(1)[0]));
    }
    let list = other.take(len.trim().parse::<usize>().expect("a length"));
    assert_eq!(list.iter().filter(|&&byte| byte == b'\n').count(), 1, "{}", list.escape_ascii());
    drop(lingering);
}

/// Whether the server has closed its side: what is sent is answered with a reset.
fn is_closed(client: &mut Client) -> bool {
    (0..10).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        client.socket.write_all(b"x").is_err()
    })
}

#[test]
fn one_that_says_nothing_is_closed() {
    let house = house();
    let mut client = refused(&house);
    assert!(!is_closed(&mut client));
    let is_over = (0..5).any(|_| {
        std::thread::sleep(Duration::from_millis(2_500));
        is_closed(&mut client)
    });
    assert!(is_over);
}

#[test]
fn of_too_many_the_oldest_are_closed() {
    let house = house();
    let mut clients: Vec<Client> = (0..40).map(|_| refused(&house)).collect();
    let (oldest, youngest) = (0, clients.len() - 1);
    assert!(!is_closed(&mut clients[youngest]));
    assert!(is_closed(&mut clients[oldest]));
}
