//! Large values go to the socket from the store's memory: in order with what is copied, whole under
//! writes, and not at all where a reply must not be sent.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::{Client, House};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const LARGE: usize = 100_000;

/// A value of one letter, told by its number.
fn value(number: usize, len: usize) -> String {
    char::from(b'a' + (number % 26) as u8).to_string().repeat(len)
}

fn set(client: &mut Client, key: &str, value: &str) {
    let len = value.len();
    client.ask(&format!("set {key} 7 0 {len}\r\n{value}\r\n"), "STORED\r\n");
}

/// Lengths on both sides of every limit.
const LENGTHS: [usize; 6] = [10, 32 * 1024 - 1, 32 * 1024, LARGE, 1024 * 1024, 1024 * 1024 + 1];

/// Twenty connections, for the story of one: its first reply filled the socket, so it was held until
/// its peer would read. The peer read at once, and the end of that very reply found room for all that
/// had waited. Nobody let the connection go on: the descriptor tells of room only where something
/// waits for it. That took one run in five of a single connection.
#[test]
fn replies_of_all_sizes_keep_their_order_and_none_is_forgotten() {
    let house = House::open(&["memcached-item-size-max 8mb"]);
    let mut client = house.client_of(Door::Memcached);
    let (mut asked, mut expected) = (String::new(), String::new());
    for (n, len) in LENGTHS.into_iter().enumerate() {
        set(&mut client, &format!("k{n}"), &value(n, len));
    }
    for round in 0..30 {
        let (n, m) = (round % LENGTHS.len(), (round * 5 + 3) % LENGTHS.len());
        let (one, other) = (value(n, LENGTHS[n]), value(m, LENGTHS[m]));
        asked += &format!("get k{n}\r\nmg k{m} v f O{round}\r\nget k{n} missing k{m}\r\n");
        let line = |n: usize, value: &str| format!("VALUE k{n} 7 {}\r\n{value}\r\n", value.len());
        expected += &format!("{}END\r\n", line(n, &one));
        expected += &format!("VA {} f7 O{round}\r\n{other}\r\n", other.len());
        expected += &format!("{}{}END\r\n", line(n, &one), line(m, &other));
    }
    for _ in 0..20 {
        // Nothing is read until all has been asked for: the socket fills up on the way.
        let mut client = house.client_of(Door::Memcached);
        client.send(asked.as_bytes());
        assert!(client.take(expected.len()) == expected.as_bytes());
        client.ask("mn\r\n", "MN\r\n");
    }
}

#[test]
fn binary_requests_get_large_values_too() {
    let house = House::open(&[]);
    set(&mut house.client_of(Door::Memcached), "k", &value(3, LARGE));
    let mut client = house.client_of(Door::Memcached);
    let get = |opcode: u8, opaque: u8| {
        let mut request = vec![0x80, opcode, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, opaque];
        request.extend([0; 8]);
        request.push(b'k');
        request
    };
    // GET, then GETK, then GET again: the first makes the unique number.
    for (opcode, key) in [(0, &b""[..]), (12, b"k"), (0, b"")] {
        client.send(&get(opcode, opcode));
        let header = client.take(24);
        assert_eq!((header[0], header[1], header[4]), (0x81, opcode, 4));
        assert_eq!(header[15], opcode, "the opaque comes back");
        assert_ne!(header[16..24], [0; 8], "a unique number");
        let body = client.take(4 + key.len() + LARGE);
        assert_eq!(body[..4], [0, 0, 0, 7]);
        assert_eq!(&body[4..4 + key.len()], key);
        assert!(body[4 + key.len()..] == *value(3, LARGE).as_bytes());
    }
}

