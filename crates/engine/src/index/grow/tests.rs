//! What growth does to lines and segments, looked at in the index itself.

use super::*;
use crate::engine::EngineOptions;
use crate::index::segment::HOME_LINES;
use crate::index::tags::stash_of;
use crate::verbs::{Db, Put, Value};

/// Every shard counted from the same number on, and blocks pass from one to another.
#[test]
fn no_two_segments_begin_with_the_same_version() {
    let engine = Engine::create(EngineOptions { shards: 16, ..EngineOptions::default() }).unwrap();
    let session = engine.session().unwrap();
    for number in 0..500 {
        for db in [Db(0), Db(1)] {
            let name = number.to_string();
            let key = engine.key(name.as_bytes());
            let put = Put::plain(Value::Bytes(b"x"));
            session.write(db, &key, 1).put(db, &key, &put).unwrap();
        }
    }
    let view = engine.view();
    let mut versions = std::collections::HashSet::new();
    for db in [Db(0), Db(1)] {
        for number in 0..view.shard_count() {
            let shard = view.shard_at(view.root_of(db), number);
            // Its first, which was not filled and of which nothing was replaced: no line has another version.
            let first = shard.segment(shard.directory(), 0);
            assert!(versions.insert(first.line(1).version()), "shard {number} of {db:?}");
        }
    }
}

#[test]
fn most_home_lines_have_the_likely_stash_line() {
    let options = EngineOptions { shards: 16, ..EngineOptions::default() };
    let engine = Engine::create(options).unwrap();
    let session = engine.session().unwrap();
    for number in 0..100_000 {
        let name = number.to_string();
        let key = engine.key(name.as_bytes());
        let put = Put::plain(Value::Bytes(b"x"));
        session.write(Db(0), &key, 1).put(Db(0), &key, &put).unwrap();
    }
    let view = engine.view();
    let (mut likely, mut other) = (0, 0);
    for number in 0..view.shard_count() {
        let shard = view.shard_at(view.root_of(Db(0)), number);
        let directory = shard.directory();
        for index in 0..directory.entries() {
            let segment = shard.segment(directory, index);
            for home in 1..=HOME_LINES {
                match stash_of(segment.line(home).version()) {
                    0 => {}
                    stash if stash == likely_stash(home) => likely += 1,
                    _ => other += 1,
                }
            }
        }
    }
    // One of four would be by chance.
    assert!(other > 0 && likely > other * 3, "{likely} likely, {other} others");
    engine.verify().unwrap();
}

/// A home line whose likely stash line was full had its segment split while others had up to three free places.
/// A full store had no memory for that, and no item left either, as there seemed to be place: it refused every
/// new key of that line.
#[test]
fn a_full_likely_stash_line_splits_nothing_while_another_has_a_place() {
    let options = EngineOptions { shards: 16, ..EngineOptions::default() };
    let engine = Engine::create(options).unwrap();
    let session = engine.session().unwrap();
    let view = engine.view();
    let mut numbers = 0_u32..;
    let mut insert_at = |home: usize, items: usize| {
        let mut names = numbers.by_ref().map(|number| number.to_string()).filter(|name| {
            let hash = engine.hash(name.as_bytes());
            view.shard_number(hash) == 0 && home_of(hash) == home
        });
        for name in names.by_ref().take(items) {
            let key = engine.key(name.as_bytes());
            session.write(Db(0), &key, 1).put(Db(0), &key, &Put::plain(Value::Int(1))).unwrap();
        }
    };
    let home_of_stash = |stash: usize, nth: usize| {
        (1..=HOME_LINES).filter(|home| likely_stash(*home) == stash).nth(nth).unwrap()
    };
    for stash in 2..=STASH_LINES {
        insert_at(home_of_stash(stash, 0), SLOTS + SLOTS - LIKELY_FULLER_MAX);
    }
    insert_at(home_of_stash(1, 0), SLOTS + SLOTS);
    let segments = || {
        let shard = view.shard_at(view.root_of(Db(0)), 0);
        let directory = shard.directory();
        let all = (0..directory.entries()).map(|index| shard.segment(directory, index));
        all.map(|segment| segment.reference()).collect::<std::collections::HashSet<_>>().len()
    };
    assert_eq!(segments(), 1);
    insert_at(home_of_stash(1, 1), SLOTS + LIKELY_FULLER_MAX);
    assert_eq!(segments(), 1, "each of them has a place");
    insert_at(home_of_stash(1, 1), 1);
    assert_eq!(segments(), 2);
    engine.verify().unwrap();
}
