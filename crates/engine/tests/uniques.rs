//! CAS uniques: no two values of a key have the same number, wherever the key has been.

use dolium_engine::*;
use std::collections::HashSet;

/// Each root numbers its own changes. SWAPDB gave a database another root, whose numbers began anew: a client
/// that had read one value stored over another one, which it had never seen.
#[test]
fn a_swapped_database_gives_no_number_again() {
    let options = EngineOptions { shards: 16, databases: 4, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    let keys: Vec<String> = (0..40).map(|number| format!("key {number}")).collect();
    let mut seen = HashSet::new();
    for swapped in [(0, 1), (0, 2), (1, 2), (0, 3)] {
        for name in &keys {
            let key = engine.key(name.as_bytes());
            let put = Put { unique: true, ..Put::plain(Value::Bytes(b"value")) };
            for _ in 0..3 {
                let mut guard = session.write(Db(0), &key, 1);
                let before = guard.find(Db(0), &key).map_or(0, |found| found.unique);
                let unique = guard.put(Db(0), &key, &put).expect("memory").unique;
                assert!(unique > before, "{unique} behind {before}");
                assert!(seen.insert(unique), "{unique} of {name} has been another's");
            }
        }
        session.write_all(1).swap(Db(swapped.0), Db(swapped.1));
    }
}

/// A store that goes on where another one ended began its numbers anew. A client's number from before was
/// that of a value which it had never seen.
#[test]
fn numbers_go_on_above_those_of_an_earlier_store() {
    const KEYS: usize = 400;
    let engine_of = |shards, seed| {
        let hash_seed = [seed, seed];
        let options = EngineOptions { shards, databases: 4, hash_seed, ..EngineOptions::default() };
        Engine::create(options).expect("an arena")
    };
    let put = Put { unique: true, ..Put::plain(Value::Bytes(b"value")) };
    let (mut given, mut highest) = (HashSet::new(), 0);
    // More shards, fewer, and as many: none of them may make a difference.
    for (shards, seed) in [(32, 1), (16, 2), (64, 3), (64, 4)] {
        let engine = engine_of(shards, seed);
        let session = engine.session().expect("a slot");
        let mut guard = session.write_all(1);
        assert_eq!(guard.highest_unique(), 0);
        guard.raise_uniques(highest);
        assert!(guard.highest_unique() >= highest);
        drop(guard);
        // Databases that were opened before and behind: each has a sequence in each of its shards.
        for number in 0..KEYS {
            let (db, name) = (Db(number as u16 % 4), format!("key {number}"));
            let key = engine.key(name.as_bytes());
            let unique = session.write(db, &key, 1).put(db, &key, &put).expect("memory").unique;
            assert!(unique > highest, "{unique} is not above {highest}");
            assert!(given.insert(unique), "{unique} was given out before");
        }
        highest = session.write_all(1).highest_unique();
        assert!(given.iter().all(|unique| *unique <= highest));
        // What was written to already goes on, too.
        let key = engine.key(b"key 0");
        session.write_all(1).raise_uniques(highest * 2);
        let unique = session.write(Db(0), &key, 1).put(Db(0), &key, &put).expect("memory").unique;
        assert!(unique > highest * 2);
        highest = session.write_all(1).highest_unique();
        given.insert(unique);
    }
}

#[test]
fn what_is_put_back_has_the_number_that_it_had() {
    let engine = Engine::create(EngineOptions::default()).expect("an arena");
    let session = engine.session().expect("a slot");
    session.write_all(1).raise_uniques(1_000_000);
    for (name, unique) in [("asked for", 777_777), ("never asked for", 0)] {
        let key = engine.key(name.as_bytes());
        let put = Put { marks: MARK_STALE, ..Put::plain(Value::Bytes(b"value")) };
        let mut guard = session.write(Db(0), &key, 1);
        assert_eq!(guard.put_back(Db(0), &key, &put, unique).expect("memory").unique, unique);
        let found = guard.find(Db(0), &key).expect("it is there");
        assert_eq!((found.unique, found.marks), (unique, MARK_STALE));
        assert!(guard.put(Db(0), &key, &Put { unique: true, ..put }).unwrap().unique > 1_000_000);
    }
}
