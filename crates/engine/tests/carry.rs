//! Values that get another key, or another database, in the block in which they lie.

mod kept_by_a_cut;

use dolium_engine::*;
use kept_by_a_cut::cut_beside;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DB: Db = Db(0);
const NOW: Millis = 1_000;
const EVENTS: [Event; 2] = [Event::RenameFrom, Event::RenameTo];

fn store() -> (Arc<Engine>, Session) {
    let options = EngineOptions { max_bytes: 64 << 20, databases: 2, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    (engine, session)
}

fn put(session: &Session, key: &Key<'_>, value: Value<'_>) {
    session.write(DB, key, NOW).put(DB, key, &Put::plain(value)).expect("room");
}

fn carry(session: &Session, from: (Db, &Key<'_>), to: (Db, &Key<'_>)) -> bool {
    let places = [(from.0, from.1.hash()), (to.0, to.1.hash())];
    session.write_many(&places, NOW).carry(from, to, EVENTS).expect("a place")
}

fn value(session: &Session, db: Db, key: &Key<'_>) -> Option<(Found, Vec<u8>)> {
    let mut out = Vec::new();
    let mut guard = session.write(db, key, NOW);
    let found = guard.find(db, key)?;
    guard.value(db, key, &mut out);
    Some((found, out))
}

/// Of every form of an item and every length of a key: either it was given another key, with all that is to
/// stay, or nothing was done; and that only where the key has neither room nor the same length.
#[test]
fn an_item_of_any_form_gets_another_key_with_all_that_stays() {
    let (engine, session) = store();
    let mut carried = 0;
    let bytes: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
    let values =
        [0, 3, 255, 256, 3_000, KEY_ROOM_VALUE_MIN - 1, KEY_ROOM_VALUE_MIN, 40_000, 100_000].map(
            |len| {
                let value = &bytes[..len];
                [Value::Bytes(value), Value::Packed(Kind::List, Encoding::Quicklist, value)]
            },
        );
    // Those without a byte and those with room for keys, under an interpreter.
    let values = values.into_iter().step_by(if cfg!(miri) { 6 } else { 1 });
    let values = values.flatten().chain([Value::Int(-17), Value::Parts([b"a", b"", b"b"])]);
    for (number, put_value) in values.enumerate() {
        for (old_len, new_len) in [
            (5, 5),
            (9, 5),
            (5, 9),
            (5, KEY_ROOM),
            (KEY_ROOM, 1),
            (KEY_ROOM, KEY_ROOM + 1),
            (300, 300),
        ] {
            let names = ["a".repeat(old_len), "b".repeat(new_len)];
            let [from, to] = [0, 1].map(|n| engine.key(names[n].as_bytes()));
            let (is_replaced, to_db) = (number % 2 == 0, Db((new_len % 3 == 0).into()));
            let mut form = Put::plain(put_value);
            if old_len != 9 {
                form.deadline = Deadline::At(9_000 + number as u64);
                form.marks = MARK_STALE;
            }
            if number % 3 != 0 {
                (form.flags, form.unique) = (Flags::Set(number as u32), number % 3 == 1);
            }
            session.write(DB, &from, NOW).put(DB, &from, &form).expect("room");
            if is_replaced {
                let other = Put { deadline: Deadline::At(7_000), ..Put::plain(Value::Bytes(b"?")) };
                session.write(to_db, &to, NOW).put(to_db, &to, &other).expect("room");
            }
            let (old, expected) = value(&session, DB, &from).expect("it was stored");
            let place = format!("{put_value:.0?} from {old_len} to {new_len}");
            let copied = session.bytes_to_copy(DB, &from, new_len);
            let is_carried = carry(&session, (DB, &from), (to_db, &to));
            let has_room = expected.len() >= KEY_ROOM_VALUE_MIN && old_len.max(new_len) <= KEY_ROOM;
            assert_eq!(is_carried, old_len == new_len || has_room, "{place}");
            assert_eq!(
                copied,
                if is_carried || old.encoding == Encoding::Int { 0 } else { expected.len() }
            );
            if !cfg!(miri) || number % 3 == 0 {
                engine.verify_at_rest().expect("sound");
            }
            if is_carried {
                carried += 1;
                assert_eq!(value(&session, DB, &from), None, "{place}");
                let (new, bytes) = value(&session, to_db, &to).expect("it has come");
                assert!(bytes == expected, "{place}");
                assert_eq!(
                    (new.kind, new.encoding, new.deadline),
                    (old.kind, old.encoding, old.deadline)
                );
                assert_eq!(
                    (new.flags, new.marks, new.block_bytes),
                    (old.flags, 0, old.block_bytes)
                );
                assert_eq!(new.unique != 0, old.unique != 0, "{place}");
            } else {
                assert_eq!(value(&session, DB, &from), Some((old, expected)), "{place}");
                assert_eq!(value(&session, to_db, &to).is_some(), is_replaced, "{place}");
            }
            for (db, key) in [(DB, &from), (to_db, &to)] {
                session.write(db, key, NOW).remove(db, key, Event::Del);
            }
        }
    }
    assert!(cfg!(miri) || carried > 50, "{carried}");
}

/// With a number that no change of either key had.
#[test]
fn a_value_with_a_unique_gets_a_new_one() {
    let (engine, session) = store();
    let [one, two] = [b"one", b"two"].map(|name| engine.key(name));
    for _ in 0..20 {
        let mut seen = Vec::new();
        for key in [&one, &two] {
            put(&session, key, Value::Bytes(b"value"));
            seen.push(session.write(DB, key, NOW).unique(DB, key).expect("room"));
        }
        for (from, to) in [(&one, &two), (&two, &one)] {
            assert!(carry(&session, (DB, from), (DB, to)));
            let (found, _) = value(&session, DB, to).expect("it has come");
            assert!(seen.iter().all(|unique| found.unique != *unique) && found.unique != 0);
            seen.push(found.unique);
        }
    }
}

#[test]
fn who_reads_changes_or_watches_either_key_is_told() {
    let (engine, session) = store();
    let [from, to] = [&b"tmp:users"[..], b"users"].map(|name| engine.key(name));
    let bytes = vec![7; KEY_ROOM_VALUE_MIN];
    let flags = [0, 1, 2, 3].map(|_| Arc::new(AtomicBool::new(false)));
    for created in [true, false] {
        put(&session, &from, Value::Parts([&bytes, b"", b""]));
        let mut changes = engine.changes(Delivery::Lossless).expect("memory");
        let [old, new] = [0, 1].map(|n| &flags[n + 2 * usize::from(created)]);
        session.watch(DB, &from, old, NOW);
        session.watch(DB, &to, new, NOW);
        assert!(carry(&session, (DB, &from), (DB, &to)));
        assert!(old.load(Ordering::Relaxed) && new.load(Ordering::Relaxed));
        let Next::Change(change) = changes.next() else { panic!("a new value is a change") };
        assert_eq!((change.event, &change.key[..]), (Event::RenameTo, &b"users"[..]));
        let (kind, encoding) = (Kind::String, Encoding::Raw);
        let value = bytes.clone();
        let put = Effect::Put { value, deadline: NEVER, flags: 0, kind, encoding, created };
        assert!(change.effect == put);
        let Next::Change(change) = changes.next() else { panic!("a key that is gone is a change") };
        assert_eq!((change.event, &change.key[..]), (Event::RenameFrom, &b"tmp:users"[..]));
        assert_eq!((change.effect, changes.next()), (Effect::Remove, Next::Empty));
    }
}

/// A lease is of the value, which does not move; and its block waits for it under whatever key it is freed.
#[test]
fn a_leased_value_gets_another_key() {
    let (engine, session) = store();
    let [from, to] = [&b"tmp:users"[..], b"users"].map(|name| engine.key(name));
    let bytes = vec![b'x'; 3 * LEASED_BYTES_MIN];
    put(&session, &from, Value::Bytes(&bytes));
    let (_, old) = session.lease(DB, &from, NOW).expect("it is long enough");
    assert!(carry(&session, (DB, &from), (DB, &to)));
    let (_, new) = session.lease(DB, &to, NOW).expect("it is long enough");
    assert_eq!(old.bytes().as_ptr(), new.bytes().as_ptr());
    drop(new);
    session.write(DB, &to, NOW).remove(DB, &to, Event::Del);
    put(&session, &to, Value::Bytes(&vec![b'y'; bytes.len()]));
    assert!(old.bytes() == bytes);
    drop(old);
    engine.verify_at_rest().expect("sound");
}

/// Where stores are of whole words, the key's last one would store the first bytes of what is leased.
#[test]
fn a_leased_value_in_the_word_of_its_key_stays_at_that() {
    let (engine, session) = store();
    let names = ["a".repeat(203), "b".repeat(203)];
    let [from, to] = [0, 1].map(|n| engine.key(names[n].as_bytes()));
    put(&session, &from, Value::Bytes(&[b'x'; 3 * LEASED_BYTES_MIN]));
    let (_, lease) = session.lease(DB, &from, NOW).expect("it is long enough");
    assert!(!carry(&session, (DB, &from), (DB, &to)));
    // The same key, of another database, is not stored again.
    assert!(carry(&session, (DB, &from), (Db(1), &from)));
    drop(lease);
    assert!(carry(&session, (Db(1), &from), (DB, &to)));
}

#[test]
fn a_cut_has_the_value_at_its_former_key() {
    let (engine, session) = store();
    let names: Vec<_> = (0..400).map(|n| format!("old {n:03}")).collect();
    for name in &names {
        put(&session, &engine.key(name.as_bytes()), Value::Bytes(name.as_bytes()));
    }
    let mut left = names.iter();
    let items = cut_beside(&engine, || {
        for name in left.by_ref().take(3) {
            let new = name.replace("old", "new");
            let [from, to] = [name, &new].map(|name| engine.key(name.as_bytes()));
            assert!(carry(&session, (DB, &from), (DB, &to)));
        }
    });
    assert!(items.iter().all(|item| item.key == item.value), "a key of later");
    let mut seen: Vec<_> = items.into_iter().map(|item| item.key).collect();
    seen.sort();
    assert!(seen.iter().eq(names.iter().map(|name| name.as_bytes())), "{} items", seen.len());
}

/// In a store whose memory is one value's, for which there is no other.
#[test]
#[cfg_attr(miri, ignore = "it writes 40 MB")]
fn a_value_gets_another_key_where_there_is_no_room_for_a_copy() {
    let options = EngineOptions { max_bytes: 64 << 20, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    let [from, to, other] = [&b"x:tmp"[..], b"x", b"other"].map(|name| engine.key(name));
    let large = vec![7; 40 << 20];
    put(&session, &from, Value::Packed(Kind::List, Encoding::Quicklist, &large));
    let copy = Put::plain(Value::Bytes(&large));
    assert_eq!(session.write(DB, &other, NOW).put(DB, &other, &copy), Err(StoreError::Full));
    assert_eq!(session.bytes_to_copy(DB, &from, 1), 0);
    assert!(carry(&session, (DB, &from), (DB, &to)));
    assert!(carry(&session, (DB, &to), (DB, &from)));
    assert!(value(&session, DB, &from).expect("it is there").1 == large);
    engine.verify_at_rest().expect("sound");
}
