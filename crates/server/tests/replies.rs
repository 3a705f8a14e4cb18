//! Short replies are sent when a whole batch has run. Nobody sees that but by the clock: not who ends
//! another connection, nor who does not read.

#[allow(dead_code)]
mod door;

use door::{Client, House};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The server's one thread is at work for a while, so that what is asked meanwhile runs as one batch.
fn keep_busy(client: &mut Client) {
    client.send("KEYS nobody*\r\n".repeat(20).as_bytes());
}

/// As clients send it: what is typed by hand is not gathered in rows.
fn request(words: &[&str]) -> String {
    let count = words.len();
    let words: String = words.iter().map(|word| bulk(word)).collect();
    format!("*{count}\r\n{words}")
}

fn bulk(value: &str) -> String {
    format!("${}\r\n{value}\r\n", value.len())
}

fn house() -> (House, Client, Client) {
    let house = House::open(&[]);
    let (busy, other) = (filled(&house), house.client());
    (house, busy, other)
}

/// So many keys that looking through all of them takes a while.
fn filled(house: &House) -> Client {
    let mut busy = house.client();
    for key in 0..3000 {
        busy.send(format!("SET key:{key} value\r\n").as_bytes());
    }
    busy.expect(&"+OK\r\n".repeat(3000));
    busy
}

/// The server, with a Unix socket of this name besides its other doors.
fn house_with_unix_socket(name: &str) -> (House, PathBuf) {
    let file = format!("dolium-replies-{name}-{}.sock", std::process::id());
    let path = std::env::temp_dir().join(file);
    (House::open(&[&format!("unixsocket {}", path.display())]), path)
}

fn unix_client(path: &Path) -> UnixStream {
    let client = UnixStream::connect(path).expect("a connection");
    client.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    client
}

/// The reply's only line.
fn line(client: &mut UnixStream, request: &[u8]) -> String {
    client.write_all(request).expect("a socket with room");
    let mut line = String::new();
    BufReader::new(client).read_line(&mut line).expect("a line");
    line.trim_end().to_string()
}

/// Through Unix sockets, where what has been sent has arrived. Over TCP the system may still have to deliver it,
/// and hand over what another core sent later before: on a busy machine the killer was heard first now and then,
/// and who had not been heard yet is owed no answer.
#[test]
fn who_is_killed_has_been_answered_what_was_asked_before() {
    let (house, path) = house_with_unix_socket("killed");
    let (mut busy, mut killer) = (filled(&house), unix_client(&path));
    for _ in 0..40 {
        let mut victims = [unix_client(&path), unix_client(&path), unix_client(&path)];
        let ids = victims.each_mut().map(|victim| line(victim, b"CLIENT ID\r\n"));
        keep_busy(&mut busy);
        for victim in &mut victims {
            victim.write_all(request(&["GET", "key:7"]).as_bytes()).expect("a socket with room");
        }
        let kills = ids.map(|id| format!("CLIENT KILL ID {}\r\n", &id[1..])).concat();
        killer.write_all(kills.as_bytes()).expect("a socket with room");
        busy.expect(&"*0\r\n".repeat(20));
        for victim in &mut victims {
            let mut all = Vec::new();
            // It may be closed with a reset, behind the reply.
            let _ = victim.read_to_end(&mut all);
            assert_eq!(String::from_utf8_lossy(&all), "$5\r\nvalue\r\n");
        }
        let mut confirmed = [0; 12];
        killer.read_exact(&mut confirmed).expect("replies");
        assert_eq!(&confirmed, b":1\r\n:1\r\n:1\r\n");
    }
}

#[test]
fn who_asks_for_little_does_not_wait_for_others_who_ask_for_much() {
    let (house, mut busy, mut other) = house();
    let mut small = [house.client(), house.client(), house.client()];
    let mut slow = house.client();
    let mut answered = 0;
    for _ in 0..40 {
        keep_busy(&mut busy);
        for client in &mut small {
            client.send(request(&["GET", "key:7"]).as_bytes());
        }
        other.send(b"ECHO first\r\n");
        keep_busy(&mut slow);
        // All of that is one batch, most often. When this has been answered, those before it have been, and
        // slow is being served.
        other.expect("$5\r\nfirst\r\n");
        for client in &mut small {
            client.socket.set_nonblocking(true).expect("a socket");
            answered += usize::from(client.socket.peek(&mut [0]).is_ok());
            client.socket.set_nonblocking(false).expect("a socket");
            client.expect("$5\r\nvalue\r\n");
        }
        busy.expect(&"*0\r\n".repeat(20));
        slow.expect(&"*0\r\n".repeat(20));
    }
    assert!(answered >= 90, "{answered} of 120 were answered before");
}

