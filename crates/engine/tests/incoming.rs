//! Large values that are received where they shall lie.
//!
//! Not with an interpreter: there none is received where it shall lie, since that writes to the arena with
//! more than its words.
#![cfg(all(target_arch = "x86_64", not(miri)))]

use dolium_engine::*;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

const DB: Db = Db(0);
const LARGE: usize = 200_000;

fn large(first: usize) -> Vec<u8> {
    (first..first + LARGE).map(|n| (n % 253) as u8).collect()
}

fn store(bytes: u64) -> (Arc<Engine>, Session) {
    let options = EngineOptions { max_bytes: 4 << 30, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    engine.set_max_memory(bytes);
    let session = engine.session().expect("a session");
    (engine, session)
}

fn form(len: usize) -> Form {
    Form { len, has_deadline: false, has_extension: false }
}

/// Expects a value and receives all of it, in two pieces.
fn received(session: &Session, key: &Key<'_>, form: &Form, value: &[u8]) -> Incoming {
    let mut incoming = session.expect(DB, key, form, 1).expect("room");
    assert_eq!(incoming.append(&value[..1000]), 1000);
    for piece in value[1000..].chunks(100_000) {
        let (mut near, far) = UnixStream::pair().expect("sockets");
        let sent = piece.to_vec();
        let sender = std::thread::spawn(move || near.write_all(&sent).expect("room"));
        let mut left = piece.len();
        while left > 0 {
            match incoming.receive(far.as_fd(), &mut []) {
                Ok(n) => left -= n,
                Err(rustix::io::Errno::AGAIN) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
        sender.join().expect("sent");
    }
    assert_eq!(incoming.missing(), 0);
    incoming
}

fn read(session: &Session, key: &Key<'_>) -> Vec<u8> {
    let mut value = Vec::new();
    session.get(DB, key, 1, &mut value, |_, _| ()).expect("the key is there");
    value
}

/// Bytes of items, when what was given back is free.
fn live(engine: &Engine, session: &Session) -> u64 {
    while session.maintain(1, u64::MAX, &|| 0).more {}
    engine.verify_at_rest().expect("sound");
    let report = engine.memory();
    report.live - report.index
}

#[test]
fn a_value_stays_where_it_was_received() {
    let (engine, session) = store(64 << 20);
    let key = engine.key(b"k");
    for round in 0..20 {
        let before = live(&engine, &session);
        let value = large(round);
        let incoming = received(&session, &key, &form(LARGE), &value);
        let mut copy = Vec::new();
        incoming.copy_to(&mut copy);
        assert!(copy == value);
        let shown = session.with_received(incoming, |bytes| {
            let put = Put::plain(Value::Bytes(bytes));
            session.write(DB, &key, 1).put(DB, &key, &put).expect("its block is there");
            bytes.as_ptr()
        });
        assert!(read(&session, &key) == value);
        let (_, lease) = session.lease(DB, &key, 1).expect("a string");
        assert_eq!(lease.bytes().as_ptr(), shown, "it was moved");
        drop(lease);
        assert!(round == 0 || live(&engine, &session) == before);
    }
}

#[test]
fn an_item_of_another_form_gets_a_copy() {
    let (engine, session) = store(64 << 20);
    let key = engine.key(b"k");
    let empty = live(&engine, &session);
    let value = large(5);
    let puts = [
        Put { flags: Flags::Set(7), ..Put::plain(Value::Bytes(b"")) },
        Put { deadline: Deadline::At(50), ..Put::plain(Value::Bytes(b"")) },
        Put { unique: true, ..Put::plain(Value::Bytes(b"")) },
    ];
    for put in puts {
        let incoming = received(&session, &key, &form(LARGE), &value);
        session.with_received(incoming, |bytes| {
            let put = Put { value: Value::Bytes(bytes), ..put };
            session.write(DB, &key, 1).put(DB, &key, &put).expect("room");
        });
        assert!(read(&session, &key) == value);
        engine.verify_at_rest().expect("sound");
    }
    let incoming = received(&session, &key, &form(LARGE), &value);
    session.with_received(incoming, |bytes| {
        let put = Put::plain(Value::Parts([b"more", bytes, b"than that"]));
        session.write(DB, &key, 1).put(DB, &key, &put).expect("room");
    });
    assert_eq!(read(&session, &key), [b"more", &value[..], b"than that"].concat());
    session.write(DB, &key, 1).remove(DB, &key, Event::Del);
    assert_eq!(live(&engine, &session), empty, "a block was lost");
}

#[test]
fn what_does_not_come_or_is_not_stored_is_given_back() {
    let (engine, session) = store(64 << 20);
    let key = engine.key(b"k");
    let empty = live(&engine, &session);
    for _ in 0..500 {
        let mut incoming = session.expect(DB, &key, &form(LARGE), 1).expect("what was dropped");
        incoming.append(b"the beginning");
        drop(incoming);
        session.maintain(1, u64::MAX, &|| 0);
    }
    for round in 0..500 {
        let mut incoming = session.expect(DB, &key, &form(LARGE), 1).expect("what was not stored");
        assert_eq!(incoming.append(&large(round)), LARGE);
        session.with_received(incoming, |bytes| assert_eq!(bytes.len(), LARGE));
        session.maintain(1, u64::MAX, &|| 0);
    }
    assert_eq!(live(&engine, &session), empty);
    assert!(session.peek(DB, &key, 1).is_none());
}

/// They counted no more among those on their way, and were not free before somebody else freed a large
/// block: a crowd of clients that went away in the middle of their values filled all memory with them.
#[test]
fn what_was_given_up_is_free_for_the_next() {
    let (engine, session) = store(64 << 20);
    let key = engine.key(b"k");
    for _ in 0..1_000 {
        drop(session.expect(DB, &key, &form(LARGE), 1).expect("room"));
    }
    let committed = engine.memory().committed;
    assert!(committed < 8 << 20, "{committed} bytes for one value at a time");
}

#[test]
fn few_may_be_on_their_way_and_nothing_is_evicted_for_them() {
    let (engine, session) = store(64 << 20);
    let key = engine.key(b"k");
    assert!(session.expect(DB, &key, &form(INCOMING_BYTES_MIN - 1), 1).is_none(), "too small");
    let all: Vec<_> = (0..100).map_while(|_| session.expect(DB, &key, &form(LARGE), 1)).collect();
    // A sixteenth of all memory, in pages of 4 KiB.
    assert!((15..30).contains(&all.len()), "{} are a sixteenth of all memory", all.len());
    drop(all);
    let mut number = 0;
    loop {
        number += 1;
        let name = format!("key {number}");
        let key = engine.key(name.as_bytes());
        if session.make_room(LARGE, 1).is_err() {
            break;
        }
        let put = Put::plain(Value::Bytes(&[7; LARGE]));
        session.write(DB, &key, 1).put(DB, &key, &put).expect("room");
    }
    engine.set_policy(Policy::AllKeysLru);
    assert!(session.expect(DB, &key, &form(LARGE), 1).is_none(), "memory is full");
    assert_eq!(engine.statistics().evicted, 0);
}

/// Room was made for no other block as long as the received one was at hand: all tries found memory
/// full, and the store was refused although others could go.
#[test]
fn a_copy_gets_room_where_others_can_go() {
    // More than what is kept free when memory is full.
    const HUGE: usize = 1_000_000;
    let (engine, session) = store(64 << 20);
    let mut number = 0;
    let name = |number: usize| format!("key {number}");
    while session.make_room(HUGE, 1).is_ok() {
        let name = name(number);
        let key = engine.key(name.as_bytes());
        let put = Put::plain(Value::Bytes(&[7; HUGE]));
        session.write(DB, &key, 1).put(DB, &key, &put).expect("room");
        number += 1;
    }
    let name = name(number / 2);
    let key = engine.key(name.as_bytes());
    session.write(DB, &key, 1).remove(DB, &key, Event::Del);
    let mut incoming = session.expect(DB, &key, &form(HUGE), 1).expect("room for just one");
    incoming.append(&[3; HUGE]);
    engine.set_policy(Policy::AllKeysLru);
    session.with_received(incoming, |bytes| {
        let put = Put { flags: Flags::Set(9), ..Put::plain(Value::Bytes(bytes)) };
        let stored = (0..8).any(|_| {
            session.make_room(HUGE, 1).expect("others can go");
            session.write(DB, &key, 1).put(DB, &key, &put).is_ok()
        });
        assert!(stored);
    });
    assert!(read(&session, &key) == [3; HUGE]);
    engine.verify_at_rest().expect("sound");
}

/// Two sessions replace one key by what they receive while a third reads and a fourth compacts.
#[test]
fn received_values_are_replaced_and_moved_like_any_other() {
    let (engine, session) = store(64 << 20);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let session = engine.session().expect("a session");
            scope.spawn(move || {
                let key = session.engine().key(b"k");
                for round in 0..400 {
                    let letter = (writer * 13 + round % 13) as u8;
                    let mut incoming = session.expect(DB, &key, &form(LARGE), 1).expect("room");
                    incoming.append(&[letter; LARGE]);
                    session.with_received(incoming, |bytes| {
                        session.make_room(LARGE, 1).expect("it has its block");
                        let put = Put::plain(Value::Bytes(bytes));
                        session.write(DB, &key, 1).put(DB, &key, &put).expect("room");
                        // The other may have replaced it by now.
                        assert!(bytes.iter().all(|byte| *byte == letter), "a torn value");
                    });
                }
            });
        }
        let reader = engine.session().expect("a session");
        scope.spawn(move || {
            let key = reader.engine().key(b"k");
            let mut value = Vec::new();
            for _ in 0..400 {
                value.clear();
                if reader.get(DB, &key, 1, &mut value, |_, _| ()).is_some() {
                    assert!(value.iter().all(|byte| *byte == value[0]), "a torn value");
                }
                reader.maintain(1, u64::MAX, &|| 0);
                reader.take_page_of(100, 1);
            }
        });
        // Not at rest: blocks are on their way from hand to hand.
        for _ in 0..20 {
            engine.verify().expect("sound");
        }
    });
    drop(session);
    engine.verify_at_rest().expect("sound");
}
