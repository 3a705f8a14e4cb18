//! Values that are stored at another key as well, and strings with bytes around them: from block to block.

mod kept_by_a_cut;

use dolium_engine::*;
use kept_by_a_cut::cut_beside;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DB: Db = Db(0);
const NOW: Millis = 1_000;

fn store() -> (Arc<Engine>, Session) {
    let options = EngineOptions { max_bytes: 64 << 20, databases: 2, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    (engine, session)
}

fn put(session: &Session, key: &Key<'_>, value: Value<'_>) {
    session.write(DB, key, NOW).put(DB, key, &Put::plain(value)).expect("room");
}

fn copy(session: &Session, from: (Db, &Key<'_>), to: (Db, &Key<'_>)) -> Result<bool, StoreError> {
    let places = [(from.0, from.1.hash()), (to.0, to.1.hash())];
    session.write_many(&places, NOW).copy(from, to, Event::CopyTo)
}

fn join(
    session: &Session,
    key: &Key<'_>,
    around: [&[u8]; 2],
    unique: bool,
) -> Result<Option<u64>, StoreError> {
    session.write(DB, key, NOW).join(DB, key, Event::Append, around, unique)
}

fn value(session: &Session, db: Db, key: &Key<'_>) -> Option<(Found, Vec<u8>)> {
    let mut out = Vec::new();
    let mut guard = session.write(db, key, NOW);
    let found = guard.find(db, key)?;
    guard.value(db, key, &mut out);
    Some((found, out))
}

/// Lengths on both sides of those at which an item has another form, or another kind of block.
fn lengths() -> impl Iterator<Item = usize> {
    let (most, step) = if cfg!(miri) { (256, 20) } else { (1 << 20, 1) };
    let limits = [256, 512, KEY_ROOM_VALUE_MIN, 16 << 10, 32 << 10, 100_000, 1 << 20];
    let around = limits.into_iter().flat_map(|limit| [limit - 1, limit, limit + 1]);
    (0..35).step_by(step).chain(around).filter(move |len| *len <= most + 1)
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n ^ n >> 8 ^ n >> 16) as u8).collect()
}

#[test]
fn a_copy_has_what_its_original_has_but_for_unique_and_marks() {
    let (engine, session) = store();
    let values = lengths().map(bytes).collect::<Vec<_>>();
    let values = values.iter().enumerate().map(|(number, value)| match number % 3 {
        0 => Value::Packed(Kind::List, Encoding::Quicklist, value),
        1 => Value::Bytes(value),
        _ => Value::Parts([value, b"", b""]),
    });
    for (number, original) in values.chain([Value::Int(-17), Value::Int(0)]).enumerate() {
        for (from_len, to_len) in [(5, 6), (6, 5), (9, KEY_ROOM + 1), (300, 4)] {
            let form = number * 5 + to_len;
            let names = ["a".repeat(from_len), "b".repeat(to_len)];
            let [from, to] = [0, 1].map(|n| engine.key(names[n].as_bytes()));
            let to_db = Db((form % 2) as u16);
            let mut put = Put { marks: MARK_STALE, ..Put::plain(original) };
            if form % 3 != 0 {
                put.deadline = Deadline::At(9_000 + number as u64);
            }
            if form % 5 > 1 {
                (put.flags, put.unique) = (Flags::Set(number as u32), form % 5 == 2);
            }
            session.write(DB, &from, NOW).put(DB, &from, &put).expect("room");
            // What is there: nothing, something else, something that is over, a copy of the same length.
            for there in 0..4 {
                if let 1 | 2 = there {
                    let deadline = Deadline::At(if there == 1 { 7_000 } else { NOW });
                    let other = Put { deadline, ..Put::plain(Value::Bytes(b"other")) };
                    session.write(to_db, &to, NOW).put(to_db, &to, &other).expect("room");
                }
                assert_eq!(copy(&session, (DB, &from), (to_db, &to)), Ok(true));
                let place = format!("{original:.0?} from {from_len} to {to_len}, {there}");
                let (old, expected) = value(&session, DB, &from).expect("it stays");
                let (new, copied) = value(&session, to_db, &to).expect("it was copied");
                assert!(copied == expected, "{place}");
                assert_eq!((new.kind, new.encoding), (old.kind, old.encoding), "{place}");
                assert_eq!((new.deadline, new.flags), (old.deadline, old.flags), "{place}");
                assert_eq!((new.marks, new.unique), (0, 0), "{place}");
                assert_eq!(old.marks, MARK_STALE, "{place}");
            }
            if !cfg!(miri) || form % 4 == 0 {
                engine.verify_at_rest().expect("sound");
            }
            for (db, key) in [(DB, &from), (to_db, &to)] {
                assert!(session.write(db, key, NOW).remove(db, key, Event::Del));
            }
            assert_eq!(copy(&session, (DB, &from), (to_db, &to)), Ok(false));
        }
    }
}

