//! Connections that are received from in each round without being asked after: whatever happens to one
//! of them, it is answered, and looked after again when it falls silent.

mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::net::Shutdown;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

/// More than make a round a crowded one.
const CLIENTS: usize = 24;
const KEYS: usize = 3000;
/// Takes the server longer than its client to ask it again, so that all are ready whenever it comes round.
const SLOW: &str = "KEYS nobody*\r\n";
const NONE: &str = "*0\r\n";

/// Who counts what the process' threads take has it alone.
static PROCESS: RwLock<()> = RwLock::new(());

struct Crowd {
    /// The subject is the first; all have a request under way.
    clients: Vec<Client>,
    administrator: Client,
    house: House,
    _process: Option<RwLockReadGuard<'static, ()>>,
}

impl Crowd {
    /// All of them busy.
    fn open() -> Crowd {
        let process = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
        Crowd { _process: Some(process), ..Crowd::open_alone(CLIENTS, KEYS) }
    }

    fn open_alone(clients: usize, keys: usize) -> Crowd {
        let house = House::open(&[]);
        let mut administrator = house.client();
        for key in 0..keys {
            administrator.send(format!("SET key:{key} 1\r\n").as_bytes());
        }
        administrator.expect(&"+OK\r\n".repeat(keys));
        let count = clients as u64;
        let mut clients: Vec<Client> = (0..clients).map(|_| house.client()).collect();
        clients.iter_mut().for_each(|client| client.send(SLOW.as_bytes()));
        let mut crowd = Crowd { clients, administrator, house, _process: None };
        crowd.until_found(count);
        crowd
    }

    /// How many connections have become busy since the server started.
    fn found(&mut self) -> u64 {
        self.administrator.send(b"INFO stats\r\n");
        let mut text = String::new();
        while !text.contains("clients_found_busy:") || !text.ends_with("\r\n") {
            text.push(char::from(self.administrator.take(1)[0]));
        }
        let value = text.rsplit("clients_found_busy:").next().expect("it is there");
        let found = value.trim().parse().expect("a number");
        let total: usize = text[1..text.find("\r\n").expect("a length")].parse().expect("a length");
        let begun = text.len() - text.find("\r\n").expect("a length") - 2;
        self.administrator.take(total + 2 - begun);
        found
    }

    fn until_found(&mut self, count: u64) {
        let since = Instant::now();
        let mut laps = 10;
        while self.found() < count {
            // Asking how many there are makes all of them wait, and need a longer streak.
            for _ in 0..laps {
                assert!(since.elapsed() < Duration::from_secs(60), "they do not become busy");
                self.laps(0, 1);
            }
            laps *= 2;
        }
    }

    /// Each but the first `but` is answered and asks again.
    fn laps(&mut self, but: usize, count: usize) {
        for _ in 0..count {
            for client in &mut self.clients[but..] {
                client.ask("", NONE);
                client.send(SLOW.as_bytes());
            }
        }
    }

    /// The subject has nothing under way any more; the others go on.
    fn subject(&mut self) -> &mut Client {
        self.clients[0].expect(NONE);
        &mut self.clients[0]
    }

    /// The subject is one of the crowd again, and becomes busy again.
    fn rejoin(&mut self) {
        let found = self.found();
        self.clients[0].send(SLOW.as_bytes());
        self.until_found(found + 1);
    }
}

#[test]
fn who_falls_silent_is_heard_again() {
    let mut crowd = Crowd::open();
    for silent in [1, 5, 20] {
        crowd.subject();
        crowd.laps(1, silent);
        crowd.clients[0].ask("PING\r\n", "+PONG\r\n");
        crowd.rejoin();
    }
    // All at once, and nobody is left who would keep the thread awake.
    crowd.clients.iter_mut().for_each(|client| client.expect(NONE));
    std::thread::sleep(Duration::from_millis(50));
    for client in &mut crowd.clients {
        client.ask("GET key:1\r\n", "$1\r\n1\r\n");
    }
}

/// Those who were answered longest ago are looked at first: silent, they stand before all others.
#[test]
fn who_stands_behind_many_silent_ones_is_answered_and_so_are_they_later() {
    let mut crowd = Crowd::open();
    for silent in [5, 15, CLIENTS - 1] {
        crowd.clients[..silent].iter_mut().for_each(|client| client.expect(NONE));
        crowd.laps(silent, 20);
        for client in &mut crowd.clients[..silent] {
            client.ask("GET key:1\r\n", "$1\r\n1\r\n");
            client.send(SLOW.as_bytes());
        }
        let found = crowd.found();
        crowd.until_found(found + silent as u64);
    }
}

#[test]
fn a_thread_whose_busy_clients_fall_silent_sleeps() {
    let _alone = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    let mut crowd = Crowd::open_alone(CLIENTS, KEYS);
    crowd.clients.iter_mut().for_each(|client| client.expect(NONE));
    std::thread::sleep(Duration::from_millis(50));
    let before = door::cpu_of("dolium-0");
    std::thread::sleep(Duration::from_millis(500));
    // A thread that goes round and round takes all of the half second.
    assert!(door::cpu_of("dolium-0") - before <= 20, "hundredths of a second");
    drop(crowd.house);
}

#[test]
fn more_busy_clients_than_a_round_has_turns_take_turns() {
    let _others = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    let mut crowd = Crowd::open_alone(300, KEYS / 2);
    let mut newcomer = crowd.house.client();
    for _ in 0..20 {
        crowd.laps(0, 1);
        newcomer.ask("PING\r\n", "+PONG\r\n");
    }
    crowd.clients.iter_mut().for_each(|client| client.expect(NONE));
}

