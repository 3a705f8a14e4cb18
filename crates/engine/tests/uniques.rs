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
