//! A store that is full, and comes to hold more and smaller items: its index has to grow, for which items go.
//!
//! A segment that is split takes a page now and then, and so does an item. Where large values had left a single
//! free page, there was room for either, and held to be for both: the item took the page, the split found
//! none, the item gave it back. Trying again came to the same, 64 times. Where every item may go, one goes from the
//! crowded segment then; the policies that spare what has no deadline refused the write, although nearly all of
//! the store might have gone: one of some 100,000.
#![cfg(all(not(miri), not(loom), not(shuttle)))]

use dolium_engine::{Db, Deadline, Engine, EngineOptions, Policy, Put, Value};

const DB: Db = Db(0);
const NOW: u64 = 1;
const ITEMS: usize = 200_000;
const TRIES: usize = 8;
const DUE: u64 = 1 << 40;

fn grow(policy: Policy) {
    let options = EngineOptions { max_bytes: 24 << 20, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    let value = [7; 64_000];
    let mut random = 88_172_645_463_325_252_u64;
    for number in 0..ITEMS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let name = format!("key:{number:012}");
        let key = engine.key(name.as_bytes());
        // Small ones become smaller and more. Between them large ones come and go, whose memory comes in units of
        // 16 KiB: of what they leave not everything makes a page.
        let most = 2000 - number / 400;
        let len = match random % 40 {
            0 => 33_000 + (random >> 32) as usize % 30_000,
            _ => (random >> 32) as usize % most,
        };
        let put = Put { deadline: Deadline::At(DUE), ..Put::plain(Value::Bytes(&value[..len])) };
        // As a command has it done.
        let is_stored = (0..TRIES).any(|_| {
            let room = session.make_room(name.len() + len, NOW);
            assert_eq!(room, Ok(()), "item {number} of {len} bytes, {policy:?}");
            session.write(DB, &key, NOW).put(DB, &key, &put).is_ok()
        });
        assert!(is_stored, "item {number} of {len} bytes, {policy:?}");
    }
    assert!(engine.statistics().evicted > 50_000, "it has been full for a while");
    engine.verify().expect("a sound store");
}

#[test]
fn every_item_is_stored_where_only_those_with_a_deadline_may_go() {
    grow(Policy::VolatileLru);
    grow(Policy::VolatileTtl);
    grow(Policy::VolatileRandom);
}
