//! Strings that are changed in part, where they stand.

mod stop;

use dolium_engine::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use stop::StopOnDrop;

const DB: Db = Db(0);

fn store() -> (Arc<Engine>, Session) {
    let options = EngineOptions { max_bytes: 64 << 20, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a session");
    (engine, session)
}

fn put(session: &Session, key: &Key<'_>, value: &[u8]) {
    session.write(DB, key, 1).put(DB, key, &Put::plain(Value::Bytes(value))).expect("room");
}

fn store_part(session: &Session, key: &Key<'_>, at: usize, bytes: &[u8]) -> bool {
    session.write(DB, key, 1).store_part(DB, key, Event::SetRange, &Patch { at, bytes })
}

fn value(session: &Session, key: &Key<'_>) -> (Found, Vec<u8>) {
    let mut out = Vec::new();
    let found = session.get(DB, key, 1, &mut out, |_, _| ()).expect("it is there");
    assert_eq!(found.len, out.len());
    (found, out)
}

/// Readers of the shard wait for a part, and not for one that is as long as a value.
#[test]
fn a_long_part_is_not_stored_in_place() {
    let (engine, session) = store();
    let key = engine.key(b"key");
    put(&session, &key, &vec![7; if cfg!(miri) { 70_000 } else { 1 << 20 }]);
    assert!(store_part(&session, &key, 5, &[8; 64 << 10]));
    assert!(!store_part(&session, &key, 5, &[9; (64 << 10) + 1]));
    assert_eq!(value(&session, &key).1[..10], [7, 7, 7, 7, 7, 8, 8, 8, 8, 8]);
}

/// Of every size of headers and blocks: either nothing was done, or what was asked for.
#[test]
fn bytes_within_a_string_and_behind_its_end_are_stored_or_nothing_is() {
    let (engine, session) = store();
    let key = engine.key(b"key");
    let mut within_block = 0;
    let lengths = [0, 1, 7, 40, 200, 254, 255, 256, 300, 4_000, 32_000, 33_000, 100_000];
    let (longest, behind) = if cfg!(miri) { (4_000, 1_000) } else { (100_000, 20_000) };
    let step = if cfg!(miri) { 3 } else { 1 };
    for len in lengths.into_iter().step_by(step).filter(|len| *len <= longest) {
        for (at, bytes) in [(0, 1), (len / 2, 3), (len, 1), (len, 5), (len, 40), (len, behind)] {
            let mut expected: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            put(&session, &key, &expected);
            let part: Vec<u8> = (0..bytes).map(|n| 255 - (n % 3) as u8).collect();
            if store_part(&session, &key, at, &part) {
                expected.resize(len.max(at + bytes), 0);
                expected[at..at + bytes].copy_from_slice(&part);
                within_block += 1;
                assert_eq!(value(&session, &key).0.encoding, Encoding::Raw);
            } else {
                assert!(at + bytes > len, "{bytes} bytes at {at} of {len} are within the value");
            }
            assert!(value(&session, &key).1 == expected, "{bytes} bytes at {at} of {len}");
            engine.verify_at_rest().expect("sound");
        }
    }
    assert!(cfg!(miri) || within_block > 3 * lengths.len(), "{within_block}");
}

#[test]
fn no_gap_comes_about_and_what_is_no_string_of_bytes_stays() {
    let (engine, session) = store();
    let [text, number, list, none] =
        [&b"text"[..], b"number", b"list", b"none"].map(|name| engine.key(name));
    put(&session, &text, b"text");
    for (key, value) in
        [(number, Value::Int(12)), (list, Value::Packed(Kind::List, Encoding::Quicklist, &[1; 20]))]
    {
        session.write(DB, &key, 1).put(DB, &key, &Put::plain(value)).expect("room");
    }
    assert!(!store_part(&session, &text, 5, b"x"));
    assert!(!store_part(&session, &text, usize::MAX, b"x"));
    for key in [&number, &list, &none] {
        assert!(!store_part(&session, key, 0, b"x"));
    }
    assert_eq!(
        (value(&session, &text).1, value(&session, &number).1),
        (b"text".into(), b"12".into())
    );
}

#[test]
fn what_stands_beside_the_value_goes_as_with_a_store() {
    let (engine, session) = store();
    let key = engine.key(b"key");
    let mut changes = engine.changes(Delivery::Lossless).expect("memory");
    let flag = Arc::new(AtomicBool::new(false));
    let mut guard = session.write(DB, &key, 1);
    let first = Put {
        deadline: Deadline::At(5_000),
        flags: Flags::Set(7),
        unique: true,
        marks: MARK_STALE,
        ..Put::plain(Value::Bytes(b"abcdef"))
    };
    let unique = guard.put(DB, &key, &first).expect("room").unique;
    drop(guard);
    session.watch(DB, &key, &flag, 1);
    assert!(store_part(&session, &key, 5, b"FG"));
    let (found, bytes) = value(&session, &key);
    assert_eq!((bytes, found.deadline, found.flags, found.marks), (b"abcdeFG".into(), 5_000, 7, 0));
    assert!(found.unique > unique);
    assert!(flag.load(Ordering::Relaxed));
    assert!(
        matches!(changes.next(), Next::Change(change) if matches!(change.effect, Effect::Put { .. }))
    );
    let Next::Change(change) = changes.next() else { panic!("a part is a change") };
    assert_eq!(change.effect, Effect::Patch(vec![(5, b"FG".to_vec())]));
}

#[test]
fn leased_bytes_are_not_changed() {
    let (engine, session) = store();
    let key = engine.key(b"key");
    let old = vec![b'x'; 3 * LEASED_BYTES_MIN];
    put(&session, &key, &old);
    let (_, lease) = session.lease(DB, &key, 1).expect("it is long enough");
    assert!(!store_part(&session, &key, 0, b"new"));
    session.begin_transaction(Some(&[(DB, key.hash())]), 1);
    assert!(!store_part(&session, &key, 0, b"new"));
    session.end_transaction();
    assert!(lease.bytes() == old);
    drop(lease);
    assert!(store_part(&session, &key, 0, b"new"));
    assert!(value(&session, &key).1.starts_with(b"newx"));
    engine.verify_at_rest().expect("sound");
}

/// A writer fills a string anew with one byte, a part at its beginning and one that makes it longer, while
/// others read it and lease it.
#[test]
fn nobody_sees_half_a_part_or_a_lease_that_changes() {
    const LEN: usize = 10_000;
    let (engine, session) = store();
    let key = engine.key(b"key");
    put(&session, &key, &[0; LEN]);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let session = engine.session().expect("a session");
                let key = engine.key(b"key");
                let one = |bytes: &[u8]| bytes.iter().all(|byte| *byte == bytes[0]);
                while !ended.load(Ordering::Relaxed) {
                    assert!(one(&value(&session, &key).1), "bytes of two moments");
                    let Some((_, lease)) = session.lease(DB, &key, 1) else { continue };
                    let first = lease.bytes()[0];
                    std::thread::yield_now();
                    assert!(lease.bytes().iter().all(|byte| *byte == first), "it has changed");
                }
            });
        }
        let _stop = StopOnDrop(&ended);
        let mut in_place = 0;
        for n in 0..(if cfg!(miri) { 20 } else { 20_000u32 }) {
            let bytes = vec![n as u8; LEN + n as usize / 8];
            if store_part(&session, &key, 0, &bytes) {
                in_place += 1;
            } else {
                put(&session, &key, &bytes);
            }
        }
        assert!(in_place > 0);
    });
    engine.verify_at_rest().expect("sound");
}

