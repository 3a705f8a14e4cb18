//! `maxmemory` lowered under a full store of small items: about as much goes as no longer fits.
//!
//! Memory goes back to the system in steps of four pages. Pages were emptied one at a time, wherever they lay, and
//! eviction went on until four side by side were free by chance: of 780,000 items in 100 MB, of which 430,000
//! fit into 60, 117,000 were left, in pages that were half empty, and the first writer waited 15 seconds.
#![cfg(all(not(miri), not(loom), not(shuttle)))]

use dolium_engine::{Db, Engine, EngineOptions, Policy, Put, Session, Value};

const DB: Db = Db(0);
const NOW: u64 = 1;
const FULL: u64 = 64 << 20;
const LOWERED: u64 = 40 << 20;
/// Of the items that fit into the lowered limit, so many parts of these stay at least.
const KEPT: (u64, u64) = (3, 4);

fn put(session: &Session, number: u64) {
    let name = format!("key:{number:012}");
    let key = session.engine().key(name.as_bytes());
    session.make_room(name.len() + 100, NOW).expect("something may go");
    let put = Put::plain(Value::Bytes(&[7; 100]));
    session.write(DB, &key, NOW).put(DB, &key, &put).expect("room was made");
}

fn full() -> (std::sync::Arc<Engine>, Session, u64) {
    let policy = Policy::AllKeysLru;
    let options = EngineOptions { max_bytes: FULL, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    (0..FULL / 100).for_each(|number| put(&session, number));
    assert!(engine.statistics().evicted > 0, "it is full");
    let fixed = engine.fixed_bytes();
    let fitting = engine.item_count() * (LOWERED - fixed) / (FULL - fixed);
    engine.set_max_memory(LOWERED);
    (engine, session, fitting * KEPT.0 / KEPT.1)
}

#[test]
fn writers_drive_out_what_no_longer_fits() {
    let (engine, session, kept) = full();
    let writes = (FULL..FULL + 10_000).take_while(|number| {
        put(&session, *number);
        engine.memory().committed > LOWERED
    });
    assert!(writes.count() < 10_000, "{} B are committed", engine.memory().committed);
    let items = engine.item_count();
    assert!(items >= kept, "{items} items are left, at least {kept} were to be");
    engine.verify().expect("a sound store");
}

#[test]
fn so_does_maintenance_where_nobody_writes() {
    let (engine, session, kept) = full();
    let turn = || session.maintain(NOW, u64::MAX, &|| 0);
    let turns = (0..100).take_while(|_| {
        turn();
        engine.memory().committed > LOWERED
    });
    assert!(turns.count() < 100, "{} B are committed", engine.memory().committed);
    let items = engine.item_count();
    assert!(items >= kept, "{items} items are left, at least {kept} were to be");
    engine.verify().expect("a sound store");
}
