//! Values that get another key in a full store, in which the new key's place in the index may be had from another
//! item: never from the one that gets the key.
#![cfg(all(not(miri), not(shuttle)))]

use dolium_engine::*;

const DB: Db = Db(0);
const NOW: Millis = 1;

/// `key N` or `new N`.
fn name(is_new: bool, number: usize) -> String {
    format!("{} {number:08}", if is_new { "new" } else { "key" })
}

#[test]
fn what_gets_another_key_does_not_go_for_its_place() {
    for policy in [Policy::AllKeysLru, Policy::AllKeysRandom] {
        let options =
            EngineOptions { max_bytes: 64 << 20, shards: 16, policy, ..EngineOptions::default() };
        let engine = Engine::create(options).expect("an arena");
        engine.set_max_memory(8 << 20);
        let session = engine.session().expect("a slot");
        let (mut carried, mut random) = (0, 1u64);
        for number in 0..300_000 {
            let old = name(false, number);
            let key = engine.key(old.as_bytes());
            let value = number.to_le_bytes();
            session.make_room(old.len() + value.len(), NOW).expect("room is made");
            let put = Put::plain(Value::Bytes(&value));
            session.write(DB, &key, NOW).put(DB, &key, &put).expect("memory");
            // One that came some time ago, so that it is as good to go as any.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let chosen = number - (random >> 33) as usize % (number + 1).min(50_000);
            let names = [name(random >> 32 & 1 == 0, chosen), name(random >> 32 & 1 != 0, chosen)];
            let [from, to] = [0, 1].map(|n| engine.key(names[n].as_bytes()));
            let mut guard = session.write_many(&[(DB, from.hash()), (DB, to.hash())], NOW);
            let is_there = guard.has(DB, &from);
            let events = [Event::RenameFrom, Event::RenameTo];
            if let Ok(is_carried) = guard.carry((DB, &from), (DB, &to), events) {
                assert_eq!(is_carried, is_there, "keys are of one length");
                let mut out = Vec::new();
                if is_carried {
                    carried += 1;
                    assert!(guard.value(DB, &to, &mut out) && out == chosen.to_le_bytes());
                    assert!(!guard.has(DB, &from));
                }
            } else {
                assert!(is_there && guard.has(DB, &from), "it stays where there is no place");
            }
        }
        assert!(engine.statistics().evicted > 10_000, "it was never full");
        assert!(carried > 20_000, "{carried} carried");
        engine.verify_at_rest().expect("sound");
    }
}