#[test]
fn bytes_go_before_and_behind_a_string() {
    let (engine, session) = store();
    let key = engine.key(b"string");
    for (number, len) in lengths().enumerate() {
        let old = bytes(len);
        for (before, behind) in [(0, 0), (5, 0), (0, 7), (1, 1), (100, 33), (300, 300)] {
            let (is_asked, has_flags) = (number % 2 == 0, number % 3 == 0);
            let form = Put {
                deadline: if number % 5 == 0 { Deadline::Never } else { Deadline::At(9_000) },
                flags: Flags::Set(if has_flags { 9 } else { 0 }),
                marks: MARK_STALE,
                unique: true,
                ..Put::plain(Value::Bytes(&old))
            };
            let stored = session.write(DB, &key, NOW).put(DB, &key, &form).expect("room");
            let [before, behind] = [vec![b'<'; before], vec![b'>'; behind]];
            let unique = join(&session, &key, [&before, &behind], is_asked);
            let unique = unique.expect("room").expect("a string");
            let (found, joined) = value(&session, DB, &key).expect("it is there");
            assert!(joined == [&before[..], &old, &behind].concat(), "{len}");
            assert_eq!(found.deadline, if number % 5 == 0 { NEVER } else { 9_000 });
            assert_eq!((found.marks, found.encoding), (0, Encoding::Raw));
            assert_eq!((found.flags, found.unique), (if has_flags { 9 } else { 0 }, unique));
            assert!(if is_asked { unique > stored.unique } else { unique == 0 });
            if !cfg!(miri) || before.len() == 100 {
                engine.verify_at_rest().expect("sound");
            }
        }
    }
    let none = engine.key(b"none");
    assert_eq!(join(&session, &none, [b"a", b""], true), Ok(None));
    put(&session, &key, Value::Int(7));
    assert_eq!(join(&session, &key, [b"a", b""], true), Ok(None));
    put(&session, &key, Value::Packed(Kind::List, Encoding::Quicklist, b"list"));
    assert_eq!(join(&session, &key, [b"a", b""], true), Ok(None));
}

#[test]
fn who_reads_changes_or_watches_the_key_is_told_the_whole_value() {
    let (engine, session) = store();
    let [from, to] = [&b"from"[..], b"to"].map(|name| engine.key(name));
    let original = bytes(if cfg!(miri) { 300 } else { 40_000 });
    put(&session, &from, Value::Packed(Kind::Set, Encoding::Hashtable, &original));
    let mut changes = engine.changes(Delivery::Lossless).expect("memory");
    let mut told = |event, effect: Effect| {
        let Next::Change(change) = changes.next() else { panic!("a new value is a change") };
        assert_eq!((change.event, &change.key[..]), (event, &b"to"[..]));
        assert!(change.effect == effect);
        assert_eq!(changes.next(), Next::Empty);
    };
    for created in [true, false] {
        let flag = Arc::new(AtomicBool::new(false));
        session.watch(DB, &to, &flag, NOW);
        assert_eq!(copy(&session, (DB, &from), (DB, &to)), Ok(true));
        assert!(flag.load(Ordering::Relaxed));
        let (kind, encoding, value) = (Kind::Set, Encoding::Hashtable, original.clone());
        let (deadline, flags) = (NEVER, 0);
        told(Event::CopyTo, Effect::Put { value, deadline, flags, kind, encoding, created });
    }
    let form = Put {
        deadline: Deadline::At(9_000),
        flags: Flags::Set(3),
        event: Event::Quiet,
        ..Put::plain(Value::Bytes(&original))
    };
    session.write(DB, &to, NOW).put(DB, &to, &form).expect("room");
    let (kind, encoding, value) = (Kind::String, Encoding::Bytes, original.clone());
    let (deadline, flags, created) = (9_000, 3, false);
    told(Event::Quiet, Effect::Put { value, deadline, flags, kind, encoding, created });
    assert_eq!(join(&session, &to, [b"before", b"behind"], false), Ok(Some(0)));
    let (encoding, value) = (Encoding::Raw, [b"before", &original[..], b"behind"].concat());
    told(Event::Append, Effect::Put { value, deadline, flags, kind, encoding, created });
}