/// Sockets become full in the midst of replies that wait for the end of their batch.
#[test]
fn who_does_not_read_gets_all_short_replies_in_the_end() {
    let (house, path) = house_with_unix_socket("unread");
    let mut busy = filled(&house);
    let value = "v".repeat(1800);
    busy.ask(&request(&["SET", "long", &value]), "+OK\r\n");
    let (get, reply) = (request(&["GET", "long"]), bulk(&value));
    // Such a socket has room for fewer of them, and for more requests.
    let mut silent = [unix_client(&path), unix_client(&path)];
    const ASKED: usize = 200;
    for _ in 0..ASKED {
        busy.send(b"KEYS nobody*\r\n");
        for client in &mut silent {
            client.write_all(get.as_bytes()).expect("a socket with room");
        }
        busy.expect("*0\r\n");
    }
    for client in &mut silent {
        let mut all = vec![0; ASKED * reply.len()];
        client.read_exact(&mut all).expect("all replies");
        assert!(all.chunks(reply.len()).all(|one| one == reply.as_bytes()));
        client.write_all(b"PING\r\n").expect("a socket with room");
        let mut pong = [0; 7];
        client.read_exact(&mut pong).expect("a reply");
        assert_eq!(&pong, b"+PONG\r\n");
    }
}

/// What clients ask may be of any kind and length, and end in the midst of a batch.
#[test]
fn replies_of_one_connection_stay_in_order_among_those_of_many() {
    let (house, mut busy, _) = house();
    let mut clients: Vec<Client> = (0..30).map(|_| house.client()).collect();
    for lap in 0..35 {
        keep_busy(&mut busy);
        let mut expected = Vec::new();
        for (number, client) in clients.iter_mut().enumerate() {
            let (key, value) = (format!("own:{number}"), "v".repeat(900 + lap));
            let (set, get) = (request(&["SET", &key, &value]), request(&["GET", &key]));
            let (stored, found) = ("+OK\r\n", bulk(&value));
            let (requests, replies) = match (lap + number) % 7 {
                0 => (set, stored.to_string()),
                1 => (format!("{set}{get}PING\r\n"), format!("{stored}{found}+PONG\r\n")),
                2 => (format!("PING\r\n{set}"), format!("+PONG\r\n{stored}")),
                3 => {
                    let nobody = request(&["GET", "nobody"]);
                    (format!("{set}{nobody}{get}"), format!("{stored}$-1\r\n{found}"))
                }
                4 => (format!("{set}{}", get.repeat(10)), format!("{stored}{}", found.repeat(10))),
                5 => (
                    format!("MULTI\r\n{set}{get}EXEC\r\n"),
                    format!("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n{stored}{found}"),
                ),
                _ => (format!("{set}CLIENT REPLY SKIP\r\n{get}{get}"), format!("{stored}{found}")),
            };
            client.send(requests.as_bytes());
            expected.push((replies, get, found));
        }
        for (client, (replies, get, found)) in clients.iter_mut().zip(&expected) {
            client.expect(replies);
            client.ask(get, found);
        }
        busy.expect(&"*0\r\n".repeat(20));
    }
}

#[test]
fn more_replies_than_may_wait_come_all_the_same() {
    let (house, mut busy, mut other) = house();
    let value = "v".repeat(1900);
    other.ask(&request(&["SET", "long", &value]), "+OK\r\n");
    let mut clients: Vec<Client> = (0..30).map(|_| house.client()).collect();
    for lap in 0..20 {
        keep_busy(&mut busy);
        for (number, client) in clients.iter_mut().enumerate() {
            let key = if (number + lap) % 5 == 0 { "key:7" } else { "long" };
            client.send(request(&["GET", key]).as_bytes());
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let is_short = (number + lap) % 5 == 0;
            client.expect(&bulk(if is_short { "value" } else { &value }));
        }
        busy.expect(&"*0\r\n".repeat(20));
    }
}

/// The end of what a client has to say comes with its last request.
#[test]
fn who_ends_its_requests_is_answered_to_the_end() {
    let (house, mut busy, _) = house();
    for _ in 0..20 {
        let mut clients: Vec<Client> = (0..10).map(|_| house.client()).collect();
        // A first turn comes behind those of others.
        clients.iter_mut().for_each(|client| client.ask("ECHO here\r\n", "$4\r\nhere\r\n"));
        keep_busy(&mut busy);
        for client in &mut clients {
            client.send(request(&["GET", "key:7"]).as_bytes());
            client.socket.shutdown(Shutdown::Write).expect("a socket");
        }
        for client in clients {
            assert_eq!(String::from_utf8_lossy(&client.take_all()), "$5\r\nvalue\r\n");
        }
        busy.expect(&"*0\r\n".repeat(20));
    }
}
