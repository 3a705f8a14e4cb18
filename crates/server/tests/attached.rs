//! The attach socket and the rings from their hostile side: strangers at the door, and a client
//! that writes whatever it likes into its ring. The server lives and serves the others.

#[allow(dead_code)]
mod door;
mod raw_ring;

use dolium_engine::ring::hello::{self, WELCOME_BYTES, Welcome};
use dolium_engine::ring::{RingEnd, RingMemory, RingPlan, RingWords};
use door::House;
use raw_ring::{attach, house};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

fn lives(house: &House) {
    house.client().ask("PING\r\n", "+PONG\r\n");
}

/// Waits for a reply, of which it takes what there is; answers how many bytes.
fn hear(end: &mut RingEnd<Arc<RingMemory>>, replies: &mut Vec<u8>) -> usize {
    let limit = Instant::now() + Duration::from_secs(20);
    while replies.is_empty() && Instant::now() < limit {
        if end.receive(replies, 1 << 20).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    replies.len()
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn strangers_at_the_attach_socket_are_sent_away() {
    let (house, path) = house("strangers");
    for words in [&b"PING\r\n"[..], b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", &[0; 64]] {
        let mut socket = UnixStream::connect(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.write_all(words).unwrap();
        let mut reply = Vec::new();
        // An end or a reset; no descriptor, no word, and not for ever.
        let end = socket.read_to_end(&mut reply);
        assert!(end.is_ok() || end.is_err_and(|e| e.kind() == ErrorKind::ConnectionReset));
        assert_eq!(reply, b"");
    }
    let mut old = hello::hello();
    old[8] = 99;
    let mut socket = UnixStream::connect(&path).unwrap();
    socket.write_all(&old).unwrap();
    let mut welcome = [0; WELCOME_BYTES];
    socket.read_exact(&mut welcome).unwrap();
    let refused = Welcome::Refused(hello::Refusal::Version);
    assert_eq!(Welcome::decode(&welcome), Some(refused));
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    lives(&house);
    drop(attach(&path));
}

#[test]
fn a_hostile_ring_costs_its_own_connection_and_nothing_else() {
    let (house, path) = house("hostile");
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let words = RingPlan::STANDARD.words();
    let mut ended = 0;
    for round in 0..300 {
        let (socket, memory) = attach(&path);
        for _ in 0..20 {
            for _ in 0..random(&mut seed) % 30 {
                let index = match random(&mut seed) % 3 {
                    // Positions and flags.
                    0 => random(&mut seed) as usize % 7 * 8,
                    1 => random(&mut seed) as usize % 512,
                    _ => random(&mut seed) as usize % words,
                };
                let value = match random(&mut seed) % 4 {
                    0 => random(&mut seed),
                    1 => random(&mut seed) % (256 << 10),
                    2 => u64::MAX - random(&mut seed) % 64,
                    _ => u64::from_le_bytes(*b"*3\r\n$3\r\n"),
                };
                memory.word(index).store(value, Relaxed);
            }
            if rustix::net::send(&socket, &[1], rustix::net::SendFlags::NOSIGNAL).is_err() {
                ended += 1;
                break;
            }
        }
        if round % 50 == 0 {
            lives(&house);
        }
    }
    lives(&house);
    assert!(ended > 0, "some must have been found out");
}

#[test]
fn a_flood_of_garbage_requests_is_answered_and_survived() {
    let (house, path) = house("flood");
    let mut seed = 42;
    for round in 0..50 {
        let (socket, memory) = attach(&path);
        let mut end = RingEnd::client(memory, &RingPlan::STANDARD);
        let garbage: Vec<u8> = (0..100_000).map(|_| random(&mut seed) as u8).collect();
        let (mut sent, mut replies, begun) = (0, Vec::new(), Instant::now());
        while sent < garbage.len() {
            match end.send(&garbage[sent..]) {
                // The ring is full: until the server has taken some of it, or hung up.
                Ok(0) => std::thread::sleep(Duration::from_micros(100)),
                Ok(n) => sent += n,
                Err(_) => break,
            }
            let _ = end.bell_needed();
            let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
            // A full socket holds bells enough.
            let rung = rustix::net::send(&socket, &[1], flags);
            let is_over = rung.is_err_and(|error| error != rustix::io::Errno::AGAIN);
            if is_over || end.receive(&mut replies, 1 << 20).is_err() {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "round {round}: {sent} bytes went");
        }
        // It is refused: as a command that there is not or as no request at all, in the words of the
        // protocol that its first byte speaks.
        assert!(hear(&mut end, &mut replies) > 0, "no reply in round {round}");
    }
    lives(&house);
}

#[test]
fn a_client_that_changes_its_request_while_it_is_read_gets_some_reply() {
    let (house, path) = house("rewrites");
    let (socket, memory) = attach(&path);
    let mut end = RingEnd::client(memory.clone(), &RingPlan::STANDARD);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let data = 4096 / 8;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut seed = 7;
            while !stop.load(Relaxed) {
                // The lengths and the command's name, over and over, under the reader's eyes.
                memory
                    .word(data + random(&mut seed) as usize % 16)
                    .store(random(&mut seed), Relaxed);
            }
        });
        let (limit, mut heard) = (Instant::now() + Duration::from_secs(2), 0);
        let request = b"*3\r\n$3\r\nSET\r\n$5\r\nkey:1\r\n$10\r\n0123456789\r\n".repeat(100);
        let mut replies = Vec::new();
        while Instant::now() < limit {
            let sent = end.send(&request);
            let got = end.receive(&mut replies, 1 << 20);
            let _ = end.bell_needed();
            let rung = rustix::net::send(
                &socket,
                &[1],
                rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT,
            );
            let is_over =
                matches!(rung, Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET));
            heard += replies.len();
            if is_over || sent.is_err() || got.is_err() {
                break;
            }
            replies.clear();
        }
        if heard == 0 {
            heard = hear(&mut end, &mut replies);
        }
        stop.store(true, Relaxed);
        assert!(heard > 0, "no reply at all");
    });
    lives(&house);
}

