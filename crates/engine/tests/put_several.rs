//! Several values stored as one change where memory ends midway: none of them is.
#![cfg(all(not(miri), not(shuttle)))]

use dolium_engine::*;
use std::sync::Arc;

const DB: Db = Db(0);
const NOW: Millis = 1;

fn full_store(limit: u64, value_bytes: usize) -> (Arc<Engine>, Session, usize) {
    let options = EngineOptions { max_bytes: 64 << 20, shards: 16, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    engine.set_max_memory(limit);
    let session = engine.session().expect("a slot");
    let count = (0..)
        .take_while(|number| {
            let name = name(*number);
            let key = engine.key(name.as_bytes());
            let value = vec![b'o'; value_bytes];
            session.write(DB, &key, NOW).put(DB, &key, &Put::plain(Value::Bytes(&value))).is_ok()
        })
        .count();
    (engine, session, count)
}

fn name(number: usize) -> String {
    format!("key {number:08}")
}

fn stored(engine: &Engine, session: &Session, name: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    session.get(DB, &engine.key(name.as_bytes()), NOW, &mut out, |_, _| ()).map(|_| out)
}

/// Stores new values of these names; whether it was done.
fn put(engine: &Engine, session: &Session, names: &[String], values: &[Vec<u8>]) -> bool {
    let puts: Vec<_> = (names.iter().zip(values))
        .map(|(name, value)| (engine.key(name.as_bytes()), Put::plain(Value::Bytes(value))))
        .collect();
    let places: Vec<_> = puts.iter().map(|(key, _)| (DB, key.hash())).collect();
    session.write_many(&places, NOW).put_several(DB, &puts).is_ok()
}

/// MSET of eight values, the last of which found no memory, had stored those before it, and answered OOM.
#[test]
fn where_memory_ends_midway_nothing_is_stored() {
    let (engine, session, count) = full_store(16 << 20, 20_000);
    let (mut refused, mut done) = (0, 0);
    for round in 0..200 {
        // A little room, but not for all.
        let gone = name(round);
        let key = engine.key(gone.as_bytes());
        session.write(DB, &key, NOW).remove(DB, &key, Event::Del);
        let mut names: Vec<_> = (0..6).map(|n| name(count / 2 + (7 * round + n) % 100)).collect();
        names.extend([format!("new {round}"), gone]);
        let before: Vec<_> = names.iter().map(|name| stored(&engine, &session, name)).collect();
        let values: Vec<_> = (0..names.len())
            .map(|n| vec![b'a' + n as u8; 500 + (round * 1_009 + n * 4_001) % 30_000])
            .collect();
        let is_done = put(&engine, &session, &names, &values);
        let after: Vec<_> = names.iter().map(|name| stored(&engine, &session, name)).collect();
        if is_done {
            done += 1;
            let values: Vec<_> = values.into_iter().map(Some).collect();
            assert!(after == values, "round {round}: not all were stored");
        } else {
            refused += 1;
            assert!(after == before, "round {round}: some were stored");
        }
    }
    assert!(refused > 20 && done > 5, "{refused} refused, {done} done");
    engine.verify_at_rest().expect("sound");
}

/// Where no memory is left to split a segment, a new key may find no place though its block is there.
#[test]
fn where_the_index_has_no_place_nothing_is_stored() {
    let (engine, session, count) = full_store(4 << 20, 8);
    let mut refused = 0;
    for round in 0..2_000 {
        let key = name(round);
        let key = engine.key(key.as_bytes());
        session.write(DB, &key, NOW).remove(DB, &key, Event::Del);
        let mut names: Vec<_> = (0..4).map(|n| name(count / 2 + (7 * round + n) % 1_000)).collect();
        names.extend((0..4).map(|n| format!("new {round:06} {n}")));
        let before: Vec<_> = names.iter().map(|name| stored(&engine, &session, name)).collect();
        let values = vec![format!("{round:08}").into_bytes(); names.len()];
        if !put(&engine, &session, &names, &values) {
            refused += 1;
            let after: Vec<_> = names.iter().map(|name| stored(&engine, &session, name)).collect();
            assert!(after == before, "round {round}: some were stored");
        }
    }
    assert!(refused > 100, "{refused}");
    engine.verify_at_rest().expect("sound");
}

#[test]
fn of_a_key_named_twice_the_last_value_stays() {
    for limit in [4 << 20, 64 << 30] {
        let options = EngineOptions { shards: 16, ..EngineOptions::default() };
        let engine = Engine::create(options).expect("an arena");
        engine.set_max_memory(limit);
        let session = engine.session().expect("a slot");
        let names = ["a", "b", "a", "a"].map(String::from);
        let texts = |texts: [&str; 4]| texts.map(|text| text.as_bytes().to_vec());
        assert!(put(&engine, &session, &names, &texts(["1", "2", "3", "four"])));
        assert_eq!(stored(&engine, &session, "a").as_deref(), Some(&b"four"[..]));
        // As integers they would stay in place.
        let ints: Vec<_> = (names.iter().zip([5, 6, 7, 8]))
            .map(|(name, int)| (engine.key(name.as_bytes()), Put::plain(Value::Int(int))))
            .collect();
        for _ in 0..2 {
            let places: Vec<_> = ints.iter().map(|(key, _)| (DB, key.hash())).collect();
            session.write_many(&places, NOW).put_several(DB, &ints).expect("memory");
            assert_eq!(stored(&engine, &session, "a").as_deref(), Some(&b"8"[..]));
        }
        let long = "k".repeat(70_000);
        let names = [String::from("a"), long];
        assert!(!put(&engine, &session, &names, &[b"9".to_vec(), b"9".to_vec()]));
        assert_eq!(stored(&engine, &session, "a").as_deref(), Some(&b"8"[..]));
        engine.verify_at_rest().expect("sound");
    }
}
