//! Memcached's lookups where memory is full and nothing may go.

#[allow(dead_code)]
mod door;

use dolium_server::listener::Door;
use door::{Client, House};

const LEN: usize = 900_000;
const GET: u8 = 0x00;
const DELETE: u8 = 0x04;
const TOUCH: u8 = 0x1c;
const GAT: u8 = 0x1d;
const EXISTS: u16 = 2;
const NO_MEMORY: u16 = 0x82;

/// Status, unique number, and what follows the header.
fn ask(client: &mut Client, opcode: u8, extras: &[u8], unique: u64) -> (u16, u64, Vec<u8>) {
    let body = (extras.len() as u32 + 1).to_be_bytes();
    let head = [&[0x80, opcode, 0, 1, extras.len() as u8, 0, 0, 0][..], &body, &[0; 4]].concat();
    client.send(&[&head, &unique.to_be_bytes()[..], extras, b"0"].concat());
    let head = client.take(24);
    let field = |range: std::ops::Range<usize>| {
        head[range].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let rest = client.take(field(8..12) as usize);
    (field(6..8) as u16, field(16..24), rest)
}

/// A store that is full of values of so many letters, among them the first.
fn full_house() -> (House, String) {
    let house = House::open(&["maxmemory 16mb", "maxmemory-policy noeviction"]);
    let mut writer = house.client_of(Door::Memcached);
    let value = "v".repeat(LEN);
    let mut is_full = false;
    for n in 0..32 {
        writer.send(format!("set {n} 0 0 {LEN}\r\n{value}\r\nmn\r\n").as_bytes());
        let mut said = Vec::new();
        while !said.ends_with(b"MN\r\n") {
            said.extend(writer.take(1));
        }
        is_full |= said.starts_with(b"SERVER_ERROR");
    }
    assert!(is_full);
    (house, value)
}

/// A GET makes the item's first unique number, which takes room for another copy. Where there was none it answered
/// that there is no such key, and its client went to make anew what was there all the time.
#[test]
fn what_is_there_is_no_miss_where_memory_is_full() {
    let (house, value) = full_house();
    let mut client = house.client_of(Door::Memcached);
    let (status, unique, item) = ask(&mut client, GET, b"", 0);
    assert_eq!((status, item.len()), (0, 4 + LEN));
    // Compared with, the number fits nothing: the item may have changed by then.
    assert_ne!(unique, 0);
    assert_eq!(ask(&mut client, DELETE, b"", unique).0, EXISTS);
    for opcode in [TOUCH, GAT] {
        assert_eq!(ask(&mut client, opcode, &[0, 0, 1, 0], 0).0, NO_MEMORY);
    }
    let (status, _, item) = ask(&mut client, GET, b"", 0);
    assert_eq!((status, &item[4..]), (0, value.as_bytes()));
}

/// `gets` answered END, and so did `gat`, whose new time to live takes another copy as well: as if there were no
/// such item.
#[test]
fn text_says_that_there_is_no_memory_for_what_it_has_to_tell_and_not_that_there_is_no_item() {
    let (house, value) = full_house();
    let mut client = house.client_of(Door::Memcached);
    let no_memory = b"SERVER_ERROR out of memory storing object\r\n";
    for line in ["gets 0", "gets none 0", "gat 100 0", "gats 100 0", "mg 0 c v"] {
        client.send(format!("{line}\r\n").as_bytes());
        assert_eq!(client.take(no_memory.len()), no_memory, "{line}");
    }
    client.send(b"get 0\r\ngets none\r\nmn\r\n");
    let said = format!("VALUE 0 0 {LEN}\r\n{value}\r\nEND\r\nEND\r\nMN\r\n");
    assert_eq!(client.take(said.len()), said.as_bytes());
}
