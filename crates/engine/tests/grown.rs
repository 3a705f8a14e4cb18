//! Strings that grow: stored anew with room to spare, in which they grow on.

use dolium_engine::*;
use std::sync::Arc;

const DB: Db = Db(0);
const NOW: Millis = 1;

fn store(limit: u64) -> (Arc<Engine>, Session) {
    let options = EngineOptions { max_bytes: 128 << 20, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    engine.set_max_memory(limit);
    let session = engine.session().expect("a session");
    (engine, session)
}

fn put(session: &Session, key: &Key<'_>, value: &[u8]) {
    session.write(DB, key, NOW).put(DB, key, &Put::plain(Value::Bytes(value))).expect("room");
}

fn value(session: &Session, key: &Key<'_>) -> (Found, Vec<u8>) {
    let mut out = Vec::new();
    let found = session.get(DB, key, NOW, &mut out, |_, _| ()).expect("it is there");
    (found, out)
}

/// Stores bytes in a string as commands do. True: in place.
fn store_part(session: &Session, key: &Key<'_>, at: usize, bytes: &[u8]) -> bool {
    let part = Patch { at, bytes };
    let mut guard = session.write(DB, key, NOW);
    if guard.store_part(DB, key, Event::Append, &part) {
        return true;
    }
    assert_eq!(guard.grow(DB, key, Event::Append, &part), Ok(true));
    false
}

/// How many bytes a log is copied for each of its own, and what lies spare at most.
#[test]
fn a_log_is_copied_a_few_times_in_all() {
    let (engine, session) = store(128 << 20);
    for line in [20, 100, 1_000] {
        let key = engine.key(b"log");
        let bytes = vec![b'l'; line];
        put(&session, &key, &bytes);
        let most = if cfg!(miri) { 10_000 } else { 2_000_000 };
        let (mut len, mut copied) = (line, 0);
        while len < most {
            if !store_part(&session, &key, len, &bytes) {
                copied += len;
            }
            len += line;
            if len.is_multiple_of(100 * line) {
                let found = session.peek(DB, &key, NOW).expect("it is there");
                assert_eq!(found.len, len);
                assert!(found.block_bytes >= len && found.block_bytes < len / 4 * 5 + 64);
            }
        }
        assert!(copied < 9 * len, "{copied} of {len} in lines of {line}");
        engine.verify_at_rest().expect("sound");
    }
}

#[test]
fn what_is_stored_as_a_whole_has_no_room_to_spare() {
    let (engine, session) = store(128 << 20);
    let key = engine.key(b"key");
    let exact = |len: usize| {
        put(&session, &key, &vec![1; len]);
        value(&session, &key).0.block_bytes
    };
    let longest = if cfg!(miri) { 700 } else { 300_000 };
    for len in [300, 700, 5_000, 33_000, 300_000].into_iter().filter(|len| *len <= longest) {
        let before = exact(len);
        let key_room = if len < KEY_ROOM_VALUE_MIN { 0 } else { KEY_ROOM };
        assert!(before < len + key_room + 32);
        while store_part(&session, &key, value(&session, &key).0.len, b"more") {}
        let grown = value(&session, &key).0;
        assert!(len < 500 || grown.block_bytes > grown.len + len / 20, "{grown:?}");
        assert_eq!(exact(len), before);
        engine.verify_at_rest().expect("sound");
    }
}

/// Held against vectors: whatever a string may meet while it grows.
#[test]
fn strings_that_grow_are_what_was_stored_in_them() {
    let (engine, session) = store(128 << 20);
    let names: Vec<_> = (0..400).map(|n| format!("string {n}")).collect();
    let mut contents: Vec<Option<Vec<u8>>> = vec![None; names.len()];
    let mut random = 7_u64;
    let mut draw = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % below
    };
    let mut in_place = 0;
    let mut leases = Vec::new();
    for turn in 0..(if cfg!(miri) { 100 } else { 40_000 }) {
        let number = draw(names.len());
        let key = engine.key(names[number].as_bytes());
        let held = &mut contents[number];
        match (draw(20), held.as_mut()) {
            (0, Some(_)) => {
                assert!(session.write(DB, &key, NOW).remove(DB, &key, Event::Del));
                *held = None;
            }
            (1, Some(_)) => {
                let mut guard = session.write(DB, &key, NOW);
                guard.set_deadline(DB, &key, 1_000 + turn, Event::Expire).expect("room");
            }
            (2, Some(_)) => {
                session.write(DB, &key, NOW).renew_unique(DB, &key).expect("room");
            }
            (3, Some(bytes)) if leases.len() < 4 => {
                leases.extend(session.lease(DB, &key, NOW).map(|(_, one)| (one, bytes.clone())));
            }
            (4, _) => {
                leases.iter().for_each(|(lease, bytes)| assert!(lease.bytes() == *bytes));
                leases.clear();
            }
            (5..20, Some(bytes)) if bytes.len() < 200_000 => {
                let at = match draw(4) {
                    0 => draw(bytes.len() + 1),
                    1 => bytes.len() + draw(3_000),
                    _ => bytes.len(),
                };
                let most = [10, 200, 3_000, 20_000][draw(4)];
                let part = vec![turn as u8; 1 + draw(most)];
                in_place += usize::from(store_part(&session, &key, at, &part));
                bytes.resize(bytes.len().max(at + part.len()), 0);
                bytes[at..at + part.len()].copy_from_slice(&part);
            }
            _ => {
                let most = [10, 500, 40_000][draw(3)];
                let bytes = vec![turn as u8; draw(most)];
                put(&session, &key, &bytes);
                *held = Some(bytes);
            }
        }
        if let Some(bytes) = &contents[number] {
            let whole = value(&session, &key).1;
            assert!(whole == *bytes, "turn {turn}");
        }
        if turn % 1_000 == 0 {
            engine.verify().expect("sound");
        }
    }
    leases.clear();
    engine.verify_at_rest().expect("sound");
    assert!(in_place > 1_000 || cfg!(miri), "{in_place}");
    // Half of them go, and the others are moved together.
    for (name, held) in names.iter().zip(&mut contents).step_by(2) {
        session.write(DB, &engine.key(name.as_bytes()), NOW).remove(
            DB,
            &engine.key(name.as_bytes()),
            Event::Del,
        );
        *held = None;
    }
    // At first there may be other work.
    let moved: u64 = (0..200).map(|_| session.maintain(NOW, 1_000, &|| 0).moved_bytes).sum();
    assert!(moved > 0 || cfg!(miri));
    for (name, held) in names.iter().zip(&contents) {
        if let Some(bytes) = held {
            assert!(value(&session, &engine.key(name.as_bytes())).1 == *bytes);
        }
    }
    engine.verify_at_rest().expect("sound");
    // What goes all at once gives its blocks back as well.
    session.write_all(NOW).flush(DB);
    while session.maintain(NOW, 1_000, &|| 0).more {}
    engine.verify_at_rest().expect("sound");
}

