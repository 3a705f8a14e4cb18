//! Large replies that fill the socket, and what else happens to a connection at that moment.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LARGE: usize = 100_000;
const HUGE: usize = 1_000_000;

fn house(len: usize) -> (House, Client) {
    let house = House::open(&["maxmemory 200mb"]);
    let mut writer = house.client_of(Door::Memcached);
    writer.ask(&format!("set a 0 0 {len}\r\n{}\r\n", "v".repeat(len)), "STORED\r\n");
    (house, writer)
}

/// How often a client must ask for what is answered with `a`, one after the other, until the socket has no
/// room for all of the last answer. None: it has for all but a little, and a second socket may have for that too.
fn answers_that_fill_a_socket(house: &House, door: Door, request: &[u8]) -> Option<usize> {
    let mut client = house.client_of(door);
    let used = || {
        std::thread::sleep(Duration::from_millis(50));
        house.running.server.buffers.used()
    };
    let before = used();
    for asked in 1..100 {
        client.send(request);
        let mut unsent = used();
        // Not while it is being sent.
        while unsent > before {
            match used() {
                same if same == unsent => {
                    return (unsent > before + HUGE as u64 / 20).then_some(asked);
                }
                less => unsent = less,
            }
        }
    }
    panic!("a socket that is never full");
}

/// A client that has asked so often for what is answered with a value, the last time with `next` behind the
/// request, and has read nothing yet; how often that was, and how long the value is. How much a socket
/// takes is the system's decision, by what it learnt from connections before. It once was three values of
/// a million bytes but for 33,000, and no client of such values alone found it full.
fn client_with_full_socket(
    house: &House,
    door: Door,
    request: &[u8],
    next: &[u8],
) -> (Client, usize, usize) {
    let mut writer = house.client_of(Door::Memcached);
    let full = [HUGE, HUGE / 10 * 9, HUGE / 10 * 8].into_iter().find_map(|len| {
        writer.ask(&format!("set a 0 0 {len}\r\n{}\r\n", "v".repeat(len)), "STORED\r\n");
        answers_that_fill_a_socket(house, door, request).map(|asked| (asked, len))
    });
    let (asked, len) = full.expect("a length of which a socket does not take a whole number");
    let mut client = house.client_of(door);
    for number in 1..=asked {
        let next = if number == asked { next } else { b"" };
        client.send(&[request, next].concat());
        std::thread::sleep(Duration::from_millis(50));
    }
    (client, asked, len)
}

/// The values that had been lent for the first keys stayed behind when the reply was taken back: one
/// of them was sent within the next, and where the next was shorter than their places the thread died.
#[test]
fn a_reply_is_taken_back_with_the_values_lent_for_it() {
    let (house, mut client) = house(LARGE);
    house.client().ask("RPUSH list x\r\n", ":1\r\n");
    let refusal = "CLIENT_ERROR the key holds a value of another type\r\n";
    let whole = format!("VALUE a 0 {LARGE}\r\n{}\r\nEND\r\n", "v".repeat(LARGE));
    client.ask("get a list\r\n", refusal);
    client.ask("gat 100 a list\r\n", refusal);
    client.ask("get a a a a a a a a a a list\r\n", refusal);
    // What was answered before, in the same batch, stays.
    client.send(b"get a\r\nget a a list\r\nget a\r\n");
    client.expect(&[&whole, refusal, &whole].concat());
}

/// The second look at the index, which lends the value, told of the use that the first had counted.
#[test]
fn the_first_use_of_a_large_value_is_told_as_the_first() {
    let (house, mut client) = house(LARGE);
    let value = "v".repeat(LARGE);
    client.ask("mg a v h l\r\n", &format!("VA {LARGE} h0 l0\r\n{value}\r\n"));
    client.ask("mg a v h\r\n", &format!("VA {LARGE} h1\r\n{value}\r\n"));
    drop(house);
}

/// The end of the input was read while replies waited for the peer. When it made room nobody went on
/// with the requests that had been held, and the connection stayed for ever.
#[test]
fn a_client_that_has_said_all_gets_all_answers_and_the_end() {
    let (house, _) = house(LARGE);
    for count in [1, 40, 200] {
        let mut client = house.client_of(Door::Memcached);
        client.send(&b"get a\r\n".repeat(count));
        client.socket.shutdown(Shutdown::Write).expect("a socket");
        std::thread::sleep(Duration::from_millis(100));
        let one = format!("VALUE a 0 {LARGE}\r\n{}\r\nEND\r\n", "v".repeat(LARGE));
        let all = client.take_all();
        assert_eq!(all.len(), count * one.len(), "of {count} answers");
        assert!(all.chunks(one.len()).all(|answer| answer == one.as_bytes()));
    }
    // A request that is not whole has no answer; what stands before it has.
    let mut client = house.client_of(Door::Memcached);
    client.send(b"get none\r\nset k 0 0 10\r\nhalf");
    client.socket.shutdown(Shutdown::Write).expect("a socket");
    assert_eq!(client.take_all(), b"END\r\n");
}

/// The wait for an element was forgotten when the replies before it filled the socket: the element
/// that came was taken out of its list, and given to nobody.
#[test]
fn a_wait_behind_replies_that_fill_the_socket_ends_with_its_element() {
    let (house, _) = house(HUGE);
    let next = b"BLPOP q 0\r\nPING\r\n";
    let (mut client, asked, len) = client_with_full_socket(&house, Door::Redis, b"GET a\r\n", next);
    for _ in 0..asked {
        client.expect(&format!("${len}\r\n"));
        assert!(client.take(len).iter().all(|byte| *byte == b'v'));
        client.expect("\r\n");
    }
    house.client().ask("RPUSH q x\r\n", ":1\r\n");
    client.expect("*2\r\n$1\r\nq\r\n$1\r\nx\r\n+PONG\r\n");
}

