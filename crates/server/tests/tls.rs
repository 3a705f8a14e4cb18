//! TLS listeners: the same requests and replies inside of TLS, however they are cut into records, and
//! whoever sends or leaves in the midst of them.

#[allow(dead_code)]
mod certificates;
#[allow(dead_code)]
mod door;
mod secured;

use certificates::Certificates;
use secured::{ask, connect, house};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn requests_of_each_protocol_go_through_tls() {
    let certificates = Certificates::new();
    let house = house(&certificates, &["tls-auth-clients no"]);
    let mut redis = connect(&house, certificates.client(false));
    ask(&mut redis, b"SET a 1\r\nGET a\r\n", b"+OK\r\n$1\r\n1\r\n");
    // The peer's bytes arrive in records of their own, cut anywhere.
    for byte in b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n" {
        redis.write_all(&[*byte]).unwrap();
        redis.flush().unwrap();
    }
    ask(&mut redis, b"", b"$1\r\n1\r\n");
    let mut web = connect(&house, certificates.client(false));
    ask(&mut web, b"GET /keys/a HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200 OK\r\n");
    // Plain clients are served beside.
    let mut plain = house.client();
    plain.send(b"GET a\r\nQUIT\r\n");
    assert_eq!(plain.take_all(), b"$1\r\n1\r\n+OK\r\n");
}

#[test]
fn long_values_and_slow_readers() {
    let certificates = Certificates::new();
    let house = house(&certificates, &["tls-auth-clients no", "maxmemory 200mb"]);
    let mut client = connect(&house, certificates.client(false));
    let value: Vec<u8> =
        (0..5_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let head = format!("*3\r\n$3\r\nSET\r\n$1\r\nb\r\n${}\r\n", value.len());
    client.write_all(head.as_bytes()).unwrap();
    client.write_all(&value).unwrap();
    ask(&mut client, b"\r\n", b"+OK\r\n");
    // Ten replies of 5 MB are asked for before one is read: the server must wait with them.
    let asked = 10;
    client.write_all(&b"GET b\r\n".repeat(asked)).unwrap();
    client.flush().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let mut other = connect(&house, certificates.client(false));
    ask(&mut other, b"PING\r\n", b"+PONG\r\n");
    let mut expected = format!("${}\r\n", value.len()).into_bytes();
    expected.extend(&value);
    expected.extend(b"\r\n");
    let mut got = vec![0; expected.len()];
    for _ in 0..asked {
        client.read_exact(&mut got).unwrap();
        assert!(got == expected, "a reply was not what was stored");
    }
    ask(&mut client, b"PING\r\n", b"+PONG\r\n");
}

/// Who is refused while still sending reads why, and that it was all.
#[test]
fn a_refused_upload_is_heard_out() {
    let certificates = Certificates::new();
    let house = house(&certificates, &["tls-auth-clients no", "proto-max-bulk-len 1mb"]);
    let mut web = connect(&house, certificates.client(false));
    let body = vec![b'x'; 8 << 20];
    write!(
        web,
        "PUT /keys/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .unwrap();
    web.write_all(&body).unwrap();
    let mut answer = String::new();
    web.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

/// A socket gives what it has before it tells of a reset. Over TLS requests that had come whole were thrown away
/// where the same receive saw the reset, or a record that was none.
#[test]
fn what_came_before_a_bad_record_is_served() {
    let certificates = Certificates::new();
    let house = house(&certificates, &["tls-auth-clients no"]);
    let mut client = connect(&house, certificates.client(false));
    ask(&mut client, b"INCR n\r\n", b":1\r\n");
    let mut sent = Vec::new();
    client.conn.writer().write_all(&b"INCR n\r\n".repeat(10)).unwrap();
    while client.conn.wants_write() {
        client.conn.write_tls(&mut sent).unwrap();
    }
    // Of the application's data by its head, and deciphered by no key.
    sent.extend(b"\x17\x03\x03\0\x20");
    sent.extend([b'x'; 32]);
    client.sock.write_all(&sent).unwrap();
    // Its end: after an alert, which the client takes for an error.
    let _ = client.read_to_end(&mut Vec::new());
    house.client().ask("GET n\r\n", "$2\r\n11\r\n");
}

/// Twenty-three bytes for each that they carry: others are served meanwhile, and all is answered.
#[test]
fn a_flood_of_tiny_records_keeps_nobody_waiting() {
    let certificates = Certificates::new();
    let house = house(&certificates, &["tls-auth-clients no", "threads 1"]);
    let mut idle = connect(&house, certificates.client(false));
    ask(&mut idle, b"PING\r\n", b"+PONG\r\n");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut flood = connect(&house, certificates.client(false));
    flood.conn.set_buffer_limit(None);
    ask(&mut flood, b"PING\r\n", b"+PONG\r\n");
    let has_stopped = stop.clone();
    let flooding = std::thread::spawn(move || {
        while !has_stopped.load(std::sync::atomic::Ordering::Relaxed) {
            for byte in b"PING\r\n".repeat(1000) {
                flood.conn.writer().write_all(&[byte]).unwrap();
            }
            flood.flush().unwrap();
            let mut got = vec![0; 7000];
            flood.read_exact(&mut got).unwrap();
            assert_eq!(got, b"+PONG\r\n".repeat(1000));
        }
    });
    for _ in 0..100 {
        ask(&mut idle, b"PING\r\n", b"+PONG\r\n");
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    flooding.join().unwrap();
}

/// An end behind more than the socket holds, and behind records that wait to be opened.
#[test]
fn who_left_behind_much_takes_no_element() {
    let certificates = Certificates::new();
    let house = house(&certificates, &[]);
    let mut other = house.client();
    let waits = |other: &mut door::Client, count: usize| {
        let line = format!("blocked_clients:{count}\r\n");
        let since = Instant::now();
        loop {
            other.send(b"INFO clients\r\nPING\r\n");
            let mut text = Vec::new();
            while !text.ends_with(b"+PONG\r\n") {
                text.extend(other.take(1));
            }
            if String::from_utf8(text).unwrap().contains(&line) {
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "never: {line}");
        }
    };
    for is_gone in [true, false] {
        let mut client = connect(&house, certificates.client(true));
        client.write_all(b"BLPOP k 0\r\n").unwrap();
        client.flush().unwrap();
        waits(&mut other, 1);
        client.write_all(&b"PING\r\n".repeat(700_000)).unwrap();
        if is_gone {
            drop(client);
            waits(&mut other, 0);
            other.ask("RPUSH k v\r\nLPOP k\r\n", ":1\r\n$1\r\nv\r\n");
        } else {
            other.ask("RPUSH k v\r\n", ":1\r\n");
            let mut got = Vec::new();
            while got.len() < 18 + 7 * 700_000 {
                let mut some = [0; 16384];
                let n = client.read(&mut some).unwrap();
                got.extend_from_slice(&some[..n]);
            }
            assert!(got.starts_with(b"*2\r\n$1\r\nk\r\n$1\r\nv\r\n+PONG\r\n"));
            assert!(got[18..].chunks(7).all(|reply| reply == b"+PONG\r\n"));
        }
    }
}
