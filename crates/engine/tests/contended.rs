//! A reader that loses against writers a thousand times in a row says so, and leaves nothing behind.
//!
//! Its caller asks the server then, and appends what that says to the same bytes. They used to hold
//! the value of the last attempt that was lost, in front of the server's.
//!
//! Here each reader is its own writer: in the middle of every attempt it replaces what it reads.
#![cfg(not(miri))]

use dolium_engine::{
    Contended, Db, Deadline, Engine, EngineOptions, Policy, Put, Reader, Session, Value,
};
use std::cell::Cell;

const DB: Db = Db(0);

/// Calls `read` with a reader, and with what writes another value of "key" on each call.
fn against_a_writer(read: impl Fn(&Reader, &dyn Fn())) {
    let engine = Engine::create(EngineOptions {
        max_bytes: 256 << 20,
        shards: 16,
        databases: 1,
        hash_seed: [5, 6],
        policy: Policy::NoEviction,
        journal_bytes: 1 << 20,
    })
    .unwrap();
    let reader = Reader::open(engine.attach_fd().unwrap()).unwrap();
    let session = engine.session().unwrap();
    let round = Cell::new(0);
    let write = || {
        round.set(round.get() + 1);
        put(&session, &vec![b'v'; 40 + round.get() % 50]);
    };
    write();
    read(&reader, &write);
    assert!(round.get() > 1000, "the reader gave up after {} attempts", round.get());
}

fn put(session: &Session, value: &[u8]) {
    let key = session.engine().key(b"key");
    let put = Put { deadline: Deadline::At(100), ..Put::plain(Value::Bytes(value)) };
    session.write(DB, &key, 1).put(DB, &key, &put).unwrap();
}

#[test]
fn a_get_that_is_lost_appends_nothing() {
    against_a_writer(|reader, write| {
        let mut out = b"before".to_vec();
        let found = reader.get(DB, &reader.key(b"key"), 1, &mut out, |_, out| {
            out.extend_from_slice(b"head");
            write();
        });
        assert_eq!((found, out.as_slice()), (Err(Contended), &b"before"[..]));
    });
}

#[test]
fn a_copy_that_is_lost_appends_nothing() {
    against_a_writer(|reader, write| {
        let mut out = b"before".to_vec();
        let now = || {
            write();
            1
        };
        let copied = reader.copy(DB, &reader.key(b"key"), now, &mut out);
        assert_eq!((copied, out.as_slice()), (Err(Contended), &b"before"[..]));
    });
}

#[test]
fn a_range_that_is_lost_appends_nothing() {
    against_a_writer(|reader, write| {
        let mut out = b"before".to_vec();
        let found = reader.get_range(DB, &reader.key(b"key"), 1, &mut out, |_, _| {
            write();
            (3, 20)
        });
        assert_eq!((found, out.as_slice()), (Err(Contended), &b"before"[..]));
    });
}
