//! Several values that are stored as one, in a full store: room is made before their shards are locked, and none can
//! be made as commands do it under the locks.
//!
//! Room was made for their sum, in one piece, as if they were one value. Twenty values of up to 30 kB begin up to
//! twenty pages, where no page of their size has a place; and other threads store where there was room. One EXEC in
//! sixty had a SET refused, after it had run others.
#![cfg(all(not(miri), not(loom), not(shuttle)))]

use dolium_engine::{Db, Deadline, Engine, EngineOptions, Policy, Put, Session, Value};
use std::sync::Arc;

const DB: Db = Db(0);
const NOW: u64 = 1;
const LIMIT: u64 = 64 << 20;
const DUE: u64 = 1 << 40;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n) as usize
    }

    /// Some phases of a store's life: small values, then of all sizes, then large ones among small.
    fn length(&mut self, phase: usize) -> usize {
        match phase % 3 {
            0 => self.below(4_000),
            1 if self.below(2) == 0 => self.below(30_000),
            2 if self.below(20) == 0 => 33_000 + self.below(60_000),
            _ => self.below(1_000),
        }
    }
}

fn full_store(policy: Policy) -> Arc<Engine> {
    let options = EngineOptions { max_bytes: 1 << 30, policy, ..Default::default() };
    let engine = Engine::create(options).expect("an arena");
    engine.set_max_memory(LIMIT);
    engine
}

/// One transaction after the other; how many puts were refused.
fn store(session: &Session, thread: u64, transactions: usize) -> usize {
    let engine = session.engine();
    let mut random = Random(88_172_645_463_325_252 + thread);
    let value = vec![7; 100_000];
    let mut refused = 0;
    for number in 0..transactions {
        let phase = number / 300;
        let items = [1, 2, 5, 20][random.below(4)];
        let names = (0..items).map(|part| format!("{thread} {number} {part}"));
        let names: Vec<_> = names.map(|name| (name, random.length(phase))).collect();
        let bytes = names.iter().map(|(name, len)| name.len() + len + 64).sum();
        assert_eq!(session.make_room(bytes, NOW), Ok(()));
        let keys: Vec<_> =
            names.iter().map(|(name, _)| (DB, engine.key(name.as_bytes()).hash())).collect();
        session.begin_transaction(Some(&keys), NOW);
        for (name, len) in &names {
            let key = engine.key(name.as_bytes());
            let plain = Put::plain(Value::Bytes(&value[..*len]));
            let put = Put { deadline: Deadline::At(DUE), ..plain };
            refused += usize::from(session.write(DB, &key, NOW).put(DB, &key, &put).is_err());
        }
        // None of its own made place for another.
        let is_there = |(name, _): &(String, usize)| {
            session.peek(DB, &engine.key(name.as_bytes()), NOW).is_some()
        };
        refused += usize::from(refused == 0 && !names.iter().all(is_there));
        session.end_transaction();
    }
    refused
}

#[test]
fn a_transaction_stores_all_of_its_values() {
    for policy in [Policy::AllKeysLru, Policy::AllKeysRandom, Policy::VolatileLru] {
        let engine = full_store(policy);
        let session = engine.session().expect("a slot");
        assert_eq!(store(&session, 0, 6_000), 0, "{policy:?}");
        assert!(engine.statistics().evicted > 1_000, "it is full");
        engine.verify().expect("a sound store");
    }
}

/// What there was room for may be stored by another thread; all the same one value in some twenty thousands is refused
/// at most.
#[test]
fn transactions_of_several_threads_store_theirs() {
    let engine = full_store(Policy::AllKeysLru);
    let refused: usize = std::thread::scope(|scope| {
        let run = |thread| {
            let engine = &engine;
            scope.spawn(move || store(&engine.session().expect("a slot"), thread, 3_000))
        };
        let threads: Vec<_> = (1..=4).map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert!(refused <= 4, "{refused} of some 84,000");
    engine.verify_at_rest().expect("a sound store");
}

/// A transaction whose search can find nothing must not search for each of its values, and one that has locked all
/// shards not at all: readers wait meanwhile.
#[test]
fn a_transaction_of_all_shards_is_refused_without_loss() {
    let engine = full_store(Policy::AllKeysLru);
    let session = engine.session().expect("a slot");
    assert_eq!(store(&session, 0, 2_000), 0);
    let before = engine.item_count();
    let put = Put::plain(Value::Bytes(&[7; 1_000]));
    session.begin_transaction(None, NOW);
    let is_stored = |number: u32| {
        let name = format!("new {number}");
        let key = engine.key(name.as_bytes());
        session.write(DB, &key, NOW).put(DB, &key, &put).is_ok()
    };
    let stored = (0..100_000).take_while(|number| is_stored(*number)).count();
    session.end_transaction();
    assert!(stored < 100_000, "there was no room for that many");
    assert_eq!(engine.item_count(), before + stored as u64);
    engine.verify().expect("a sound store");
}

/// LREM makes a list anew where there is memory, and else shortens it where it lies: it costs no other key.
#[test]
fn what_must_not_cost_another_item_is_refused() {
    let engine = full_store(Policy::AllKeysLru);
    let session = engine.session().expect("a slot");
    assert_eq!(store(&session, 0, 2_000), 0);
    let names: Vec<_> = (0..60).map(|number| format!("new {number}")).collect();
    let keys: Vec<_> = names.iter().map(|name| engine.key(name.as_bytes())).collect();
    let named: Vec<_> = keys.iter().map(|key| (DB, key.hash())).collect();
    let put = Put::plain(Value::Bytes(&[7; 30_000]));
    let before = engine.item_count();
    session.begin_transaction(Some(&named), NOW);
    let stored = keys
        .iter()
        .take_while(|key| session.write(DB, key, NOW).put_beside_all(DB, key, &put).is_ok())
        .count();
    assert!(stored < keys.len(), "memory ends");
    assert_eq!(engine.item_count(), before + stored as u64);
    let key = &keys[stored];
    assert!(session.write(DB, key, NOW).put(DB, key, &put).is_ok(), "at the cost of another");
    session.end_transaction();
    assert!(engine.item_count() <= before + stored as u64);
}
