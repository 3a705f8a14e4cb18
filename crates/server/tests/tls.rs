//! TLS listeners: the same requests and replies inside of TLS, whom they let in, and certificates
//! that are read again while connections stay.

mod certificates;
mod door;

use certificates::Certificates;
use dolium_server::listener::{Address, Door};
use door::House;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

type Client = StreamOwned<ClientConnection, TcpStream>;

fn secured(house: &House) -> SocketAddr {
    match house.running.secured.first() {
        Some(Address::Tcp(address)) => *address,
        other => panic!("no TLS listener but {other:?}"),
    }
}

/// Below those that the system gives to connections that go out: another test's took such a port in the
/// moment before the server did.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let place = std::process::id().wrapping_mul(7919).wrapping_add(NEXT.fetch_add(1, Relaxed));
        let port = 12_000 + (place % 20_000) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn house(certificates: &Certificates, more: &[&str]) -> House {
    let place = certificates.folder.display();
    let port = free_port();
    let mut directives = vec![
        format!("tls-port {port}"),
        format!("tls-cert-file {place}/server.crt"),
        format!("tls-key-file {place}/server.key"),
        format!("tls-ca-cert-file {place}/authority.crt"),
    ];
    directives.extend(more.iter().map(ToString::to_string));
    House::open(&directives.iter().map(String::as_str).collect::<Vec<_>>())
}

