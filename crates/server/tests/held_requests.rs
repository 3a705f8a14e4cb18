//! Requests behind one that is held: they keep their order, their bytes and their answers.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use dolium_server::memcached::{Place, Setup};
use door::House;
use std::net::Shutdown;
use std::time::Duration;

const TURN: Duration = Duration::from_millis(100);
const PROTOCOL_ERROR: &str = "-ERR Protocol error: invalid multibulk length\r\n";

/// What is no request was forgotten when something before it was held, and the connection with its
/// bytes out of step stayed open.
#[test]
fn what_is_no_request_is_answered_in_its_turn() {
    let house = House::open(&[]);
    let mut other = house.client();
    for (before, answers) in [("", ""), ("PING\r\n", "+PONG\r\n")] {
        let mut client = house.client();
        client.send(format!("BLPOP q 0\r\n{before}*abc\r\n").as_bytes());
        std::thread::sleep(TURN);
        other.ask("RPUSH q x\r\n", ":1\r\n");
        let said = String::from_utf8(client.take_all()).expect("text");
        assert_eq!(said, format!("*2\r\n$1\r\nq\r\n$1\r\nx\r\n{answers}{PROTOCOL_ERROR}"));
    }
}

/// The value of a refused request was read as requests.
#[test]
fn a_refused_value_behind_a_held_request_is_not_run() {
    let house = House::open(&[]);
    let mut other = house.client();
    other.ask("SET kept 1\r\n", "+OK\r\n");
    let mut client = house.client();
    client.send(b"BLPOP q 0\r\nPING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$600000000\r\n");
    std::thread::sleep(TURN);
    client.send(b"FLUSHALL\r\n");
    std::thread::sleep(TURN);
    other.ask("RPUSH q x\r\n", ":1\r\n");
    let said = String::from_utf8(client.take_all()).expect("text");
    assert!(said.ends_with("+PONG\r\n-ERR Protocol error: invalid bulk length\r\n"), "{said}");
    other.ask("GET kept\r\n", "$1\r\n1\r\n");
    // The same of a body.
    other.ask("CLIENT PAUSE 1000 WRITE\r\n", "+OK\r\n");
    let mut client = house.client_of(Door::Http);
    client.send(
        b"PUT /keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nv\
          PUT /keys/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 600000000\r\n\r\n",
    );
    std::thread::sleep(TURN);
    client.send(b"DELETE /keys/kept HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let said = String::from_utf8(client.take_all()).expect("text");
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("HTTP/")).collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[1].starts_with("HTTP/1.1 413"), "{said}");
    other.ask("GET kept\r\n", "$1\r\n1\r\n");
}

/// A batch that was full at the request that waits was followed by another: the wait began twice, and
/// of a client that had ended its input all answers were lost.
#[test]
fn answers_before_a_wait_are_sent_however_many_they_are() {
    let house = House::open(&[]);
    for count in 1..200 {
        let mut client = house.client();
        let requests = "GET x\r\n".repeat(count) + "BLPOP q 5\r\nPING\r\n";
        client.send(requests.as_bytes());
        client.socket.shutdown(Shutdown::Write).expect("a socket");
        let said = String::from_utf8(client.take_all()).expect("text");
        assert_eq!(said, "$-1\r\n".repeat(count), "{count} requests before it");
    }
}

/// As `dolium memcached -R 20`.
fn house_of_twenty_requests_a_turn() -> House {
    let mut setup = Setup {
        hosts: vec![Place { host: "127.0.0.1".into(), port: None, is_plain: true }],
        ..Setup::default()
    };
    (setup.fixed.yields, setup.fixed.requests_per_event) = (true, 20);
    House::open_for_memcached(&["maxmemory 200mb"], setup)
}