/// Every attempt at a long value copies it, and a change in place of any key of its shard undoes that. There were a
/// thousand, of ten megabytes each, before it was read under the lock.
#[test]
fn a_long_value_is_not_copied_for_ever_beside_changes_in_its_shard() {
    let (length, beside) = if cfg!(miri) { (50_000, 10) } else { (8 << 20, 1_000) };
    let options = EngineOptions { max_bytes: 64 << 20, shards: 16, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a session");
    let long = engine.key(b"long");
    put(&session, &long, &vec![7; length]);
    // Some of so many are of its shard.
    let names: Vec<_> = (0..200).map(|n| format!("beside {n}")).collect();
    names.iter().for_each(|name| put(&session, &engine.key(name.as_bytes()), b"beside"));
    let (is_over, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&is_over);
        scope.spawn(|| {
            let session = engine.session().expect("a session");
            for name in names.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                assert!(store_part(&session, &engine.key(name.as_bytes()), 2, b"x"));
                changes.fetch_add(1, Ordering::Relaxed);
            }
        });
        while changes.load(Ordering::Relaxed) < beside {
            std::thread::yield_now();
        }
        let (mut copies, mut out) = (0, Vec::new());
        session.get(DB, &long, 1, &mut out, |_, _| copies += 1).expect("it is there");
        assert!(out.len() == length && copies <= 32, "{copies} copies");
    });
}
