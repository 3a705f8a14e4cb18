//! The handshake at TLS listeners: whom they let in, that what is hostile or slow keeps nobody waiting,
//! and certificates that are read again while connections stay.

mod certificates;
#[allow(dead_code)]
mod door;
mod secured;

use certificates::Certificates;
use dolium_server::listener::Door;
use door::House;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use secured::{Client, ask, connect, house, secured};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

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
