//! `maxmemory` halved in a full store: each writer drives out a part, and no more than that.
//!
//! A writer went on until the limit was reached, or for 64 rounds: 4,096 items went, as many blocks were moved to
//! empty pages, and several extents were emptied as well. In a store of a gigabyte a SET of 100 bytes took 80
//! milliseconds, and 300 beside seven others.
#![cfg(all(not(miri), not(loom), not(shuttle)))]

use dolium_engine::{Db, Engine, EngineOptions, Event, Policy, Put, Session, Value};

const DB: Db = Db(0);
const NOW: u64 = 1;
const FULL: u64 = 128 << 20;
const LOWERED: u64 = 64 << 20;
/// Items that go for one write.
const EVICTED_MAX: u64 = 1_024;
/// Blocks that are moved for one: those of an extent, of the size that these items take, and of two pages.
const MOVED_MAX: u64 = (2 << 20) / 128 + 2 * 512;
/// Writes until the limit is reached. As many would do it if each drove out 256 items.
const WRITES_MAX: u64 = 4_000;

/// Items in a page.
const PAGE_ITEMS: u64 = (64 << 10) / 120;

fn name(number: u64) -> String {
    format!("key:{number:012}")
}

fn put(session: &Session, number: u64) {
    let name = name(number);
    let key = session.engine().key(name.as_bytes());
    session.make_room(name.len() + 100, NOW).expect("something may go");
    let put = Put::plain(Value::Bytes(&[7; 100]));
    session.write(DB, &key, NOW).put(DB, &key, &put).expect("room was made");
}

/// A full store's worth of items is written, and some are deleted, before `maxmemory` is lowered.
fn lower(items: u64, is_deleted: fn(u64) -> bool) -> u64 {
    let policy = Policy::AllKeysLru;
    let options = EngineOptions { max_bytes: FULL, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    (0..items).for_each(|number| put(&session, number));
    for number in (0..items).filter(|number| is_deleted(*number)) {
        let name = name(number);
        let key = engine.key(name.as_bytes());
        session.write(DB, &key, NOW).remove(DB, &key, Event::Del);
    }
    engine.set_max_memory(LOWERED);
    let first = engine.statistics().evicted;
    let mut writes = 0;
    while engine.memory().committed > LOWERED {
        let before = engine.statistics();
        put(&session, FULL + writes);
        let after = engine.statistics();
        let (evicted, moved) = (after.evicted - before.evicted, after.moved - before.moved);
        assert!(evicted <= EVICTED_MAX, "{evicted} items went for write {writes}");
        assert!(moved <= MOVED_MAX, "{moved} blocks were moved for write {writes}");
        writes += 1;
        assert!(writes < WRITES_MAX, "{} B are still committed", engine.memory().committed);
    }
    engine.verify().expect("a sound store");
    engine.statistics().evicted - first
}

#[test]
fn one_write_drives_out_a_part() {
    let evicted = lower(FULL / 100, |_| false);
    assert!(evicted > FULL / 2 / 200, "{evicted} items went, and half were to go");
}

/// Three of four pages are free, but hardly four in a row: all extents but a few can be emptied without a loss, one
/// after the other, and one command did it.
#[test]
fn one_write_empties_one_extent() {
    let evicted = lower(FULL / 160, |number| !(number / PAGE_ITEMS).is_multiple_of(4));
    assert!(evicted <= EVICTED_MAX, "{evicted} items went, and there is room for all of them");
}
