//! The index grows evenly: however many keys there are, about as many segments are split for as many more.
//!
//! Once all directories had a power of two of entries, and all segments of a store were split within the same few
//! per cent of its growth: inserts took twice as long there as elsewhere.
#![cfg(not(any(miri, loom, shuttle)))]

use dolium_engine::{Db, Engine, EngineOptions, Put, Value};

const DB: Db = Db(0);
const SHARDS: u32 = 64;
/// In each window about 80 segments are split, give or take 9.
const WINDOW: usize = 15_000;
/// From here on a shard has more segments than its directory had cells, and the keys double.
const FROM: usize = 10 * WINDOW;

#[test]
fn segments_are_split_one_by_one_and_not_in_waves() {
    let engine =
        Engine::create(EngineOptions { shards: SHARDS, ..EngineOptions::default() }).unwrap();
    let session = engine.session().unwrap();
    let mut put = |number: usize| {
        let name = format!("key:{number}");
        let key = engine.key(name.as_bytes());
        session.write(DB, &key, 1).put(DB, &key, &Put::plain(Value::Bytes(b"v"))).unwrap();
    };
    (0..FROM).for_each(&mut put);
    let mut before = engine.statistics().splits;
    let splits: Vec<u64> = (0..10)
        .map(|window| {
            let first = FROM + window * WINDOW;
            (first..first + WINDOW).for_each(&mut put);
            let now = engine.statistics().splits;
            let splits = now - before;
            before = now;
            splits
        })
        .collect();
    let (least, most) = (splits.iter().min().unwrap(), splits.iter().max().unwrap());
    assert!(*least > 0 && most < &(2 * least), "{splits:?}");
    engine.verify_at_rest().unwrap();
}
