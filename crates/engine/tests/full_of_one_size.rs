//! A cache whose items are all of one size, full for long: it stores every new one, and what goes for it is
//! about as much as comes.
//!
//! All its pages are nearly full then, and about as full. Pages worth emptying were those with a quarter of their
//! blocks free; so when the index wanted one page, a writer evicted thousands of items all over the
//! store without getting one, and answered that memory was used up after 64,000. A store of 790,000 items lost a
//! twelfth of them and refused one SET in 130,000.
#![cfg(all(not(miri), not(loom), not(shuttle)))]

use dolium_engine::{Db, Engine, EngineOptions, Policy, Put, Value};

const DB: Db = Db(0);
const NOW: u64 = 1;
const PAGE_BYTES: u64 = 64 << 10;

fn fill(policy: Policy, len: usize, megabytes: u64) {
    let options = EngineOptions { max_bytes: megabytes << 20, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    let value = vec![7; len];
    // A page has to be gathered now and then: what fills two of them may go for it at once.
    let most_at_once = 2 * PAGE_BYTES / (len as u64 + 16);
    let mut before = 0;
    let mut random = 88_172_645_463_325_252_u64;
    for number in 0..4 * (megabytes << 20) / (len as u64 + 36) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let name = format!("key:{:012}", random % 1_000_000_000_000);
        let key = engine.key(name.as_bytes());
        let room = session.make_room(name.len() + len, NOW);
        assert_eq!(room, Ok(()), "item {number} of {len} bytes, {policy:?}");
        let put = Put::plain(Value::Bytes(&value));
        session.write(DB, &key, NOW).put(DB, &key, &put).expect("room was made");
        let items = engine.item_count();
        assert!(items + most_at_once >= before, "{items} of {before} items are left, {policy:?}");
        before = items;
    }
    assert!(engine.statistics().evicted > before, "it has been full for a while");
    engine.verify().expect("a sound store");
}

#[test]
fn every_item_is_stored_and_few_go_for_it() {
    fill(Policy::AllKeysLru, 100, 48);
    fill(Policy::AllKeysRandom, 100, 24);
    fill(Policy::AllKeysLfu, 10, 16);
}