/// Where there is memory for the string and none to spare, nothing is left to spare.
#[test]
#[cfg_attr(miri, ignore = "large")]
fn without_memory_for_it_nothing_is_left_to_spare() {
    let (mut spare, mut exact) = (0, 0);
    for limit in (50..80).step_by(2) {
        let (engine, session) = store(limit << 20);
        let key = engine.key(b"key");
        let len = 24 << 20;
        put(&session, &key, &vec![7; len]);
        let part = Patch { at: len + (100 << 10), bytes: b"x" };
        let grown = session.write(DB, &key, NOW).grow(DB, &key, Event::Append, &part);
        let found = value(&session, &key).0;
        match grown {
            Ok(_) if found.block_bytes > found.len + 1_000 => spare += 1,
            Ok(_) => exact += 1,
            Err(_) => assert_eq!(found.len, len),
        }
        assert!(grown.is_err() || found.len == len + (100 << 10) + 1);
        engine.verify_at_rest().expect("sound");
    }
    assert!(spare > 0 && exact > 0, "{spare} with room to spare, {exact} without");
}

#[test]
fn what_is_told_of_it_is_the_part() {
    let (engine, session) = store(128 << 20);
    let key = engine.key(b"key");
    put(&session, &key, &[1; 1_000]);
    session.write(DB, &key, NOW).set_deadline(DB, &key, 5_000, Event::Expire).expect("room");
    let unique = session.write(DB, &key, NOW).unique(DB, &key).expect("room");
    let mut changes = engine.changes(Delivery::Lossless).expect("memory");
    assert!(!store_part(&session, &key, 2_000, b"end"));
    let (found, bytes) = value(&session, &key);
    assert!(bytes[..1_000] == [1; 1_000] && bytes[1_000..2_000] == [0; 1_000]);
    assert_eq!((&bytes[2_000..], found.deadline), (&b"end"[..], 5_000));
    assert!(found.unique > unique);
    let Next::Change(change) = changes.next() else { panic!("it is a change") };
    assert_eq!(change.effect, Effect::Patch(vec![(2_000, b"end".to_vec())]));
    let beyond = Patch { at: usize::MAX, bytes: b"x" };
    let refused = session.write(DB, &key, NOW).grow(DB, &key, Event::Append, &beyond);
    assert_eq!(refused, Err(StoreError::ValueTooLong));
    // Of what is no string of bytes nothing is done.
    let none = engine.key(b"none");
    let part = Patch { at: 0, bytes: b"x" };
    assert_eq!(session.write(DB, &none, NOW).grow(DB, &none, Event::Append, &part), Ok(false));
    session.write(DB, &none, NOW).put(DB, &none, &Put::plain(Value::Int(5))).expect("room");
    assert_eq!(session.write(DB, &none, NOW).grow(DB, &none, Event::Append, &part), Ok(false));
}