/// Each key is copied onto the next one, or has bytes put before it, while a cut goes over them.
#[test]
fn a_cut_has_what_was_there_before_the_copy() {
    let (engine, session) = store();
    let names: Vec<_> = (0..400).map(|n| format!("key {n:03}")).collect();
    let keys: Vec<_> = names.iter().map(|name| engine.key(name.as_bytes())).collect();
    for key in &keys {
        put(&session, key, Value::Bytes(key.bytes()));
    }
    let mut left = keys.windows(2).enumerate();
    let items = cut_beside(&engine, || {
        for (number, pair) in left.by_ref().take(3) {
            if number % 2 == 0 {
                assert_eq!(copy(&session, (DB, &pair[0]), (DB, &pair[1])), Ok(true));
            } else {
                assert_eq!(join(&session, &pair[1], [b"later ", b""], false), Ok(Some(0)));
            }
        }
    });
    assert!(items.iter().all(|item| item.key == item.value), "a value of later");
    let mut seen: Vec<_> = items.into_iter().map(|item| item.key).collect();
    seen.sort();
    assert!(seen.iter().eq(names.iter().map(|name| name.as_bytes())), "{} items", seen.len());
}

/// What somebody is being sent stays as it is, be it copied or copied over.
#[test]
fn a_leased_value_is_copied_and_copied_over() {
    let (engine, session) = store();
    let [from, to] = [&b"from"[..], b"to"].map(|name| engine.key(name));
    let [one, two] = [b'1', b'2'].map(|byte| vec![byte; 3 * LEASED_BYTES_MIN]);
    put(&session, &from, Value::Bytes(&one));
    put(&session, &to, Value::Bytes(&two));
    let leases = [&from, &to].map(|key| session.lease(DB, key, NOW).expect("it is long enough").1);
    assert_eq!(copy(&session, (DB, &from), (DB, &to)), Ok(true));
    assert_eq!(join(&session, &from, [b"<", b""], false), Ok(Some(0)));
    for _ in 0..10 {
        put(&session, &engine.key(b"other"), Value::Bytes(&vec![b'3'; one.len()]));
    }
    assert!(leases[0].bytes() == one && leases[1].bytes() == two);
    assert!(value(&session, DB, &to).expect("it is there").1 == one);
    drop(leases);
    engine.verify_at_rest().expect("sound");
}

/// In a store with room for one and a half of them, and a key too long for any.
#[test]
#[cfg_attr(miri, ignore = "it writes 40 MB")]
fn where_there_is_no_memory_both_keys_have_what_they_had() {
    let (engine, session) = store();
    let [from, to, new] = [&b"from"[..], b"to", b"new"].map(|name| engine.key(name));
    let large = vec![7; 40 << 20];
    put(&session, &from, Value::Bytes(&large));
    put(&session, &to, Value::Bytes(b"small"));
    let before = engine.memory();
    assert_eq!(copy(&session, (DB, &from), (DB, &to)), Err(StoreError::Full));
    assert_eq!(copy(&session, (DB, &from), (DB, &new)), Err(StoreError::Full));
    assert_eq!(join(&session, &from, [b"<", b""], false), Err(StoreError::Full));
    let name = vec![b'n'; 1 << 16];
    let long = engine.key(&name);
    assert_eq!(copy(&session, (DB, &to), (DB, &long)), Err(StoreError::KeyTooLong));
    let most = vec![0; (512 << 20) - large.len() + 1];
    assert_eq!(join(&session, &from, [&most, b""], false), Err(StoreError::ValueTooLong));
    assert!(value(&session, DB, &from).expect("it is there").1 == large);
    assert_eq!(value(&session, DB, &to).expect("it is there").1, b"small");
    assert_eq!(value(&session, DB, &new), None);
    assert_eq!(engine.memory().committed, before.committed);
    engine.verify_at_rest().expect("sound");
}