/// Clients of the binary protocol were not held to `-R`: each had as many requests in a turn as it had sent.
#[test]
fn a_binary_client_has_no_more_requests_a_turn_than_others() {
    let house = house_of_twenty_requests_a_turn();
    let mut client = house.client_of(Door::Memcached);
    let noop = [&[0x80, 0x0a][..], &[0; 22]].concat();
    // What is refused is one request with the value that is passed over.
    let unknown = [&[0x80, 0x6f, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2][..], &[0; 12], b"kv"].concat();
    client.send(&[noop, unknown].concat().repeat(25));
    for _ in 0..25 {
        assert_eq!(client.take(24)[..2], [0x81, 0x0a]);
        assert_eq!(client.take(24 + 15)[24..], *b"Unknown command");
    }
    let mut other = house.client_of(Door::Memcached);
    other.send(b"stats\r\nquit\r\n");
    let told = String::from_utf8(other.take_all()).expect("text");
    assert!(told.contains("STAT conn_yields 2\r\n"), "{told}");
}

/// Nobody closed it, if the end of the input was read in the turn in which the dump began: the
/// requests before it are as many as a connection has in one turn.
#[test]
fn a_dump_to_a_client_that_has_said_all_ends_with_the_connection() {
    let house = house_of_twenty_requests_a_turn();
    let mut writer = house.client_of(Door::Memcached);
    writer.ask("set a 0 0 1\r\nv\r\n", "STORED\r\n");
    for count in [0, 20, 40] {
        let mut client = house.client_of(Door::Memcached);
        let requests = "get x\r\n".repeat(count) + "lru_crawler metadump all\r\n";
        client.send(requests.as_bytes());
        client.socket.shutdown(Shutdown::Write).expect("a socket");
        let said = String::from_utf8(client.take_all()).expect("text");
        assert!(said.starts_with(&"END\r\n".repeat(count)), "{said}");
        assert!(said.contains("key=a ") && said.ends_with("END\r\n"), "{said}");
    }
}

/// Under CLIENT PAUSE a value too large is refused when the pause is over, and skipped once.
#[test]
fn a_value_too_large_waits_for_the_end_of_a_pause() {
    let house = House::open(&[]);
    let mut other = house.client();
    let mut client = house.client_of(Door::Memcached);
    client.ask("set k 0 0 1\r\nv\r\n", "STORED\r\n");
    other.ask("CLIENT PAUSE 60000 WRITE\r\n", "+OK\r\n");
    let value = "v".repeat(1_200_000);
    let mut writer = client.socket.try_clone().expect("a socket");
    let sender = std::thread::spawn(move || {
        use std::io::Write;
        let requests = format!("set k 0 0 {}\r\n{value}\r\nget k\r\n", value.len());
        writer.write_all(requests.as_bytes()).expect("it is taken");
    });
    std::thread::sleep(TURN);
    other.ask("GET k\r\n", "$1\r\nv\r\n");
    other.ask("CLIENT UNPAUSE\r\n", "+OK\r\n");
    client.expect("SERVER_ERROR object too large for cache\r\nEND\r\n");
    sender.join().expect("all was sent");
}

/// A turn with its event and one more from the list of those that were due another, both before
/// anything had run: the end of the input was read in the second, and the first closed the
/// connection with the requests of the second unanswered. Only where another's stood between.
#[test]
fn requests_of_two_turns_before_the_end_of_the_input_are_all_answered() {
    let house = house_of_twenty_requests_a_turn();
    let mut other = house.client_of(Door::Memcached);
    other.ask(&format!("set large 0 0 900000\r\n{}\r\n", "v".repeat(900_000)), "STORED\r\n");
    for _ in 0..20 {
        let mut client = house.client_of(Door::Memcached);
        client.ask("get x\r\n", "END\r\n");
        other.ask("get x\r\n", "END\r\n");
        // The thread is busy with this while both of the others ask.
        let mut reader = house.client_of(Door::Memcached);
        reader.send(&b"get large\r\n".repeat(20));
        client.send(&b"get x\r\n".repeat(30));
        client.socket.shutdown(Shutdown::Write).expect("a socket");
        other.ask("get x\r\n", "END\r\n");
        let said = String::from_utf8(client.take_all()).expect("text");
        assert_eq!(said, "END\r\n".repeat(30));
    }
}
