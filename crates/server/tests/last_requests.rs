//! What stands behind a client's last request does not take the reply from it. The server once closed such
//! connections with bytes unread, which the system answers with a reset: what of a large reply was still on its
//! way was gone.

mod door;

use dolium_server::listener::Door;
use door::House;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const LEN: usize = 24 << 20;

/// Reads slowly until the end, and says how much came.
fn read_slowly(mut from: impl Read, what: &str) -> usize {
    let (mut read, mut part) = (0, vec![0; 1 << 20]);
    loop {
        std::thread::sleep(Duration::from_millis(2));
        match from.read(&mut part) {
            Ok(0) => return read,
            Ok(n) => read += n,
            Err(error) => panic!("{what}: {error} behind {read} bytes"),
        }
    }
}

#[test]
fn a_large_last_reply_comes_whole_whatever_is_sent_behind_its_request() {
    let house = House::open(&[]);
    let mut writer = house.client();
    writer.send(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${LEN}\r\n").as_bytes());
    writer.send(&vec![b'v'; LEN]);
    writer.ask("\r\n", "+OK\r\n");
    let web = "GET /keys/k HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (door, last) in [
        (Door::Http, web),
        (Door::Redis, "GET k\r\nQUIT\r\n"),
        (Door::Memcached, "get k\r\nquit\r\n"),
    ] {
        for behind in ["\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
            let what = format!("{last:?} {behind:?}");
            // At once, and when the server has begun to answer and reads no more.
            for pause in [0, 100] {
                let mut client = house.client_of(door);
                client.send(last.as_bytes());
                std::thread::sleep(Duration::from_millis(pause));
                client.socket.write_all(behind.as_bytes()).expect(&what);
                let read = read_slowly(&client.socket, &what);
                assert!(read >= LEN, "{what}: {read} bytes");
            }
        }
    }
}

/// Redis' own test for this sends on for 30 seconds and looks for the end: the server once heard such a client
/// out for as long, and whether the test saw its end was chance.
#[test]
fn a_client_that_sends_on_without_a_pause_is_closed() {
    let house = House::open(&[]);
    std::thread::scope(|scope| {
        for (door, last) in [
            (Door::Redis, "*x\r\n"),
            (Door::Redis, "QUIT\r\n"),
            (Door::Memcached, "quit\r\n"),
            (Door::Http, "GET /keys/k HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
        ] {
            let mut client = house.client_of(door);
            scope.spawn(move || {
                // More behind a last request makes the server hear the client out; behind an error it may.
                client.send(format!("{last}and more").as_bytes());
                let begun = Instant::now();
                while client.socket.write_all(b"payload").is_ok() {
                    std::thread::sleep(Duration::from_millis(1));
                    assert!(begun.elapsed() < Duration::from_secs(20), "{last:?}");
                }
            });
        }
    });
}
