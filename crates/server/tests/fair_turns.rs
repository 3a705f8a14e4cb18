//! Who asks for little does not wait for all who ask for much.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::time::{Duration, Instant};

const LARGE: usize = 64 * 1024;
/// In one pipeline: more than a socket takes.
const GETS: usize = 64;
const READERS: usize = 100;
/// Of what all readers' sockets take together, at least 200 MB.
const FROM: u64 = 20_000_000;
const UNTIL: u64 = 140_000_000;
/// A reader's socket takes 2 to 4 MB, so the client could be answered 30 times between the two.
const ANSWERS_LEAST: usize = 6;
/// On a machine with other work the client itself may not run meanwhile, so it has several chances: where
/// it is not looked at before all have been served, it has none in any of them.
const CHANCES: usize = 5;

/// A hundred clients who asked for 4 MB each were served one after the other before anybody else was
/// looked at: others waited for a tenth of a second and more, and for half of one where the system
/// had to clear memory for it.
#[test]
fn who_asks_for_little_is_answered_between_those_who_ask_for_much() {
    let house = House::open(&["maxmemory 200mb", "client-buffers-max 1gb"]);
    let mut client = house.client_of(Door::Redis);
    let value = "v".repeat(LARGE);
    client.ask(&format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n${LARGE}\r\n{value}\r\n"), "+OK\r\n");
    client.ask("PING\r\n", "+PONG\r\n");
    let mut chances = (0..CHANCES).map(|_| answers_meanwhile(&house, &mut client));
    let is_answered = chances.any(|answers| answers >= ANSWERS_LEAST);
    assert!(is_answered, "never answered {ANSWERS_LEAST} times");
}

/// How often the client is answered while a hundred others are sent what they have asked for.
fn answers_meanwhile(house: &House, client: &mut Client) -> usize {
    let sent = || house.running.server.statistics.sum(|thread| &thread.bytes_out);
    let before = sent();
    let mut readers: Vec<Client> = (0..READERS).map(|_| house.client()).collect();
    for reader in &mut readers {
        reader.send(&b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n".repeat(GETS));
    }
    let counted = || sent() - before;
    let limit = Instant::now() + Duration::from_secs(20);
    let mut answers = 0;
    loop {
        client.ask("PING\r\n", "+PONG\r\n");
        match counted() {
            ..FROM => {}
            UNTIL.. => break,
            _ => answers += 1,
        }
        assert!(Instant::now() < limit, "the readers' sockets took {} bytes only", counted());
    }
    answers
}
