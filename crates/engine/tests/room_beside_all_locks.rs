//! Who needs room while another client has everything locked waits for that, as it would for the lock.
#![cfg(not(miri))]

use dolium_engine::*;
use std::sync::mpsc::channel;
use std::time::Duration;

const DB: Db = Db(0);
const NOW: Millis = 1_000;
const BYTES: usize = 1_000_000;

#[test]
fn a_store_is_not_full_because_everything_is_locked() {
    for policy in [Policy::AllKeysLru, Policy::AllKeysRandom] {
        let options =
            EngineOptions { max_bytes: 64 << 20, shards: 16, policy, ..Default::default() };
        let engine = Engine::create(options).expect("an arena");
        engine.set_max_memory(12 << 20);
        let session = engine.session().expect("a slot");
        let store = |number: usize| {
            let name = number.to_string();
            let key = engine.key(name.as_bytes());
            let value = vec![7; BYTES];
            session.make_room(BYTES, NOW)?;
            session.write(DB, &key, NOW).put(DB, &key, &Put::plain(Value::Bytes(&value))).map(drop)
        };
        let mut number = 0;
        while engine.statistics().evicted == 0 {
            store(number).expect("others go");
            number += 1;
        }
        let (begun, has_begun) = channel();
        let other = engine.session().expect("a slot");
        let outcome = std::thread::scope(|scope| {
            scope.spawn(move || {
                // EXEC of a queue with KEYS, say.
                other.begin_transaction(None, NOW);
                begun.send(()).expect("somebody waits");
                std::thread::sleep(Duration::from_millis(50));
                other.end_transaction();
            });
            has_begun.recv().expect("it begins");
            store(number)
        });
        assert_eq!(outcome, Ok(()), "{policy:?}");
    }
}
