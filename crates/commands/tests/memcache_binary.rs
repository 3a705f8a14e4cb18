//! The binary protocol where its rules are others than those of the text protocol: a delete that compares a
//! unique number, and beside it a client that writes.

mod memcache_harness;

use dolium_commands::memcache::{self, Count, McContext, Piece, Totals};
use dolium_engine::Db;
use dolium_protocol::memcache::Limits;
use dolium_protocol::memcache::binary::{HEADER_BYTES, Parsed, parse};
use memcache_harness::Connection;
use std::sync::atomic::{AtomicBool, Ordering};

const GET: u8 = 0x00;
const SET: u8 = 0x01;
const ADD: u8 = 0x02;
const DELETE: u8 = 0x04;
const INCREMENT: u8 = 0x05;

const OK: u16 = 0;
const NOT_FOUND: u16 = 1;
const EXISTS: u16 = 2;
const NON_NUMERIC: u16 = 6;

const NO_FLAGS_NOR_TIME: [u8; 8] = [0; 8];

struct Response {
    status: u16,
    unique: u64,
    /// Behind the extras, which are the flags that come with a value.
    value: Vec<u8>,
}

/// One request, without a socket.
fn ask(c: &mut Connection, opcode: u8, unique: u64, extras: &[u8], value: &[u8]) -> Response {
    const KEY: &[u8] = b"p:k";
    let body_len = (extras.len() + KEY.len() + value.len()) as u32;
    let mut bytes = vec![0x80, opcode, 0, KEY.len() as u8, extras.len() as u8, 0, 0, 0];
    bytes.extend(body_len.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(unique.to_be_bytes());
    bytes.extend([extras, KEY, value].concat());
    let Parsed::Complete { request, consumed } = parse(&bytes, &Limits::default()) else {
        panic!("not a whole request: {}", bytes.escape_ascii());
    };
    assert_eq!(consumed, bytes.len());
    let mut out = Vec::new();
    let mut context = McContext {
        session: &c.session,
        server: &c.server,
        tally: &c.tally,
        client: &mut c.client,
        watched: if c.server.details_on.get() { memcache::DETAILS_ON } else { 0 },
        db: Db(0),
        now: c.now,
        out: &mut out,
        piece: Piece::ALL,
        reply_bytes_max: usize::MAX,
        outlet: None,
    };
    let _ = memcache::run_binary(&mut context, &request);
    let (header, body) = out.split_at(HEADER_BYTES);
    Response {
        status: u16::from_be_bytes([header[6], header[7]]),
        unique: u64::from_be_bytes(header[16..24].try_into().expect("eight bytes")),
        value: body[usize::from(header[4])..].to_vec(),
    }
}

/// Ends the other thread, also when an answer was not as it should be.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What Memcached 1.6.18 answers, and what its statistics say then.
#[test]
fn a_delete_compares_the_unique_number() {
    let mut c = Connection::new();
    c.server.details_on.set(true);
    let first = ask(&mut c, SET, 0, &NO_FLAGS_NOR_TIME, b"1").unique;
    assert_eq!(ask(&mut c, DELETE, first + 1, b"", b"").status, EXISTS);
    assert_eq!(ask(&mut c, GET, 0, b"", b"").value, b"1");
    assert_eq!(ask(&mut c, DELETE, first, b"", b"").status, OK);
    assert_eq!(ask(&mut c, DELETE, first, b"", b"").status, NOT_FOUND);
    assert_eq!(ask(&mut c, DELETE, 0, b"", b"").status, NOT_FOUND);
    let mut totals = Totals::default();
    totals.add(&c.tally);
    assert_eq!((totals.of(Count::DeleteHit), totals.of(Count::DeleteMiss)), (1, 2));
    let dump = c.send(b"stats detail dump\r\n").escape_ascii().to_string();
    assert_eq!(dump, r"PREFIX p get 1 hit 1 set 1 del 4\r\nEND\r\n");
}

/// One client counts, the other takes the counter away by its number and puts back what it saw: no step of the
/// first may be lost.
#[test]
fn a_delete_takes_away_what_has_the_number_and_nothing_later() {
    const DELETES: u32 = 50_000;
    let mut deleter = Connection::new();
    let mut counter = Connection::new();
    counter.session = deleter.engine.session().expect("a second session");
    ask(&mut deleter, SET, 0, &NO_FLAGS_NOR_TIME, b"0");
    let is_over = AtomicBool::new(false);
    let counted = std::thread::scope(|scope| {
        let is_over = &is_over;
        let counting = scope.spawn(move || {
            let mut counted = 0;
            while !is_over.load(Ordering::Relaxed) {
                let reply = counter.send(b"incr p:k 1\r\n");
                counted += u64::from(reply != b"NOT_FOUND\r\n");
            }
            counted
        });
        let ends = Ends(is_over);
        for _ in 0..DELETES {
            let seen = ask(&mut deleter, GET, 0, b"", b"");
            match ask(&mut deleter, DELETE, seen.unique, b"", b"").status {
                OK => {
                    let back = ask(&mut deleter, ADD, 0, &NO_FLAGS_NOR_TIME, &seen.value);
                    assert_eq!(back.status, OK);
                }
                status => assert_eq!(status, EXISTS),
            }
        }
        drop(ends);
        counting.join().expect("the one who counts")
    });
    let last = ask(&mut deleter, GET, 0, b"", b"").value;
    assert_eq!(String::from_utf8_lossy(&last).trim_end(), counted.to_string());
}

/// What `strtoull` takes, as a C program stores it.
#[test]
fn a_number_may_end_with_a_nul() {
    let mut c = Connection::new();
    let by_one: Vec<u8> =
        [1, 0_u64].iter().flat_map(|n| n.to_be_bytes()).chain([0xff; 4]).collect();
    for (stored, counted) in [(&b"5\0"[..], 6_u64), (b" 7\0\0\0", 8), (b"99\0x", 100), (b"-0\0", 1)]
    {
        ask(&mut c, SET, 0, &NO_FLAGS_NOR_TIME, stored);
        let response = ask(&mut c, INCREMENT, 0, &by_one, b"");
        assert_eq!((response.status, response.value.as_slice()), (OK, &counted.to_be_bytes()[..]));
        let padded = format!("{counted:<0$}", stored.len());
        assert_eq!(ask(&mut c, GET, 0, b"", b"").value, padded.as_bytes());
    }
    for stored in [&b"\0"[..], b"\x005", b"-\0", b"5x\0", b"-5\0"] {
        ask(&mut c, SET, 0, &NO_FLAGS_NOR_TIME, stored);
        assert_eq!(ask(&mut c, INCREMENT, 0, &by_one, b"").status, NON_NUMERIC);
        assert_eq!(ask(&mut c, GET, 0, b"", b"").value, stored);
    }
}