#[test]
fn a_value_is_the_one_of_its_turn_in_the_pipeline() {
    let house = House::open(&[]);
    let mut client = house.client_of(Door::Memcached);
    let (old, new) = (value(0, LARGE), value(1, LARGE));
    let line = |value: &str| format!("VALUE k 0 {LARGE}\r\n{value}\r\n");
    for removal in ["delete k", "flush_all", "touch k -1"] {
        let answer = match removal {
            "delete k" => "DELETED",
            "flush_all" => "OK",
            _ => "TOUCHED",
        };
        let asked = format!(
            "set k 0 0 {LARGE}\r\n{old}\r\nget k k\r\nset k 0 0 {LARGE}\r\n{new}\r\nget k\r\n\
             append k 0 0 1\r\n!\r\nmg k s v\r\n{removal}\r\nget k\r\nset k 0 0 1\r\nx\r\nget k\r\n"
        );
        let expected = format!(
            "STORED\r\n{}{}END\r\nSTORED\r\n{}END\r\nSTORED\r\nVA {} s{}\r\n{new}!\r\n\
             {answer}\r\nEND\r\nSTORED\r\nVALUE k 0 1\r\nx\r\nEND\r\n",
            line(&old),
            line(&old),
            line(&new),
            LARGE + 1,
            LARGE + 1
        );
        for _ in 0..20 {
            client.send(asked.as_bytes());
            let got = client.take(expected.len());
            assert!(got == expected.as_bytes(), "with {removal}");
        }
    }
}

#[test]
fn what_must_not_be_answered_yet_or_at_all_is_not() {
    let house = House::open(&[]);
    let mut client = house.client();
    let text = value(1, LARGE);
    client.ask(&format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${LARGE}\r\n{text}\r\n"), "+OK\r\n");
    let bulk = format!("${LARGE}\r\n{text}\r\n");
    client.ask("MULTI\r\n", "+OK\r\n");
    client.ask("GET k\r\nPING\r\nGET k\r\n", "+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n");
    client.ask("EXEC\r\n", &format!("*3\r\n{bulk}+PONG\r\n{bulk}"));
    client.ask("CLIENT REPLY SKIP\r\nGET k\r\nPING\r\n", "+PONG\r\n");
    client.ask("CLIENT REPLY OFF\r\nGET k\r\nCLIENT REPLY ON\r\n", "+OK\r\n");
    client.ask("PING\r\nGET k\r\nPING\r\n", &format!("+PONG\r\n{bulk}+PONG\r\n"));
    client.ask("LPUSH list a\r\nGET list\r\n", ":1\r\n-WRONGTYPE ");
}

#[test]
fn a_value_that_is_overwritten_meanwhile_arrives_whole() {
    let house = House::open(&["threads 2"]);
    let stop = AtomicBool::new(false);
    set(&mut house.client_of(Door::Memcached), "k", &value(0, LARGE));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = house.client_of(Door::Memcached);
            let mut n = 0;
            while !stop.load(Relaxed) {
                n += 1;
                set(&mut writer, "k", &value(n, LARGE));
            }
        });
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut reader = house.client_of(Door::Memcached);
                    for _ in 0..300 {
                        reader.ask("get k\r\n", &format!("VALUE k 7 {LARGE}\r\n"));
                        let bytes = reader.take(LARGE);
                        let first = bytes[0];
                        assert!(bytes.iter().all(|byte| *byte == first), "a torn value");
                        reader.expect("\r\nEND\r\n");
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        stop.store(true, Relaxed);
        assert!(outcomes.iter().all(Result::is_ok));
    });
}

#[test]
fn large_and_small_requests_change_places_on_one_connection() {
    let house = House::open(&[]);
    let mut client = house.client_of(Door::Memcached);
    let mut writer = client.socket.try_clone().unwrap();
    let sizes: Vec<usize> = (0..200).map(|n| [5, 40_000, LARGE, 300_000][n * 7 % 4]).collect();
    let sent = sizes.clone();
    let sender = std::thread::spawn(move || {
        for (n, len) in sent.into_iter().enumerate() {
            let text = value(n, len);
            let request = format!("set s{n} 0 0 {len}\r\n{text}\r\nget s{n}\r\n");
            for part in request.as_bytes().chunks(77_777) {
                writer.write_all(part).unwrap();
            }
        }
    });
    for (n, len) in sizes.into_iter().enumerate() {
        client.expect(&format!("STORED\r\nVALUE s{n} 0 {len}\r\n"));
        assert!(client.take(len) == value(n, len).as_bytes(), "item {n}");
        client.expect("\r\nEND\r\n");
    }
    sender.join().unwrap();
}
