//! A batch of reads answers what single reads answer, whatever the keys and values are.
#![cfg(not(miri))]

mod stop;

use dolium_engine::{
    Copied, Db, Deadline, Engine, EngineOptions, Event, Flags, Policy, Put, Reader, Session, Value,
};
use std::mem::MaybeUninit;
use std::sync::Arc;
use stop::StopOnDrop;

fn house() -> (Arc<Engine>, Reader) {
    let engine = Engine::create(EngineOptions {
        max_bytes: 256 << 20,
        shards: 16,
        databases: 2,
        hash_seed: [3, 4],
        policy: Policy::NoEviction,
        journal_bytes: 1 << 20,
    })
    .unwrap();
    let reader = Reader::open(engine.attach_fd().unwrap()).unwrap();
    (engine, reader)
}

fn put(session: &Session, key: &str, value: Value<'_>, deadline: Deadline) {
    let key = session.engine().key(key.as_bytes());
    let put = Put { deadline, flags: Flags::Set(7), ..Put::plain(value) };
    session.write(Db(0), &key, 1).put(Db(0), &key, &put).unwrap();
}

fn in_batches(reader: &Reader, keys: &[String], now: u64) -> Vec<Option<Vec<u8>>> {
    let (mut all, mut value) = (Vec::new(), Vec::new());
    for some in keys.chunks(Reader::BATCH_KEYS) {
        reader.get_batch(
            Db(0),
            some,
            || now,
            &mut value,
            |number, read| {
                assert_eq!(number, all.len() % Reader::BATCH_KEYS);
                all.push(read.unwrap().map(<[u8]>::to_vec));
            },
        );
    }
    all
}

fn copied(value: &Option<Vec<u8>>) -> Copied {
    value.as_ref().map_or(Copied::NoKey, |value| Copied::Value(value.len()))
}

fn singly(reader: &Reader, keys: &[String], now: u64) -> Vec<Option<Vec<u8>>> {
    let read = |key: &String| {
        let mut out = b"before".to_vec();
        let key = reader.key(key.as_bytes());
        let is_there = reader.copy(Db(0), &key, || now, &mut out).unwrap();
        let mut same = b"before".to_vec();
        let found = reader.get(Db(0), &key, now, &mut same, |_, _| ()).unwrap();
        let value = found.map(|_| out.split_off(6));
        assert_eq!((is_there, &same[..6]), (copied(&value), &b"before"[..]));
        assert_eq!(&same[6..], value.as_deref().unwrap_or_default());
        let len = value.as_ref().map_or(0, Vec::len);
        // Room for all of it and more, for just all of it, and for a byte less.
        for room in [len + 9, len, len.saturating_sub(1)] {
            let mut room = vec![MaybeUninit::new(b'.'); room];
            let is_there = reader.copy_to(Db(0), &key, || now, &mut room).unwrap();
            assert_eq!(is_there, copied(&value));
            // SAFETY: all of it was initialised just above.
            let room = unsafe { room.assume_init_ref() };
            let fits = value.as_ref().filter(|value| value.len() <= room.len());
            let (begin, rest) = room.split_at(fits.map_or(0, Vec::len));
            assert_eq!(begin, fits.map_or(&[][..], Vec::as_slice));
            assert!(rest.iter().all(|byte| *byte == b'.'), "nobody writes here: {rest:?}");
        }
        value
    };
    keys.iter().map(read).collect()
}

#[test]
fn batches_and_single_reads_agree() {
    let (engine, reader) = house();
    let session = engine.session().unwrap();
    let mut keys = Vec::new();
    let mut expected = Vec::new();
    // Enough keys for full segments, stash lines and several splits in each shard.
    for n in 0..40_000u64 {
        let key = format!("{:x<width$}{n}", "", width = (n % 40) as usize);
        let text = vec![n as u8; (n % 700) as usize];
        let (value, deadline, is_there) = match n % 7 {
            0 => (
                Value::Int(n as i64 - 50),
                Deadline::Never,
                Some(format!("{}", n as i64 - 50).into()),
            ),
            1 => (Value::Bytes(&text), Deadline::At(1_000), None),
            2 => (Value::Bytes(&text), Deadline::At(9_000), Some(text.clone())),
            _ => (Value::Bytes(&text), Deadline::Never, Some(text.clone())),
        };
        if n % 11 != 0 {
            put(&session, &key, value, deadline);
        }
        expected.push(if n % 11 == 0 { None } else { is_there });
        keys.push(key);
    }
    assert!(in_batches(&reader, &keys, 5_000) == expected, "batches differ from what was stored");
    assert!(singly(&reader, &keys, 5_000) == expected, "single reads differ from what was stored");
    for key in keys.iter().step_by(3) {
        let key = engine.key(key.as_bytes());
        session.write(Db(0), &key, 1).remove(Db(0), &key, Event::Del);
    }
    let after = in_batches(&reader, &keys, 5_000);
    assert!(after.iter().step_by(3).all(Option::is_none));
    assert!(after == singly(&reader, &keys, 5_000));
    assert!(in_batches(&reader, &keys, 10_000) == singly(&reader, &keys, 10_000));
    assert!(in_batches(&reader, &[], 0).is_empty());
}

#[test]
fn a_batch_beside_a_writer_reads_whole_values_and_misses_none() {
    let (engine, reader) = house();
    let keys: Vec<String> = (0..64).map(|n| format!("key:{n}")).collect();
    let session = engine.session().unwrap();
    for key in &keys {
        put(&session, key, Value::Bytes(&[0; 40]), Deadline::Never);
    }
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = engine.session().unwrap();
            let mut round = 0u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                round += 1;
                // One byte, repeated: a mixture shows. The length follows from the byte.
                let byte = round as u8;
                let value = vec![byte; 40 + byte as usize];
                put(&session, &keys[round as usize % 64], Value::Bytes(&value), Deadline::Never);
                // Others come and go, so that blocks are used again at once.
                let other = format!("other:{}", round % 5000);
                put(&session, &other, Value::Bytes(&value), Deadline::Never);
            }
        });
        let _stop = StopOnDrop(&stop);
        for _ in 0..20_000 {
            for value in in_batches(&reader, &keys, 1) {
                let value = value.expect("no key is ever removed");
                assert!(value.iter().all(|byte| *byte == value[0]), "torn");
                assert_eq!(value.len(), 40 + value[0] as usize, "torn");
            }
        }
    });
}

/// Several keys that are read in a transaction, or under the locks because writers are too quick, counted
/// as neither hits nor misses, and their uses were not noted for eviction.
#[test]
fn a_read_in_a_transaction_counts() {
    let (engine, _) = house();
    let session = engine.session().unwrap();
    put(&session, "there", Value::Bytes(b"x"), Deadline::Never);
    let keys = [engine.key(b"there"), engine.key(b"absent")];
    let counted = || {
        let statistics = engine.statistics();
        (statistics.hits, statistics.misses)
    };
    let (hits, misses) = counted();
    session.begin_transaction(None, 1);
    session.get_many(Db(0), &keys, 1, &mut Vec::new(), |_, _, _| ());
    session.end_transaction();
    assert_eq!(counted(), (hits + 1, misses + 1));
    let used = session.peek(Db(0), &keys[0], 1).expect("it is there").frequency;
    assert_eq!(used, 1, "its use is noted");
}