#[test]
fn a_client_that_is_late_to_read_its_replies_loses_none() {
    let (house, path) = house("late");
    let value = "v".repeat(100_000);
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\n{value}\r\n");
    house.client().ask(&set, "+OK\r\n");
    let (mut socket, memory) = attach(&path);
    let mut end = RingEnd::client(memory, &RingPlan::STANDARD);
    let request = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".repeat(200);
    let mut sent = 0;
    while sent < request.len() {
        sent += end.send(&request[sent..]).unwrap();
        if end.bell_needed() {
            socket.write_all(&[1]).unwrap();
        }
    }
    // The server has filled the ring, holds a little more, and waits for room.
    std::thread::sleep(Duration::from_millis(300));
    lives(&house);
    let reply = format!("$100000\r\n{value}\r\n");
    let mut replies = Vec::new();
    while replies.len() < 200 * reply.len() {
        let got = end.receive(&mut replies, usize::MAX).unwrap();
        if end.bell_needed() {
            socket.write_all(&[1]).unwrap();
        }
        if got == 0 && end.prepare_sleep(false).unwrap() {
            let rung = socket.read(&mut [0; 64]).expect("the server goes on when there is room");
            assert!(rung > 0, "the server has hung up");
            end.awake();
        }
    }
    assert!(replies == reply.repeat(200).into_bytes());
}

/// It rings each time that the server is to go on, and no bell is rung for it. The server took none of
/// them off its socket while it waited for room; when that was full, the next one got lost.
#[test]
fn large_replies_go_on_for_a_client_that_never_sleeps() {
    const LEN: usize = 12 << 20;
    let (house, path) = house("awake");
    let mut writer = house.client();
    writer.send(
        format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${LEN}\r\n{}\r\n", "v".repeat(LEN)).as_bytes(),
    );
    writer.expect("+OK\r\n");
    let (socket, memory) = attach(&path);
    socket.set_nonblocking(true).unwrap();
    let mut end = RingEnd::client(memory, &RingPlan::STANDARD);
    let expected = LEN + format!("${LEN}\r\n\r\n").len();
    let mut reply = Vec::with_capacity(expected);
    for round in 0..20 {
        assert!(end.send(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n").unwrap() > 0);
        reply.clear();
        let mut progress = Instant::now();
        while reply.len() < expected {
            if end.receive(&mut reply, usize::MAX).unwrap() > 0 {
                progress = Instant::now();
            }
            if end.bell_needed() {
                // As the public crate: a full socket holds bells enough.
                match (&socket).write(&[1]) {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
                    _ => {}
                }
            }
            let taken = reply.len();
            assert!(progress.elapsed() < Duration::from_secs(10), "round {round}: {taken} bytes");
        }
        assert_eq!(reply.len(), expected);
    }
    lives(&house);
}
