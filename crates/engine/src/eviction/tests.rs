//! Eviction where hardly any key may go: how far the hand looks is nothing that a caller can see.

use super::*;
use crate::engine::EngineOptions;
use crate::verbs::{Deadline, Put, Value};
use std::sync::Arc;

const DB: Db = Db(0);
const NOW: Millis = 1_000;
const FAR: Millis = 1 << 40;

fn store() -> (Arc<Engine>, Session) {
    let options = EngineOptions {
        shards: 16,
        databases: 1,
        policy: Policy::VolatileLru,
        ..EngineOptions::default()
    };
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
    lock::acquire(shard.lock());
    let mut guard = Guard::adopt(&session, shard, NOW);
    let target = Target { db: DB, root: view.root_of(DB), shard_number: 0, shard };
    assert_eq!(session.evict_from(&mut guard, &target, Policy::VolatileLru, true, 1), 1);
    drop(guard);
    assert_eq!((engine.len(DB), engine.volatile_len(DB)), (60_000, 0));
}