/// Likewise a watcher: it saw nothing.
#[test]
fn a_watcher_behind_replies_that_fill_the_socket_sees_what_happens() {
    let (house, mut writer) = house(HUGE);
    let next = b"watch mutations\r\n";
    let (mut client, asked, len) =
        client_with_full_socket(&house, Door::Memcached, b"get a\r\n", next);
    for _ in 0..asked {
        client.expect(&format!("VALUE a 0 {len}\r\n"));
        assert!(client.take(len).iter().all(|byte| *byte == b'v'));
        client.expect("\r\nEND\r\n");
    }
    // Where the last reply is not sent yet, it is refused as in Memcached, and is asked for again.
    if client.take(4) == b"ERRO" {
        client.expect("R cannot pipeline other commands before watch\r\n");
        client.ask("watch mutations\r\n", "OK\r\n");
    }
    writer.ask("set b 0 0 1\r\nb\r\n", "STORED\r\n");
    client.expect("ts=");
}

/// A message found the room that the peer had just made, and with it went what had been waiting. The
/// descriptor's word of that room came to nobody then, and the requests that were held stayed so.
#[test]
fn messages_between_large_replies_keep_none_of_them_back() {
    const ROUNDS: usize = 12;
    const COUNT: usize = 60;
    let (house, _) = house(LARGE);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut client = house.client();
        client.send(b"HELLO 3\r\nSUBSCRIBE c\r\n");
        std::thread::sleep(Duration::from_millis(100));
        client.socket.set_read_timeout(Some(Duration::from_secs(3))).expect("a timeout");
        let mut buffer = vec![0; 1 << 20];
        // What HELLO answers is of no interest, and has the letter of the value in it.
        assert!(client.socket.read(&mut buffer).is_ok_and(|n| n > 100));
        let mut publisher = house.client();
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Relaxed) {
                publisher.send(b"PUBLISH c m\r\n");
                // One heard it, or none once the other has gone.
                publisher.take(4);
            }
        });
        let all_came = (0..ROUNDS).all(|_| {
            client.send(&b"GET a\r\n".repeat(COUNT));
            std::thread::sleep(Duration::from_millis(20));
            let begun = Instant::now();
            let mut missing = COUNT * LARGE;
            while missing > 0 && begun.elapsed() < Duration::from_secs(10) {
                let Ok(n) = client.socket.read(&mut buffer) else { break };
                missing -= buffer[..n].iter().filter(|byte| **byte == b'v').count();
            }
            missing == 0
        });
        is_over.store(true, Relaxed);
        // The publisher stops, whatever became of the replies.
        assert!(all_came, "replies are missing");
    });
}

/// A request of the binary protocol, without extras.
fn binary(opcode: u8, extras: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    let body = (extras.len() + key.len() + value.len()) as u32;
    let mut request = vec![0x80, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
    request.extend(body.to_be_bytes());
    request.extend([0; 12]);
    [&request, extras, key.as_bytes(), value].concat()
}

/// What is too large is refused and skipped. Behind replies that filled the socket the request was
/// held, but its value was gone: as many bytes of the next requests were skipped in its place.
#[test]
fn a_value_too_large_behind_replies_that_fill_the_socket_is_skipped_once() {
    const GETS: usize = 40;
    const TOO_LARGE: usize = HUGE + HUGE / 5;
    let (house, _) = house(HUGE);
    let value = vec![b'v'; TOO_LARGE];
    let text = [format!("set b 0 0 {TOO_LARGE}\r\n").as_bytes(), &value, b"\r\n"].concat();
    let is_whole = |client: &mut Client| client.take(HUGE).iter().all(|byte| *byte == b'v');
    for is_binary in [false, true] {
        let mut client = house.client_of(Door::Memcached);
        let (get, set, none) = match is_binary {
            false => (b"get a\r\n".to_vec(), text.clone(), b"get none\r\n".to_vec()),
            true => {
                let get = |key| binary(0x00, b"", key, b"");
                (get("a"), binary(0x01, &[0; 8], "b", &value), get("none"))
            }
        };
        let (begun, rest) = set.split_at(10_000);
        client.send(&[&get.repeat(GETS), begun].concat());
        std::thread::sleep(Duration::from_millis(100));
        let mut writer = client.socket.try_clone().expect("a socket");
        let rest = [rest, &none].concat();
        let sender = std::thread::spawn(move || writer.write_all(&rest).expect("it is taken"));
        for _ in 0..GETS {
            match is_binary {
                false => client.expect(&format!("VALUE a 0 {HUGE}\r\n")),
                true => assert_eq!(client.take(28)[..2], [0x81, 0x00]),
            }
            assert!(is_whole(&mut client));
            if !is_binary {
                client.expect("\r\nEND\r\n");
            }
        }
        match is_binary {
            false => client.expect("SERVER_ERROR object too large for cache\r\nEND\r\n"),
            true => {
                for (opcode, status) in [(0x01, 3), (0x00, 1)] {
                    let head = client.take(24);
                    assert_eq!((head[1], head[7]), (opcode, status));
                    client.take(usize::from(head[11]));
                }
            }
        }
        sender.join().expect("all was sent");
    }
}
