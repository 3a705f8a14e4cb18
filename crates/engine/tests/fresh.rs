//! New keys by the short way, of which home lines have room, and by the whole way: the same store, the same changes.

use dolium_engine::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DB: Db = Db(0);
const NOW: Millis = 1_000;
const KEYS: usize = if cfg!(miri) { 300 } else { 20_000 };

fn store(policy: Policy) -> (Arc<Engine>, Session) {
    let options = EngineOptions { max_bytes: 64 << 20, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    engine.set_policy(policy);
    let session = engine.session().expect("a slot");
    (engine, session)
}

/// Stores new keys, which are split among segments as they come: by turns plain ones, for which there is a short way if
/// their home line has room, and ones with a deadline, for which there is none.
#[test]
fn new_keys_are_counted_told_and_found_whichever_way_they_took() {
    for policy in [Policy::NoEviction, Policy::AllKeysLru] {
        let (engine, session) = store(policy);
        let mut changes = engine.changes(Delivery::Lossless).expect("memory");
        for number in 0..KEYS {
            let name = format!("key:{number}");
            let key = engine.key(name.as_bytes());
            let deadline = if number % 3 == 0 { Deadline::At(9_000) } else { Deadline::Never };
            let is_new = number % 7 != 6;
            if !is_new {
                session.write(DB, &key, NOW).put(DB, &key, &Put::plain(Value::Int(5))).unwrap();
                changes.next();
            }
            let flag = Arc::new(AtomicBool::new(false));
            session.watch(DB, &key, &flag, NOW);
            let put = Put { deadline, ..Put::plain(Value::Bytes(name.as_bytes())) };
            let stored = session.write(DB, &key, NOW).put(DB, &key, &put);
            assert_eq!(stored, Ok(Stored { replaced: !is_new, unique: 0 }));
            assert!(flag.load(Ordering::Relaxed), "{name}: who watches it was not told");
            session.unwatch(DB, &key, &flag);
            let Next::Change(change) = changes.next() else { panic!("a new key is a change") };
            assert_eq!(change.key, name.as_bytes());
            let Effect::Put { created, value, .. } = change.effect else { panic!("a put") };
            assert_eq!((created, &value[..]), (is_new, name.as_bytes()));
            assert_eq!(changes.next(), Next::Empty);
        }
        assert_eq!(engine.len(DB), KEYS as u64);
        let mut out = Vec::new();
        for number in 0..KEYS {
            let name = format!("key:{number}");
            let key = engine.key(name.as_bytes());
            out.clear();
            assert!(session.write(DB, &key, NOW).value(DB, &key, &mut out));
            assert_eq!(out, name.as_bytes());
        }
        engine.verify_at_rest().expect("sound");
    }
}
