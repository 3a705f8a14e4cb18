//! Eviction where there is little to choose from, and where chance chooses.

// Megabytes are written in all of these: hours, for an interpreter.
#![cfg(not(miri))]

use dolium_engine::*;
use std::sync::{Arc, Mutex};

const DB: Db = Db(0);
const NOW: Millis = 1_000;
/// A deadline that no test reaches.
const FAR: Millis = 1 << 40;
const SHARDS: u32 = 16;
const BYTES: usize = 4_000;

/// Whether an item could be stored.
fn put(session: &Session, name: &str, bytes: usize, deadline: Deadline) -> bool {
    let key = session.engine().key(name.as_bytes());
    let value = vec![7; bytes];
    let put = Put { deadline, ..Put::plain(Value::Bytes(&value)) };
    session.make_room(name.len() + bytes, NOW).is_ok()
        && session.write(DB, &key, NOW).put(DB, &key, &put).is_ok()
}

/// A store of some thousand items, which has refused the next one.
fn full_store(deadline: Deadline) -> (Arc<Engine>, Session) {
    let options = EngineOptions {
        shards: SHARDS,
        databases: 1,
        policy: Policy::NoEviction,
        ..EngineOptions::default()
    };
    let engine = Engine::create(options).expect("an arena");
    engine.set_max_memory(24 << 20);
    let session = engine.session().expect("a slot");
    let is_refused = |number: &u32| !put(&session, &number.to_string(), BYTES, deadline);
    let refused = (0..).find(is_refused);
    assert!(refused > Some(1_000), "item {refused:?} was refused");
    (engine, session)
}

/// `SET "" ""` needs room for no bytes. Where items are few, as many of them were to go as hold that
/// many bytes: none, and the eviction of none panicked, which ends a server.
#[test]
fn an_empty_value_under_an_empty_key_is_stored_in_a_full_store() {
    let (engine, session) = full_store(Deadline::Never);
    engine.set_policy(Policy::AllKeysLru);
    assert!(!session.has_ample_room(0), "the store is not full");
    assert!(put(&session, "", 0, Deadline::Never), "room is made");
    assert!(session.peek(DB, &engine.key(b""), NOW).is_some());
    assert_eq!(engine.verify_at_rest(), Ok(()));
}

/// One counter chose the shard and tossed the coin for each item in it. Where one item went at a time
/// its toss fell on every fourth number, and the next shard was always the one behind: three quarters
/// of the shards never lost anything.
#[test]
fn the_random_policies_evict_from_all_shards_alike() {
    const EVICTIONS: u32 = 200;
    let policies =
        [(Policy::AllKeysRandom, Deadline::Never), (Policy::VolatileRandom, Deadline::At(FAR))];
    for (policy, deadline) in policies {
        let (engine, session) = full_store(deadline);
        engine.set_policy(policy);
        let gone = Arc::new(Mutex::new([0u32; SHARDS as usize]));
        let told = gone.clone();
        engine.on_departure(move |departure| {
            let shard = departure.hash >> (u64::BITS - SHARDS.trailing_zeros());
            told.lock().expect("no holder panics")[shard as usize] += 1;
        });
        let counts = || *gone.lock().expect("no holder panics");
        let mut number = 0;
        while counts().iter().sum::<u32>() < EVICTIONS {
            assert!(put(&session, &format!("new {number}"), BYTES, deadline), "{policy:?}");
            number += 1;
        }
        let counts = counts();
        let least = EVICTIONS / SHARDS / 2;
        assert!(counts.iter().all(|&count| count >= least), "{policy:?}: {counts:?}");
        assert_eq!(engine.verify_at_rest(), Ok(()));
    }
}

/// A value that is set anew all the time, in each of the ways there are, went like one that nobody asks for: its slot
/// kept the age of its first insertion.
#[test]
fn what_is_set_anew_all_the_time_stays() {
    type Way = fn(&Session, &Key<'_>);
    let ways: [Way; 5] = [
        |session, key| {
            session.set(DB, key, b"value", NOW).expect("stored");
        },
        |session, key| {
            let mut fetches = Vec::new();
            session.fetch_line(DB, key.hash(), &mut fetches);
            session.fetch_items(&mut fetches);
            session.set_fetched(DB, key, &fetches[0], b"value", NOW).expect("stored");
        },
        |session, key| {
            let put = Put::plain(Value::Bytes(b"value"));
            session.write(DB, key, NOW).put(DB, key, &put).expect("stored");
        },
        // Of another length each second time, and with a deadline.
        |session, key| {
            let longer = session.peek(DB, key, NOW).is_some_and(|found| found.len == 5);
            let value = if longer { &b"longer value"[..] } else { b"value" };
            let put = Put { deadline: Deadline::At(FAR), ..Put::plain(Value::Bytes(value)) };
            session.write(DB, key, NOW).put(DB, key, &put).expect("stored");
        },
        |session, key| {
            let put = Put::plain(Value::Int(7));
            session.write(DB, key, NOW).put(DB, key, &put).expect("stored");
        },
    ];
    for (number, way) in ways.iter().enumerate() {
        let (engine, session) = full_store(Deadline::Never);
        engine.set_policy(Policy::AllKeysLru);
        let names: Vec<String> = (0..10).map(|number| format!("kept {number}")).collect();
        let mut gone = 0;
        for round in 0..300 {
            for number in 0..300 {
                assert!(put(&session, &format!("{round} {number}"), BYTES, Deadline::Never));
            }
            for name in &names {
                let key = engine.key(name.as_bytes());
                gone += u32::from(round > 0 && session.peek(DB, &key, NOW).is_none());
                way(&session, &key);
            }
        }
        assert!(engine.statistics().evicted > 50_000);
        assert!(gone <= 3, "way {number}: {gone} of 3000 were gone");
        assert_eq!(engine.verify_at_rest(), Ok(()));
    }
}
