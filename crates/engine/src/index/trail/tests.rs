//! Whether the short ways are taken. Where one leads astray the long way answers all the same, so that no other test
//! sees it: once the lines of a segment began elsewhere, and those who attached still looked at the old places.

use super::*;
use crate::engine::{Engine, EngineOptions};
use crate::index::segment::HOME_LINES;
use crate::index::together::Batch;
use crate::verbs::{Put, Value};
use std::cell::Cell;

const DB: Db = Db(0);
const KEYS: usize = 100_000;

#[test]
fn a_plain_string_is_found_by_the_short_way_in_whatever_line_it_is() {
    let engine = Engine::create(EngineOptions { shards: 16, ..EngineOptions::default() }).unwrap();
    let session = engine.session().unwrap();
    let names: Vec<String> = (0..KEYS).map(|number| format!("key:{number}")).collect();
    for name in &names {
        let key = engine.key(name.as_bytes());
        let put = Put::plain(Value::Bytes(name.as_bytes()));
        session.write(DB, &key, 1).put(DB, &key, &put).unwrap();
    }
    let (view, typical) = (engine.view(), TypicalBytes::default());
    // Of each home line and of all stash lines: keys there, and those found.
    let mut seen = [(0, 0); HOME_LINES + 2];
    for name in &names {
        let key = engine.key(name.as_bytes());
        let mut value = Vec::new();
        let found = view.read_plain(DB, &key, &typical, |item| item.copy_value(0, &mut value));
        assert!(found.is_none() || value == name.as_bytes());
        let shard = view.shard_of(view.root_of(DB), key.hash);
        let segment = shard.segment_of(shard.directory(), view.position(key.hash));
        let home = home_of(key.hash);
        let at_home = segment.line(home).matches(tag_of(key.hash)).1 != 0;
        let (keys, short) = &mut seen[if at_home { home } else { HOME_LINES + 1 }];
        *keys += 1;
        *short += usize::from(found.is_some());
    }
    // Where two keys of a line have one tag, the second one takes the long way.
    for (line, (keys, short)) in seen.iter().enumerate().skip(1) {
        assert!(*keys > 1000 && short * 100 > keys * 94, "line {line}: {short} of {keys}");
    }

    // Who goes the long way asks what time it is.
    let long = Cell::new(0);
    let now = || {
        long.set(long.get() + 1);
        1
    };
    for names in names.chunks(32) {
        let batch = Batch { db: DB, hasher: engine.hasher(), typical: &typical };
        view.read_together(batch, names, now, &mut Vec::new(), |number, value| {
            assert_eq!(value, Ok(Some(names[number].as_bytes())));
        });
    }
    assert!(long.get() * 100 < KEYS * 6, "{} of {KEYS} keys went the long way", long.get());
}
