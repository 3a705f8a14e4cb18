//! How long ago a key came, as OBJECT IDLETIME shows it: in generations of its shard, not as the
//! number of the generation in which it came, which it once was.
#![cfg(not(miri))]

use dolium_engine::{Db, Engine, EngineOptions, Policy, Put, Session, Value};

const SHARDS: u32 = 16;

fn put(session: &Session, key: &str) {
    let key = session.engine().key(key.as_bytes());
    session.write(Db(0), &key, 1).put(Db(0), &key, &Put::plain(Value::Bytes(b"v"))).unwrap();
}

fn age(session: &Session, key: &str) -> u8 {
    session.peek(Db(0), &session.engine().key(key.as_bytes()), 1).expect(key).age
}

#[test]
fn a_key_grows_older_as_others_come() {
    let engine = Engine::create(EngineOptions {
        max_bytes: 256 << 20,
        shards: SHARDS,
        databases: 1,
        hash_seed: [5, 6],
        policy: Policy::AllKeysLru,
        journal_bytes: 1 << 20,
    })
    .unwrap();
    let session = engine.session().unwrap();
    put(&session, "first");
    assert!(age(&session, "first") <= 1);
    // A small shard's generation is four inserts: this makes about five in each.
    for number in 0..SHARDS * 20 {
        put(&session, &format!("key:{number}"));
    }
    put(&session, "last");
    let (first, last) = (age(&session, "first"), age(&session, "last"));
    assert!((2..=10).contains(&first), "{first}");
    assert!(last <= 1, "{last}");
}
