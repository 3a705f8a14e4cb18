//! Strings shown where they lie, under a guard.

use dolium_engine::*;

const DB: Db = Db(0);

#[test]
fn strings_of_bytes_are_lent_and_nothing_else() {
    let engine = Engine::create(EngineOptions { max_bytes: 64 << 20, ..EngineOptions::default() })
        .expect("an arena");
    let session = engine.session().expect("a session");
    let large: Vec<u8> = (0..200_000u32).map(|n| (n % 253) as u8).collect();
    let (text, number, missing) = (engine.key(b"text"), engine.key(b"number"), engine.key(b"no"));
    for (key, value) in [(&text, Value::Bytes(&large)), (&number, Value::Int(12))] {
        session.write(DB, key, 1).put(DB, key, &Put::plain(value)).expect("room");
    }
    let mut guard = session.write(DB, &text, 1);
    let (found, bytes) = guard.lend(DB, &text).expect("it is a string");
    assert_eq!((found.kind, found.len), (Kind::String, large.len()));
    assert!(bytes == large);
    drop(guard);
    assert!(session.write(DB, &number, 1).lend(DB, &number).is_none(), "an integer has no bytes");
    assert!(session.write(DB, &missing, 1).lend(DB, &missing).is_none());

    session.begin_transaction(Some(&[(DB, text.hash())]), 1);
    assert!(session.write(DB, &text, 1).lend(DB, &text).is_none(), "another guard could change it");
    session.end_transaction();

    let mut guard = session.write(DB, &text, 1);
    guard.set_deadline(DB, &text, 5, Event::Expire).expect("room");
    drop(guard);
    assert!(session.write(DB, &text, 6).lend(DB, &text).is_none(), "it is due");
    engine.verify().expect("sound");
}

#[test]
fn what_is_not_wanted_is_found_and_not_copied() {
    let engine = Engine::create(EngineOptions { max_bytes: 64 << 20, ..EngineOptions::default() })
        .expect("an arena");
    let session = engine.session().expect("a session");
    let key = engine.key(b"k");
    session.write(DB, &key, 1).put(DB, &key, &Put::plain(Value::Bytes(b"value"))).expect("room");
    let mut out = b"before ".to_vec();
    let head = |_: &Found, out: &mut Vec<u8>| out.push(b'!');
    let found = session.get_if(DB, &key, 1, &mut out, |found| found.len > 5, head);
    assert_eq!((found.map(|found| found.len), &out[..]), (Some(5), &b"before "[..]));
    session.get_if(DB, &key, 1, &mut out, |found| found.len == 5, head);
    assert_eq!(out, b"before !value");
}
