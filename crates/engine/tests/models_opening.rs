//! A transaction of the whole store that is the first to write to a database, beside SWAPDB of that database
//! with another that nobody has written to either.
//!
//! It opened the database and then took all locks. Swapped in between, it wrote to one that was not open: what
//! was stored there was under no lock, in no cut, and outlived FLUSHALL.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::quietly;
use dolium_engine::*;
use models::history::NOW;
use models::run::check;

const MINE: Db = Db(1);
const OTHER: Db = Db(2);

#[test]
fn what_a_transaction_of_everything_stores_is_known_to_all() {
    check(|| {
        let (engine, session, swapper) = quietly(|| {
            let options = EngineOptions {
                max_bytes: 4 << 20,
                shards: 2,
                databases: 3,
                journal_bytes: 4096,
                ..EngineOptions::default()
            };
            let engine = Engine::create(options).expect("an arena");
            let session = || engine.session().expect("a slot");
            (engine.clone(), session(), session())
        });
        let swapping = shuttle::thread::spawn(move || {
            swapper.write_all(NOW).swap(MINE, OTHER);
            quietly(|| drop(swapper));
        });
        session.begin_transaction_of_all(&[MINE]);
        let key = engine.key(b"key");
        session.write(MINE, &key, NOW).put(MINE, &key, &Put::plain(Value::Bytes(b"x"))).unwrap();
        assert_eq!(engine.len(MINE), 1);
        session.end_transaction();
        swapping.join().expect("the swapper");
        quietly(|| {
            assert_eq!(engine.len(MINE) + engine.len(OTHER), 1);
            engine.verify_at_rest().expect("a sound store");
            let mut guard = session.write_all(NOW);
            (0..3).for_each(|db| _ = guard.flush(Db(db)));
            drop(guard);
            assert!([MINE, OTHER].iter().all(|db| session.peek(*db, &key, NOW).is_none()));
        });
    });
}