fn connect(house: &House, config: rustls::ClientConfig) -> Client {
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(secured(house)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    StreamOwned::new(session, socket)
}

fn ask(client: &mut Client, request: &[u8], reply: &[u8]) {
    client.write_all(request).unwrap();
    let mut got = vec![0; reply.len()];
    client.read_exact(&mut got).unwrap();
    assert_eq!(got.escape_ascii().to_string(), reply.escape_ascii().to_string());
}

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

/// OpenSSL does not mind which kind of key a PEM file's first line names.
#[test]
fn a_key_is_what_its_bytes_are() {
    let certificates = Certificates::new();
    let path = certificates.folder.join("server.key");
    let key = std::fs::read_to_string(&path).unwrap();
    assert!(key.contains("BEGIN PRIVATE KEY"), "{key}");
    std::fs::write(&path, key.replace(" PRIVATE KEY", " RSA PRIVATE KEY")).unwrap();
    let house = house(&certificates, &["tls-auth-clients no"]);
    ask(&mut connect(&house, certificates.client(false)), b"PING\r\n", b"+PONG\r\n");
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

#[test]
fn clients_without_a_certificate_are_let_in_or_not() {
    let certificates = Certificates::new();
    // As in Redis, unless said otherwise every client shows a certificate.
    let strict = house(&certificates, &[]);
    let mut good = connect(&strict, certificates.client(true));
    ask(&mut good, b"PING\r\n", b"+PONG\r\n");
    let mut bad = connect(&strict, certificates.client(false));
    let refused = bad.write_all(b"PING\r\n").and_then(|()| bad.read_exact(&mut [0; 7]));
    assert!(refused.is_err(), "a client without a certificate was served");
    // Whoever has seen the alert finds it counted.
    let counts = &strict.running.server.tls.as_ref().unwrap().counts;
    assert_eq!(counts.handshake_errors.load(Relaxed), 1);
    let optional = house(&certificates, &["tls-auth-clients optional"]);
    for shows in [true, false] {
        let mut client = connect(&optional, certificates.client(shows));
        ask(&mut client, b"PING\r\n", b"+PONG\r\n");
    }
    // Who speaks no TLS is hung up on, and nobody else notices.
    let mut plain = TcpStream::connect(secured(&optional)).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    plain.write_all(b"PING\r\nPING\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"+PONG"), "{}", answer.escape_ascii());
    let mut client = connect(&optional, certificates.client(true));
    ask(&mut client, b"PING\r\n", b"+PONG\r\n");
}

/// Whatever comes instead of a handshake, or in the midst of one, ends that connection alone.
#[test]
fn hostile_bytes_end_their_own_connection() {
    let certificates = Certificates::new();
    let house = house(&certificates, &["tls-auth-clients no"]);
    let mut steady = connect(&house, certificates.client(false));
    ask(&mut steady, b"SET a 1\r\n", b"+OK\r\n");
    // The first flight of a good client, to be cut and spoilt.
    let name = ServerName::try_from("localhost").unwrap();
    let mut session = ClientConnection::new(Arc::new(certificates.client(false)), name).unwrap();
    let mut hello = Vec::new();
    session.write_tls(&mut hello).unwrap();
    let mut attempts: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0; 70_000],
        vec![0xff; 70_000],
        // A record and a message that announce more than there may be.
        b"\x16\x03\x01\xff\xff".iter().copied().chain(vec![1; 70_000]).collect(),
        b"\x16\x03\x01\x40\x00\x01\xff\xff\xff".iter().copied().chain(vec![0; 70_000]).collect(),
        // Data and an alert before there is a session.
        b"\x17\x03\x03\x00\x10aaaaaaaaaaaaaaaa".to_vec(),
        b"\x15\x03\x03\x00\x02\x02\x28".to_vec(),
    ];
    for at in (0..hello.len()).step_by(7) {
        let mut spoilt = hello.clone();
        spoilt[at] ^= 0x55;
        attempts.push(spoilt);
        attempts.push(hello[..at].to_vec());
    }
    for (n, bytes) in attempts.iter().enumerate() {
        let mut socket = TcpStream::connect(secured(&house)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server may hang up before it has taken all.
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        if let Err(error) = socket.read_to_end(&mut answer) {
            let is_end = error.kind() == std::io::ErrorKind::ConnectionReset;
            assert!(is_end, "attempt {n}: {error}");
        }
        assert!(!answer.starts_with(b"+"), "attempt {n} was answered as a plain client");
    }
    ask(&mut steady, b"GET a\r\n", b"$1\r\n1\r\n");
    let mut fresh = connect(&house, certificates.client(false));
    ask(&mut fresh, b"GET a\r\n", b"$1\r\n1\r\n");
}

/// A handshake that comes byte by byte, or not at all, keeps nobody waiting.
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

#[test]
fn a_slow_handshake_is_waited_for_without_a_thread() {
    let certificates = Certificates::new();
    let house = house(&certificates, &["tls-auth-clients no", "threads 1"]);
    let silent: Vec<_> = (0..50).map(|_| TcpStream::connect(secured(&house)).unwrap()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    let mut session = ClientConnection::new(Arc::new(certificates.client(false)), name).unwrap();
    let mut hello = Vec::new();
    session.write_tls(&mut hello).unwrap();
    let mut slow = TcpStream::connect(secured(&house)).unwrap();
    slow.set_nodelay(true).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for (n, byte) in hello.iter().enumerate() {
        slow.write_all(&[*byte]).unwrap();
        if n % 50 == 0 {
            let mut other = connect(&house, certificates.client(false));
            ask(&mut other, b"PING\r\n", b"+PONG\r\n");
        }
    }
    let mut slow = StreamOwned::new(session, slow);
    ask(&mut slow, b"PING\r\n", b"+PONG\r\n");
    drop(silent);
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

/// A house whose files were renewed behind its back, a client from before, and what makes another
/// that believes the old authority alone.
fn renewed(certificates: &mut Certificates) -> (House, Client, rustls::ClientConfig) {
    let house = house(certificates, &["tls-auth-clients no"]);
    let mut before = connect(&house, certificates.client(false));
    ask(&mut before, b"PING\r\n", b"+PONG\r\n");
    let old = certificates.client(false);
    certificates.renew();
    (house, before, old)
}

#[test]
fn refreshed_certificates_are_for_new_connections() {
    let mut certificates = Certificates::new();
    let (house, mut before, old) = renewed(&mut certificates);
    let mut memcache = house.client_of(Door::Memcached);
    memcache.ask("refresh_certs\r\n", "OK\r\n");
    let mut after = connect(&house, certificates.client(false));
    ask(&mut after, b"PING\r\n", b"+PONG\r\n");
    let mut stranger = connect(&house, old);
    assert!(stranger.write_all(b"PING\r\n").is_err(), "the old authority has not signed this one");
    ask(&mut before, b"PING\r\n", b"+PONG\r\n");
    // What cannot be read leaves what was read before.
    std::fs::write(certificates.folder.join("server.crt"), "nothing").unwrap();
    memcache.ask("refresh_certs\r\n", "Error loading the certificate chain");
    let mut still = connect(&house, certificates.client(false));
    ask(&mut still, b"PING\r\n", b"+PONG\r\n");
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

/// As in Redis: naming a directive again, be it with the same path, reads the files.
#[test]
fn config_set_is_for_new_connections() {
    let mut certificates = Certificates::new();
    let (house, mut before, old) = renewed(&mut certificates);
    let place = certificates.folder.display().to_string();
    let renew = format!("CONFIG SET tls-cert-file {place}/server.crt\r\n");
    ask(&mut before, renew.as_bytes(), b"+OK\r\n");
    let mut stranger = connect(&house, old);
    assert!(stranger.write_all(b"PING\r\n").is_err(), "the old authority has not signed this one");
    let mut after = connect(&house, certificates.client(false));
    ask(&mut after, b"CONFIG SET tls-auth-clients yes\r\n", b"+OK\r\n");
    let mut bare = connect(&house, certificates.client(false));
    let refused = bare.write_all(b"PING\r\n").and_then(|()| bare.read_exact(&mut [0; 7]));
    assert!(refused.is_err(), "a client without a certificate was served");
    ask(&mut connect(&house, certificates.client(true)), b"PING\r\n", b"+PONG\r\n");
    // What cannot be read changes nothing, not even what is named beside it.
    let bad = format!("CONFIG SET timeout 77 tls-key-file {place}/none.key\r\n");
    ask(&mut before, bad.as_bytes(), b"-ERR CONFIG SET failed");
    let mut line = [0];
    while line != *b"\n" {
        before.read_exact(&mut line).unwrap();
    }
    let key = format!("{place}/server.key");
    let reply = format!("*2\r\n$12\r\ntls-key-file\r\n${}\r\n{key}\r\n", key.len());
    ask(&mut before, b"CONFIG GET tls-key-file\r\n", reply.as_bytes());
    ask(&mut before, b"CONFIG GET timeout\r\n", b"*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
    ask(&mut connect(&house, certificates.client(true)), b"PING\r\n", b"+PONG\r\n");
}
