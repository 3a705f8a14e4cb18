//! Expiry in small pieces: what is due goes wherever it lies, also where there is more of it than one
//! call has time for, and other work has its share of the time meanwhile.

// Tens of thousands of keys are written in these: hours, for an interpreter.
#![cfg(not(miri))]

use dolium_engine::*;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

const DB: Db = Db(0);
const OTHER: Db = Db(1);
/// When everything with a deadline is due.
const LATE: Millis = 20_000;
const DUE: Deadline = Deadline::At(10_000);

fn engine(shards: u32) -> (Arc<Engine>, Session) {
    let options = EngineOptions { shards, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    (engine, session)
}

fn put(session: &Session, db: Db, name: &str, bytes: usize, deadline: Deadline, now: Millis) {
    let key = session.engine().key(name.as_bytes());
    let value = vec![7; bytes];
    let put = Put { deadline, ..Put::plain(Value::Bytes(&value)) };
    session.write(db, &key, now).put(db, &key, &put).expect("memory");
}

/// One step of a thread that has no time at all.
fn step(session: &Session, now: Millis) -> Work {
    session.maintain(now, 0, &|| 0)
}

/// Each call began at the first shard and ended when its time was up: while keys of the first shards
/// kept coming due, those of the last ones stayed for ever, and nobody heard that there was more to do.
#[test]
fn no_shard_is_forgotten_while_others_are_due_again() {
    const SHARDS: usize = 16;
    let (engine, session) = engine(SHARDS as u32);
    let mut names = vec![Vec::new(); SHARDS];
    for name in (0..1_000).map(|number| format!("key {number}")) {
        let hash = engine.key(name.as_bytes()).hash();
        names[(hash >> (u64::BITS - SHARDS.trailing_zeros())) as usize].push(name);
    }
    let gone = Arc::new(Mutex::new(HashSet::new()));
    let told = gone.clone();
    engine.on_departure(move |departure| {
        let name = String::from_utf8_lossy(departure.key).into_owned();
        told.lock().expect("no holder panics").insert(name);
    });
    for of_shard in &names {
        put(&session, DB, &of_shard[0], 5, DUE, 1);
    }
    let mut now = LATE;
    for (round, new) in names[0][1..=SHARDS].iter().enumerate() {
        assert!(step(&session, now).more, "in round {round} of {SHARDS}");
        put(&session, DB, new, 5, Deadline::At(now + 1), now);
        now += 2;
    }
    let gone = gone.lock().expect("no holder panics");
    for (shard, of_shard) in names.iter().enumerate() {
        assert!(gone.contains(&of_shard[0]), "shard {shard} was never swept");
    }
}

/// All keys of a shard that were due at once were removed under one hold of its lock: for a tenth of a
/// second and more, in a large store, nobody could write there.
#[test]
fn a_shard_full_of_due_keys_is_swept_in_several_holds() {
    const KEYS: u64 = 100_000;
    const HOLD_MAX: u64 = 2_000;
    let (engine, session) = engine(16);
    for number in 0..KEYS {
        put(&session, DB, &format!("due {number}"), 5, DUE, 1);
    }
    let (mut expired, mut steps, mut kept) = (0, 0u64, 0);
    while expired < KEYS {
        let work = step(&session, LATE + steps);
        assert!((1..HOLD_MAX).contains(&work.expired), "step {steps}: {work:?}");
        expired += work.expired;
        assert_eq!(work.more, expired < KEYS, "step {steps}: {work:?}");
        // The directory grows while a shard is half swept.
        for _ in 0..200 {
            put(&session, DB, &format!("kept {kept}"), 5, Deadline::Never, LATE);
            kept += 1;
        }
        steps += 1;
        if steps.is_multiple_of(20) {
            assert_eq!(engine.verify_at_rest(), Ok(()));
        }
    }
    assert_eq!((engine.len(DB), engine.volatile_len(DB)), (kept, 0));
    let work = step(&session, LATE + steps);
    assert_eq!((work.expired, work.more), (0, false));
    assert_eq!(engine.verify_at_rest(), Ok(()));
}

/// A call whose time went into expiry did nothing else: flushed memory did not come back, and writers
/// had to make room themselves.
#[test]
fn other_work_has_its_share_while_much_is_due() {
    let (engine, session) = engine(256);
    for number in 0..2_000 {
        put(&session, DB, &format!("due {number}"), 5, DUE, 1);
    }
    for number in 0..1_000 {
        put(&session, OTHER, &format!("flushed {number}"), 10_000, Deadline::Never, 1);
    }
    while session.maintain(1, u64::MAX, &|| 0) != Work::default() {}
    session.write_all(1).flush(OTHER);
    let before = engine.memory().live;
    // A clock that goes on by one whenever somebody looks.
    let clock = Cell::new(0);
    let work = session.maintain(LATE, 100, &|| clock.replace(clock.get() + 1));
    assert!(work.more && work.expired > 0, "{work:?}");
    let after = engine.memory().live;
    assert!(after < before / 2, "{after} of {before} bytes are still in use");
    while session.maintain(LATE, 100, &|| 0).more {}
    assert_eq!((engine.volatile_len(DB), engine.item_count()), (0, 0));
}