#[test]
fn a_busy_client_may_wait_for_an_element_and_go_on() {
    let mut crowd = Crowd::open();
    crowd.subject().send(b"BLPOP list 0\r\nPING\r\n");
    crowd.laps(1, 5);
    crowd.clients[1].expect(NONE);
    crowd.clients[1].ask("RPUSH list element\r\n", ":1\r\n");
    crowd.clients[1].send(SLOW.as_bytes());
    crowd.clients[0].expect("*2\r\n$4\r\nlist\r\n$7\r\nelement\r\n+PONG\r\n");
    crowd.rejoin();
}

#[test]
fn a_busy_client_may_leave_its_replies_unread_for_a_while() {
    let mut crowd = Crowd::open();
    let value = "v".repeat(3_000_000);
    let set = format!("*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$3000000\r\n{value}\r\n");
    crowd.administrator.ask(&set, "+OK\r\n");
    crowd.subject().send("GETRANGE large 0 -1\r\n".repeat(8).as_bytes());
    crowd.laps(1, 20);
    let reply = format!("$3000000\r\n{value}\r\n");
    for _ in 0..8 {
        crowd.clients[0].expect(&reply);
        crowd.laps(1, 1);
    }
    crowd.rejoin();
}

/// Its descriptor is silent when a message finds no room, and tells of room and input from then on.
#[test]
fn a_busy_subscriber_that_does_not_read_gets_all_in_the_end() {
    let mut crowd = Crowd::open();
    crowd.subject().ask("SUBSCRIBE c\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    let pong = "*2\r\n$4\r\npong\r\n$0\r\n\r\n";
    for _ in 0..100 {
        crowd.clients[0].send(b"PING\r\n");
        crowd.laps(1, 1);
        crowd.clients[0].expect(pong);
    }
    let text = "m".repeat(3_000_000);
    let publish = format!("*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$3000000\r\n{text}\r\n");
    for _ in 0..3 {
        crowd.clients[0].send(b"PING\r\n");
        crowd.laps(1, 2);
        crowd.administrator.ask(&publish, ":1\r\n");
    }
    crowd.laps(1, 5);
    let message = format!("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$3000000\r\n{text}\r\n");
    // Requests may wait until what is unsent has gone; each of both comes whole.
    let (mut pongs, mut messages) = (0, 0);
    while pongs + messages < 6 {
        let begun = crowd.clients[0].take(2);
        let (frame, count) = match begun[1] {
            b'2' => (pong, &mut pongs),
            _ => (message.as_str(), &mut messages),
        };
        crowd.clients[0].expect(&frame[2..]);
        *count += 1;
        crowd.laps(1, 1);
    }
    assert_eq!((pongs, messages), (3, 3));
    crowd.clients[0].ask("PING\r\nUNSUBSCRIBE\r\n", pong);
    crowd.clients[0].expect("*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n");
    crowd.rejoin();
}

#[test]
fn a_busy_client_of_memcacheds_door_is_answered_to_the_last_byte_of_a_value() {
    let mut crowd = Crowd::open();
    let other = crowd.house.client_of(Door::Memcached);
    let subject = std::mem::replace(&mut crowd.clients[0], other);
    drop(subject);
    for lap in 0..200 {
        // Some values come in two pieces, of which the first ends a turn.
        let (begun, rest) = match lap % 3 {
            0 => ("set k 0 0 6\r\nabc", "def\r\n"),
            _ => ("set k 0 0 6\r\nabcdef\r\n", ""),
        };
        crowd.clients[0].send(begun.as_bytes());
        crowd.laps(1, 1);
        crowd.clients[0]
            .ask(&format!("{rest}get k\r\n"), "STORED\r\nVALUE k 0 6\r\nabcdef\r\nEND\r\n");
    }
    for silent in [1, 5, 20] {
        crowd.laps(1, silent);
        crowd.clients[0].ask("get k\r\n", "VALUE k 0 6\r\nabcdef\r\nEND\r\n");
    }
}

#[test]
fn busy_clients_are_held_by_a_pause_and_answered_after_it() {
    let mut crowd = Crowd::open();
    let since = Instant::now();
    crowd.administrator.ask("CLIENT PAUSE 100 WRITE\r\n", "+OK\r\n");
    crowd.subject().send(b"SET paused 1\r\nGET paused\r\n");
    crowd.laps(1, 3);
    crowd.clients[0].expect("+OK\r\n$1\r\n1\r\n");
    assert!(since.elapsed() >= Duration::from_millis(90), "it was not held");
    crowd.rejoin();
}

#[test]
fn a_busy_client_that_ends_its_requests_is_answered_to_the_end() {
    let mut crowd = Crowd::open();
    let subject = crowd.subject();
    subject.send(b"GET key:1\r\nGET key:2\r\n");
    subject.socket.shutdown(Shutdown::Write).expect("an open socket");
    crowd.laps(1, 5);
    crowd.clients[0].expect("$1\r\n1\r\n$1\r\n1\r\n");
    let subject = crowd.clients.remove(0);
    assert_eq!(subject.take_all(), b"");
}

#[test]
fn busy_clients_that_are_gone_are_forgotten() {
    let mut crowd = Crowd::open();
    // With a request under way, so that it ends by a reset.
    crowd.clients.truncate(CLIENTS / 2);
    crowd.laps(0, 20);
    let since = Instant::now();
    loop {
        crowd.administrator.send(b"CLIENT LIST\r\n");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n") {
            head.extend(crowd.administrator.take(1));
        }
        let len: usize =
            String::from_utf8_lossy(&head[1..head.len() - 2]).parse().expect("a length");
        let list = String::from_utf8(crowd.administrator.take(len + 2)).expect("text");
        if list.lines().filter(|line| line.starts_with("id=")).count() == CLIENTS / 2 + 1 {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(10), "{list}");
        crowd.laps(0, 1);
    }
}
