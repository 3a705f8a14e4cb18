//! A change of a key that is there, and for which room has to be made, does not evict that key.
//!
//! A first time to live or a first unique number makes another copy of an item. The oldest one was driven out by
//! the room for its own copy: EXPIRE answered that there is no such key, and a web request for it 404.

// Tens of megabytes are written: hours, for an interpreter.
#![cfg(not(miri))]

use dolium_engine::*;

const DB: Db = Db(0);
const NOW: Millis = 1_000;
const LIMIT: u64 = 64 << 20;

/// Full of values of so many bytes. Returns how many have been stored.
fn full(policy: Policy, bytes: usize) -> (std::sync::Arc<Engine>, Session, usize) {
    let options = EngineOptions { max_bytes: 1 << 30, shards: 64, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena");
    engine.set_max_memory(LIMIT);
    let session = engine.session().expect("a slot");
    let (mut stored, value) = (0, vec![7; bytes]);
    while engine.statistics().evicted == 0 {
        let name = stored.to_string();
        let key = engine.key(name.as_bytes());
        session.make_room(bytes, NOW).expect("room is made");
        let deadline = Deadline::At(1_000_000 + stored as u64);
        let put = Put { deadline, ..Put::plain(Value::Bytes(&value)) };
        session.write(DB, &key, NOW).put(DB, &key, &put).expect("memory");
        stored += 1;
    }
    (engine, session, stored)
}

#[test]
fn a_key_does_not_go_for_a_change_of_its_own() {
    for policy in
        [Policy::AllKeysLru, Policy::AllKeysLfu, Policy::AllKeysRandom, Policy::VolatileTtl]
    {
        for bytes in [500, 1_000_000] {
            let (engine, session, stored) = full(policy, bytes);
            let value = vec![7; bytes];
            let is_there = |number: usize| {
                let name = number.to_string();
                session.peek(DB, &engine.key(name.as_bytes()), NOW).is_some()
            };
            let oldest = (0..stored).find(|number| is_there(*number)).expect("one that is there");
            let name = oldest.to_string();
            let key = engine.key(name.as_bytes());
            // What each time the room was made for is taken by another one.
            for other in 0..engine.item_count() {
                session.make_room_beside(DB, &key, bytes, NOW).expect("room is made");
                assert!(is_there(oldest), "{policy:?} of {bytes} B, after {other} others");
                let name = format!("other {other}");
                let deadline = Deadline::At(2_000_000);
                let put = Put { deadline, ..Put::plain(Value::Bytes(&value)) };
                let name = engine.key(name.as_bytes());
                session.write(DB, &name, NOW).put(DB, &name, &put).expect("memory");
            }
            assert!((0..stored).filter(|number| is_there(*number)).count() < stored * 2 / 3);
        }
    }
}
