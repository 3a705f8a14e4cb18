//! Iteration over a whole database, and keys by chance: what is met, and how often.
#![cfg(not(miri))]

use dolium_engine::{
    Db, Deadline, Engine, EngineOptions, Event, Millis, Policy, Put, Session, Value,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const DB: Db = Db(0);
const NOW: Millis = 1;

fn store(shards: u32) -> (Arc<Engine>, Session) {
    let engine = Engine::create(EngineOptions {
        max_bytes: 256 << 20,
        shards,
        databases: 1,
        hash_seed: [7, 8],
        policy: Policy::NoEviction,
        journal_bytes: 1 << 20,
    });
    let engine = engine.expect("an arena");
    let session = engine.session().expect("a slot");
    (engine, session)
}

fn put(session: &Session, name: &str) {
    let key = session.engine().key(name.as_bytes());
    session.write(DB, &key, NOW).put(DB, &key, &Put::plain(Value::Bytes(b"v"))).expect("room");
}

fn remove(session: &Session, name: &str) {
    let key = session.engine().key(name.as_bytes());
    assert!(session.write(DB, &key, NOW).remove(DB, &key, Event::Del));
}

/// How often each key is met.
fn met(session: &Session, keep: &mut dyn FnMut(&[u8]) -> bool) -> HashMap<Vec<u8>, usize> {
    let mut met = HashMap::new();
    session.scan_all(DB, NOW, keep, |key| *met.entry(key.to_vec()).or_default() += 1);
    met
}

#[test]
fn all_that_is_wanted_is_met_once() {
    let (_engine, session) = store(16);
    assert!(met(&session, &mut |_| true).is_empty());
    for number in 0..50_000 {
        put(&session, &format!("key:{number}"));
    }
    let all = met(&session, &mut |_| true);
    assert_eq!(all.len(), 50_000);
    assert!(all.values().all(|&times| times == 1));
    let some = met(&session, &mut |key| key.ends_with(b"7"));
    assert_eq!(some.len(), 5_000);
    assert!(some.iter().all(|(key, &times)| key.ends_with(b"7") && times == 1));
}

#[test]
fn what_is_over_is_not_met() {
    let (engine, session) = store(16);
    for number in 0..1_000u64 {
        let name = format!("key:{number}");
        let key = engine.key(name.as_bytes());
        let deadline = Deadline::At(NOW + 1 + number % 2);
        let put = Put { deadline, ..Put::plain(Value::Bytes(b"v")) };
        session.write(DB, &key, NOW).put(DB, &key, &put).expect("room");
    }
    let mut count = 0;
    session.scan_all(DB, NOW + 1, &mut |_| true, |key| {
        assert!(key.last().expect("a digit") % 2 == 1, "{key:?}");
        count += 1;
    });
    assert_eq!(count, 500);
}

/// Segments are split, and keys beside those that stay come and go, while all are read.
#[test]
fn what_stays_is_met_once_beside_writers() {
    let (engine, session) = store(16);
    for number in 0..20_000 {
        put(&session, &format!("stays:{number}"));
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (session, is_over) = (engine.session().expect("a slot"), &is_over);
            scope.spawn(move || {
                for number in 0.. {
                    if is_over.load(Relaxed) || number == 500_000 {
                        break;
                    }
                    put(&session, &format!("new:{writer}:{number}"));
                    if number % 2 == 0 {
                        remove(&session, &format!("new:{writer}:{number}"));
                    }
                }
            });
        }
        for _ in 0..20 {
            let stay = met(&session, &mut |key| key.starts_with(b"stays:"));
            assert!(stay.values().all(|&times| times == 1));
            assert_eq!(stay.len(), 20_000);
        }
        is_over.store(true, Relaxed);
    });
}

/// A flush makes one segment of many: what is stored again lies partly before the place that was reached, which is
/// in the middle of a shard.
#[test]
fn what_is_stored_again_after_a_flush_is_not_met_twice() {
    let (engine, session) = store(16);
    for number in 0..20_000 {
        put(&session, &format!("key:{number}"));
    }
    let mut met = HashMap::<Vec<u8>, usize>::new();
    let mut is_flushed = false;
    session.scan_all(DB, NOW, &mut |_| true, |key| {
        *met.entry(key.to_vec()).or_default() += 1;
        if met.len() == 10_600 && !std::mem::replace(&mut is_flushed, true) {
            let beside = engine.session().expect("a slot");
            beside.write_all(NOW).flush(DB);
            for number in 0..2_000 {
                put(&beside, &format!("key:{number}"));
            }
        }
    });
    assert!(is_flushed);
    let twice = met.iter().filter(|(_, times)| **times > 1).count();
    assert_eq!(twice, 0);
}

#[test]
fn a_step_of_an_iteration_has_about_as_many_keys_as_were_asked_for() {
    let (_engine, session) = store(16);
    for number in 0..50_000 {
        put(&session, &format!("key:{number}"));
    }
    for count in [1, 10, 100, 1_000, 10_000] {
        let (mut all, mut cursor) = (HashSet::new(), 0);
        loop {
            let mut met = 0;
            cursor = session.scan(DB, cursor, count, NOW, |key, _| {
                assert!(all.insert(key.to_vec()), "nobody writes");
                met += 1;
            });
            // What lies in stash lines comes on top.
            assert!(met <= count + 60, "{met} of {count}");
            if cursor == 0 {
                break;
            }
            assert!(met >= count, "{met} of {count}");
        }
        assert_eq!(all.len(), 50_000);
    }
}

#[test]
fn any_key_that_is_left_comes_by_chance() {
    let (_engine, session) = store(64);
    for number in 0..50_000 {
        put(&session, &format!("key:{number}"));
    }
    for number in (0..50_000).filter(|number| number % 1_000 != 0) {
        remove(&session, &format!("key:{number}"));
    }
    let mut times = HashMap::<Vec<u8>, usize>::new();
    let mut random = 0x1234_5678_9abc_def1_u64;
    for _ in 0..20_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut key = Vec::new();
        assert!(session.random_key(DB, random, NOW, &mut key));
        *times.entry(key).or_default() += 1;
    }
    assert_eq!(times.len(), 50);
    assert!(times.keys().all(|key| key.ends_with(b"000") || key == b"key:0"));
    for number in 0..50 {
        remove(&session, &format!("key:{}", number * 1_000));
    }
    assert!(!session.random_key(DB, random, NOW, &mut Vec::new()));
}

#[test]
fn no_key_that_is_over_comes_by_chance() {
    let (engine, session) = store(16);
    for number in 0..2_000u64 {
        let name = format!("key:{number}");
        let key = engine.key(name.as_bytes());
        let deadline = Deadline::At(if number == 0 { NOW + 100 } else { NOW + 1 });
        let put = Put { deadline, ..Put::plain(Value::Bytes(b"v")) };
        session.write(DB, &key, NOW).put(DB, &key, &put).expect("room");
    }
    for random in [0, 1, 0x9e37_79b9_7f4a_7c15, u64::MAX] {
        let mut key = Vec::new();
        assert!(session.random_key(DB, random, NOW + 1, &mut key));
        assert_eq!(key, b"key:0");
        assert!(!session.random_key(DB, random, NOW + 100, &mut key));
    }
}
