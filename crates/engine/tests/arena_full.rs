//! A store whose limit is the arena's own length, as with `maxmemory 0`.
//!
//! The limit was the length of the whole arena, in which no block can lie in the first megabytes
//! (shards, sessions, the journal, descriptors). So it was never met: with every extent in use there
//! seemed to be room, nothing was evicted, and every new key was refused.

#![cfg(not(miri))] // It fills 64 MB.

use dolium_engine::*;

const DB: Db = Db(0);
const NOW: Millis = 1;
const MAX_BYTES: u64 = 64 << 20;

fn store(session: &Session, name: &str, value: &[u8]) -> Result<(), StoreError> {
    let key = session.engine().key(name.as_bytes());
    session.make_room(name.len() + value.len(), NOW)?;
    session.write(DB, &key, NOW).put(DB, &key, &Put::plain(Value::Bytes(value)))?;
    Ok(())
}

fn engine(policy: Policy) -> std::sync::Arc<Engine> {
    let options = EngineOptions { max_bytes: MAX_BYTES, policy, ..EngineOptions::default() };
    Engine::create(options).expect("an arena")
}

#[test]
fn what_is_evicted_makes_room_for_what_is_stored() {
    let engine = engine(Policy::AllKeysLru);
    let session = engine.session().expect("a slot");
    let sizes = [100, 1_000, 30_000, 200_000];
    for number in 0..12_000usize {
        let value = vec![b'x'; sizes[number % sizes.len()] / 4 * (1 + number % 4)];
        let stored = store(&session, &format!("key {number}"), &value);
        assert_eq!(stored, Ok(()), "key {number} of {} bytes", value.len());
    }
    assert!(engine.memory().committed > MAX_BYTES / 2, "the arena was in use");
    assert_eq!(engine.verify_at_rest(), Ok(()));
}

#[test]
fn memory_that_lies_scattered_is_gathered_before_a_value_is_refused() {
    let engine = engine(Policy::NoEviction);
    let session = engine.session().expect("a slot");
    let value = [b'x'; 1000];
    let full = (0..).find(|number| store(&session, &format!("key {number}"), &value).is_err());
    let full = full.expect("it ends");
    assert!(full as u64 * 1000 > MAX_BYTES / 2, "{full} keys");
    for number in (0..full).filter(|number| number % 2 == 0) {
        let name = format!("key {number}");
        let key = engine.key(name.as_bytes());
        assert!(session.write(DB, &key, NOW).remove(DB, &key, Event::Del));
    }
    // A third of what is free now, of another size: no block of it is free without moving others.
    for number in 0..full / 6 / 200 {
        let stored = store(&session, &format!("large {number}"), &[b'y'; 200_000]);
        assert_eq!(stored, Ok(()), "large {number} of {}", full / 6 / 200);
    }
    assert_eq!(engine.verify_at_rest(), Ok(()));
}
