//! Eviction where hardly any key may go: how far the hand looks is nothing that a caller can see.

use super::*;
use crate::engine::EngineOptions;
use crate::verbs::{Deadline, Put, Value};
use std::sync::Arc;

const DB: Db = Db(0);
const NOW: Millis = 1_000;
const FAR: Millis = 1 << 40;
const SHARDS: u64 = 16;

fn store() -> (Arc<Engine>, Session) {
    store_under(Policy::VolatileLru)
}

fn store_under(policy: Policy) -> (Arc<Engine>, Session) {
    let options =
        EngineOptions { shards: SHARDS as u32, databases: 1, policy, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    (engine, session)
}

fn put(session: &Session, name: &str, deadline: Deadline) {
    let key = session.engine().key(name.as_bytes());
    let put = Put { deadline, ..Put::plain(Value::Bytes(b"x")) };
    session.write(DB, &key, NOW).put(DB, &key, &put).expect("memory");
}

/// Under a volatile policy each write to a full store without deadlines looked at every slot there
/// is, several times, before it was refused.
#[test]
fn a_shard_without_deadlines_is_not_looked_at() {
    let (engine, session) = store();
    (0..1_000).for_each(|number| put(&session, &format!("key {number}"), Deadline::Never));
    assert_eq!(session.evict(1, NOW).items, 0);
    let view = engine.view();
    let shards = (0..view.shard_count()).map(|number| view.shard_at(view.root_of(DB), number));
    for shard in shards {
        assert_eq!(shard.hand(), 0, "the hand has moved");
    }
    put(&session, "short-lived", Deadline::At(FAR));
    assert_eq!(session.evict(1, NOW).items, 1);
    assert_eq!((engine.len(DB), engine.volatile_len(DB)), (1_000, 0));
}

/// The one key with a deadline lay behind more segments than the hand looks through in a turn.
#[test]
fn segments_without_deadlines_are_passed_in_one_stride() {
    let (engine, session) = store();
    let view = engine.view();
    let names = (0..).map(|number: u32| number.to_string());
    let is_first = |name: &String| view.shard_number(engine.key(name.as_bytes()).hash) == 0;
    for name in names.filter(is_first).take(60_000) {
        put(&session, &name, Deadline::Never);
    }
    let shard = view.shard_at(view.root_of(DB), 0);
    let directory = shard.directory();
    let is_late = |name: &String| {
        let hash = engine.key(name.as_bytes()).hash;
        let entry = directory.entry_of(view.position(hash));
        view.shard_number(hash) == 0 && entry > directory.entries() / 8 * 7
    };
    let mut names = (0..).map(|number: u32| format!("short-lived {number}"));
    let late = names.find(is_late).expect("there is no end of names");
    put(&session, &late, Deadline::At(FAR));
    shard.lock().acquire();
    let mut guard = Guard::adopt(&session, shard, NOW);
    let target = Target { db: DB, root: view.root_of(DB), shard_number: 0, shard };
    assert_eq!(session.evict_from(&mut guard, &target, Policy::VolatileLru, true, 1), 1);
    drop(guard);
    assert_eq!((engine.len(DB), engine.volatile_len(DB)), (60_000, 0));
}

/// How many shards were looked at for one item.
fn turns_of_one(session: &Session) -> u64 {
    let before = session.next_eviction_turn() as u64;
    assert_eq!(session.evict(1, NOW).items, 1);
    session.next_eviction_turn() as u64 - before - 1
}

/// Nothing is inserted where values grow that are there, so no generation ended and all that had been written lately
/// stayed as young as it was: each eviction walked around the whole store twice before age was no excuse. A full
/// store of 580,000 counters took 5,000 `SET XX` in a second.
#[test]
fn where_nothing_is_inserted_items_grow_old_all_the_same() {
    for policy in [Policy::AllKeysLru, Policy::AllKeysLfu] {
        let (_engine, session) = store_under(policy);
        for _ in 0..2 {
            (0..4_000).for_each(|number| put(&session, &format!("key {number}"), Deadline::Never));
        }
        let turns: u64 = (0..1_000).map(|_| turns_of_one(&session)).sum();
        assert!(turns < 4_000, "{turns} shards were looked at for 1,000 items, {policy:?}");
    }
}

/// A generation was eight inserts at least, which is more than there is in a shard of a store of few items: nothing
/// was ever old enough. Values of 32 KB in 100 MB took 330 microseconds each.
#[test]
fn few_items_grow_old_in_as_few_inserts() {
    let (_engine, session) = store_under(Policy::AllKeysLru);
    (0..8 * SHARDS).for_each(|number| put(&session, &format!("key {number}"), Deadline::Never));
    let turns = (0..2_000).map(|number| {
        put(&session, &format!("another {number}"), Deadline::Never);
        turns_of_one(&session)
    });
    let turns: u64 = turns.sum();
    assert!(turns < 16_000, "{turns} shards were looked at for 2,000 items");
}

/// A deadline is a cache miss, and the soonest of 450 that were looked at was all that went: a full store under
/// `volatile-ttl` took a tenth of the SETs that it takes under `volatile-lru`.
#[test]
fn one_look_at_deadlines_does_for_all_that_go() {
    let (_engine, session) = store_under(Policy::VolatileTtl);
    for number in 0..1_000 * SHARDS {
        put(&session, &format!("key {number}"), Deadline::At(FAR + number));
    }
    let before = session.next_eviction_turn();
    assert_eq!(session.evict(16, NOW).items, 16);
    let turns = session.next_eviction_turn() - before - 1;
    assert_eq!(turns, 1, "so many shards were looked at");
}

/// Of a shard of one segment the hand came around to where it had begun. No item may go twice, and none be left.
#[test]
fn the_hand_meets_no_item_twice() {
    let (engine, session) = store_under(Policy::VolatileTtl);
    for count in [1, 2, 3, 20, 300, 3_000] {
        for number in 0..count * SHARDS {
            put(&session, &format!("key {number}"), Deadline::At(FAR + number));
        }
        let mut left = count * SHARDS;
        while left > 0 {
            let evicted = session.evict(64, NOW).items as u64;
            assert!(0 < evicted && evicted <= left, "{evicted} of {left}");
            left -= evicted;
            assert_eq!(engine.volatile_len(DB), left);
        }
        assert_eq!(engine.verify_at_rest(), Ok(()));
    }
}

/// Keys for whose change room is made stay, however soon their deadlines are. A hand that went on looking for others
/// came around, and met those of the first round again, which went twice.
#[test]
fn keys_that_are_kept_stay_though_they_are_the_soonest() {
    let (engine, session) = store_under(Policy::VolatileTtl);
    for number in 0..100 * SHARDS {
        put(&session, &format!("soon {number}"), Deadline::At(FAR + number));
        put(&session, &format!("late {number}"), Deadline::At(2 * FAR + number));
    }
    let soon = (0..100 * SHARDS).map(|number| format!("soon {number}"));
    let kept = session.keep(soon.map(|name| (DB, engine.key(name.as_bytes()).hash())));
    let rounds = (0..100 * SHARDS).map(|_| session.evict(64, NOW).items);
    assert_eq!(rounds.take_while(|&items| items > 0).sum::<usize>() as u64, 100 * SHARDS);
    assert_eq!(engine.volatile_len(DB), 100 * SHARDS);
    assert_eq!(engine.verify_at_rest(), Ok(()));
    drop(kept);
    assert!(session.evict(64, NOW).items > 0);
}
