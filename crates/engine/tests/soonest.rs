//! `volatile-ttl`: which deadlines go first, by what is left of a store that was written three times over.
//!
//! Who evicts without fault is left with the latest of all deadlines ever written. What was kept although it is
//! sooner than these is the share that this measures: 2 % here, 16 % in Redis 7.0 with its 5 samples, 8 % with 10.
#![cfg(all(not(miri), not(loom), not(shuttle)))]

use dolium_engine::{Db, Deadline, Engine, EngineOptions, Policy, Put, Session, Value};
use std::sync::Arc;

const DB: Db = Db(0);
const NOW: u64 = 1;
const FULL: u64 = 32 << 20;
const SOONEST: u64 = 100_000;
const LATEST: u64 = 10_000_000;
/// Kept though sooner than it should be, of a hundred that were kept.
const FAULTS_MAX: usize = 5;
/// The same where a shard has some dozens of items, and goes by these alone.
const FAULTS_AMONG_FEW_MAX: usize = 15;

fn store() -> (Arc<Engine>, Session) {
    let policy = Policy::VolatileTtl;
    let options =
        EngineOptions { max_bytes: FULL, policy, databases: 1, ..EngineOptions::default() };
    let engine = Engine::create(options).expect("an arena");
    let session = engine.session().expect("a slot");
    (engine, session)
}

fn name(number: usize) -> String {
    format!("key:{number:012}")
}

fn put(session: &Session, number: usize, bytes: usize, deadline: Deadline) {
    let name = name(number);
    let key = session.engine().key(name.as_bytes());
    session.make_room(name.len() + bytes, NOW).expect("something may go");
    let value = vec![7; bytes];
    let put = Put { deadline, ..Put::plain(Value::Bytes(&value)) };
    session.write(DB, &key, NOW).put(DB, &key, &put).expect("room was made");
}

/// Deadlines spread evenly, in no order.
fn deadlines() -> impl Iterator<Item = u64> {
    let mut state = 88_172_645_463_325_252_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        SOONEST + state % (LATEST - SOONEST)
    })
}

/// Writes until something has gone, then twice as much again. Of a hundred keys that were kept, those that are
/// sooner than the latest ones of all.
fn faults(bytes: usize) -> usize {
    let (engine, session) = store();
    let mut deadlines = deadlines();
    let mut written = Vec::new();
    let mut end = usize::MAX;
    while written.len() < end {
        let deadline = deadlines.next().expect("there is no end of them");
        put(&session, written.len(), bytes, Deadline::At(deadline));
        written.push(deadline);
        if end == usize::MAX && engine.statistics().evicted > 0 {
            end = 3 * written.len();
        }
    }
    let is_kept = |&number: &usize| {
        let name = name(number);
        session.peek(DB, &engine.key(name.as_bytes()), NOW).is_some()
    };
    let kept: Vec<_> = (0..end).filter(is_kept).map(|number| written[number]).collect();
    written.sort_unstable();
    let soonest_to_keep = written[end - kept.len()];
    engine.verify_at_rest().expect("a sound store");
    kept.iter().filter(|deadline| **deadline < soonest_to_keep).count() * 100 / kept.len()
}

#[test]
fn the_latest_deadlines_stay() {
    let faults = faults(100);
    assert!(faults <= FAULTS_MAX, "{faults} of a hundred are sooner than what has gone");
}

/// Of few items one goes at a time, from shards that have some dozens of them.
#[test]
fn so_they_do_among_few_items() {
    let faults = faults(4_000);
    assert!(faults <= FAULTS_AMONG_FEW_MAX, "{faults} of a hundred are sooner than what has gone");
}
