//! Keys and values of every length around which the code takes another way, by every way of storing
//! and reading them.
#![cfg(not(miri))]

use dolium_engine::*;
use std::mem::MaybeUninit;

const DB: Db = Db(0);
const KEY_LENGTHS: [usize; 23] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 40, 64, 255, 256, 300];

/// All short ones, and the longer ones on both sides of each limit.
fn value_lengths() -> impl Iterator<Item = usize> {
    let limits = [512, 1000, 2048, 4096, 8192, 32 << 10, 64 << 10, 100_000];
    (0..330).chain(limits.into_iter().flat_map(|limit| limit - 17..=limit + 1))
}

/// Bytes that differ from those of every other piece and of every other place.
fn bytes(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(131) ^ seed.wrapping_mul(31) ^ (i >> 8)) as u8).collect()
}

/// Stores as one of a batch: the first time a new key, then over the value that is there; and twice over
/// one of the same length.
fn store(session: &Session, name: &[u8], value: &[u8]) {
    let key = session.engine().key(name);
    let fetch = || {
        let mut fetches = Vec::new();
        session.fetch_line(DB, key.hash(), &mut fetches);
        session.fetch_items(&mut fetches);
        fetches[0]
    };
    let first = fetch();
    let mut guard = session.write_fetched(DB, &key, &first, 1);
    guard.put_fetched(DB, &key, &first, &Put::plain(Value::Bytes(value))).unwrap();
    drop(guard);
    let other: Vec<u8> = value.iter().map(|byte| !byte).collect();
    assert!(session.set(DB, &key, &other, 1).unwrap().replaced);
    let mut out = Vec::new();
    assert!(session.get(DB, &key, 1, &mut out, |_, _| ()).is_some());
    assert!(out == other, "{} {}", name.len(), value.len());
    assert!(session.set_fetched(DB, &key, &fetch(), value, 1).unwrap().replaced);
}

fn read_all_ways(session: &Session, reader: &Reader, name: &[u8], value: &[u8]) {
    let key = session.engine().key(name);
    let (lengths, len) = ((name.len(), value.len()), Ok(Copied::Value(value.len())));
    let mut out = b"before".to_vec();
    assert_eq!(reader.copy(DB, &key, || 1, &mut out), len);
    assert!(out.strip_prefix(b"before") == Some(value), "{lengths:?}");
    let mut room = vec![MaybeUninit::new(b'.'); value.len() + 3];
    assert_eq!(reader.copy_to(DB, &key, || 1, &mut room), len);
    // SAFETY: all of it was initialised just above.
    let room = unsafe { room.assume_init_ref() };
    assert!(room.strip_suffix(b"...") == Some(value), "{lengths:?}");
    out.clear();
    assert!(session.get(DB, &key, 1, &mut out, |_, _| ()).is_some());
    assert!(out == value, "{lengths:?}");
    for at in 0..name.len() {
        let mut other = name.to_vec();
        other[at] ^= 0x80;
        assert!(session.peek(DB, &session.engine().key(&other), 1).is_none(), "{lengths:?} {at}");
    }
}

#[test]
fn every_length_is_stored_and_read_whole() {
    let options = EngineOptions { max_bytes: 1 << 30, shards: 16, ..EngineOptions::default() };
    let engine = Engine::create(options).unwrap();
    let session = engine.session().unwrap();
    let reader = Reader::open(engine.attach_fd().unwrap()).unwrap();
    for (number, length) in value_lengths().enumerate() {
        let names: Vec<Vec<u8>> = KEY_LENGTHS.map(|length| bytes(number + length, length)).into();
        let mut values = Vec::new();
        for round in 0..2 {
            values = names.iter().map(|name| bytes(round * 97 + name.len(), length)).collect();
            for (name, value) in names.iter().zip(&values) {
                store(&session, name, value);
            }
            // Two short names may be the same bytes: the later value is the key's.
            for (at, (name, value)) in names.iter().zip(&values).enumerate() {
                if !names[at + 1..].contains(name) {
                    read_all_ways(&session, &reader, name, value);
                }
            }
        }
        let (mut out, mut seen) = (Vec::new(), 0);
        reader.get_batch(
            DB,
            &names,
            || 1,
            &mut out,
            |number, read| {
                assert!(read.unwrap() == Some(&values[number][..]), "{length}");
                seen += 1;
            },
        );
        assert_eq!(seen, names.len());
        for name in &names {
            let key = engine.key(name);
            session.write(DB, &key, 1).remove(DB, &key, Event::Del);
        }
    }
    engine.verify_at_rest().unwrap();
}
