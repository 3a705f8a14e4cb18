//! `maxmemory` lowered to little more than the index takes: the store goes on as a small one.
//!
//! A store of 64 MB has an index of six, and it keeps that whatever goes. Lowered to where the index alone had no
//! room, a cache lost all items and kept none of the next ones: each write drove out the one before it, after
//! 64 walks over all shards, which took three milliseconds.
#![cfg(all(not(miri), not(loom), not(shuttle)))]

use dolium_engine::{Db, Engine, EngineOptions, Policy, Put, Session, Value};

const DB: Db = Db(0);
const NOW: u64 = 1;
const FULL: u64 = 64 << 20;
/// What is left beside what is fixed: less than the index of the full store.
const LEFT: u64 = 4 << 20;

fn put(session: &Session, number: u64) {
    let name = format!("key:{number:012}");
    let key = session.engine().key(name.as_bytes());
    session.make_room(name.len() + 100, NOW).expect("something may go");
    let put = Put::plain(Value::Bytes(&[7; 100]));
    session.write(DB, &key, NOW).put(DB, &key, &put).expect("room was made");
}

fn lowered() -> (std::sync::Arc<Engine>, Session, u64) {
    let policy = Policy::AllKeysLru;
    let options = EngineOptions { max_bytes: FULL, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    (0..FULL / 100).for_each(|number| put(&session, number));
    let limit = engine.fixed_bytes() + LEFT;
    engine.set_max_memory(limit);
    (engine, session, limit)
}

fn check(engine: &Engine, session: &Session, limit: u64) {
    (FULL..FULL + 100_000).for_each(|number| put(session, number));
    assert!(engine.memory().committed <= limit, "{} of {limit}", engine.memory().committed);
    let items = engine.item_count();
    assert!(items > LEFT / 400, "{items} items of 140 B in {LEFT} B");
    engine.verify().expect("a sound store");
}

#[test]
fn writers_make_a_small_store_of_it() {
    let (engine, session, limit) = lowered();
    check(&engine, &session, limit);
}

#[test]
fn so_does_maintenance_where_nobody_writes() {
    let (engine, session, limit) = lowered();
    let is_above = || engine.memory().committed > limit;
    let rounds = (0..10_000).take_while(|_| is_above()).map(|_| session.maintain(NOW, 1000, &|| 0));
    assert!(rounds.count() < 10_000, "{} of {limit}", engine.memory().committed);
    assert!(engine.item_count() > 0, "not all had to go");
    check(&engine, &session, limit);
}
