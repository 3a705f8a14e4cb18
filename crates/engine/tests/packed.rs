//! Collections: stored as they are packed, changed in place, seen whole or not at all.

mod stop;

use dolium_engine::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stop::StopOnDrop;

const DB: Db = Db(0);

fn engine() -> Arc<Engine> {
    Engine::create(EngineOptions { max_bytes: 64 << 20, ..EngineOptions::default() }).unwrap()
}

fn packed(bytes: &[u8]) -> Put<'_> {
    let value = Value::Packed(Kind::Set, Encoding::Intset, bytes);
    Put { event: Event::SAdd, ..Put::plain(value) }
}

fn contents(session: &Session, key: &Key<'_>) -> Option<(Found, Vec<u8>)> {
    let mut bytes = Vec::new();
    let found = session.inspect(DB, key, 1, |packed| {
        bytes.clear();
        if let Some((found, packed)) = packed {
            packed.copy(0, found.len, &mut bytes);
        }
    });
    found.map(|found| (found, bytes))
}

#[test]
fn a_collection_is_not_read_as_a_string() {
    let engine = engine();
    let session = engine.session().unwrap();
    let key = engine.key(b"k");
    session.write(DB, &key, 1).put(DB, &key, &packed(b"contents")).unwrap();
    let mut out = Vec::new();
    let found = session.get(DB, &key, 1, &mut out, |_, _| ()).unwrap();
    assert_eq!((found.kind, found.encoding), (Kind::Set, Encoding::Intset));
    assert!(out.is_empty());
    assert_eq!(contents(&session, &key).unwrap().1, b"contents");
    // A deadline and a CAS unique make the item anew, as what it is.
    let mut guard = session.write(DB, &key, 1);
    guard.set_deadline(DB, &key, 1000, Event::Expire).unwrap();
    guard.unique(DB, &key).unwrap();
    let (found, packed) = guard.packed(DB, &key).unwrap();
    assert_eq!((found.kind, found.encoding), (Kind::Set, Encoding::Intset));
    assert!(packed.has(0, b"contents"));
    // A change in place changes the unique as well.
    let before = found.unique;
    assert!(guard.patch(DB, &key, Event::SAdd, &[Patch { at: 0, bytes: b"C" }]));
    assert!(guard.find(DB, &key).unwrap().unique > before && before != 0);
}

#[test]
fn patches_stay_within_their_collection_and_are_told() {
    let engine = engine();
    let session = engine.session().unwrap();
    let (key, string) = (engine.key(b"k"), engine.key(b"s"));
    session.write(DB, &key, 1).put(DB, &key, &packed(b"0123456789abcdef")).unwrap();
    session.write(DB, &string, 1).put(DB, &string, &Put::plain(Value::Bytes(b"text"))).unwrap();
    let mut changes = engine.changes(Delivery::Lossless).unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    session.watch(DB, &key, &flag, 1);
    let patches = [Patch { at: 1, bytes: b"bcd" }, Patch { at: 12, bytes: b"WXYZ" }];
    let beyond = [Patch { at: 0, bytes: b"!" }, Patch { at: 13, bytes: b"WXYZ" }];
    {
        let mut guard = session.write(DB, &key, 1);
        assert!(!guard.patch(DB, &key, Event::SAdd, &beyond));
        assert!(guard.patch(DB, &key, Event::SRem, &patches));
    }
    let text = [Patch { at: 0, bytes: b"T" }];
    assert!(!session.write(DB, &string, 1).patch(DB, &string, Event::SAdd, &text));
    assert_eq!(contents(&session, &key).unwrap().1, b"0bcd456789abWXYZ");
    assert!(flag.load(Ordering::Relaxed));
    let Next::Change(change) = changes.next() else { panic!("a patch is a change") };
    assert_eq!((change.event, change.key.as_slice()), (Event::SRem, &b"k"[..]));
    let told = [(1, b"bcd".to_vec()), (12, b"WXYZ".to_vec())];
    assert_eq!(change.effect, Effect::Patch(told.to_vec()));
    assert_eq!(changes.next(), Next::Empty);
}

/// A writer changes both ends of a value in place; who reads it sees both or neither.
#[test]
fn nobody_sees_half_a_patch() {
    const LEN: usize = 600;
    let engine = engine();
    let session = engine.session().unwrap();
    let key = engine.key(b"k");
    session.write(DB, &key, 1).put(DB, &key, &packed(&[0; LEN])).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let session = engine.session().unwrap();
                let key = engine.key(b"k");
                let mut seen = 0u32;
                while !ended.load(Ordering::Relaxed) {
                    let mut ends = (0, 0);
                    session.inspect(DB, &key, 1, |packed| {
                        let (_, packed) = packed.unwrap();
                        ends = (packed.u32_at(1), packed.u32_at(LEN - 5));
                    });
                    assert_eq!(ends.0, ends.1);
                    assert!(ends.0 >= seen, "a read went back in time");
                    seen = ends.0;
                }
            });
        }
        let _stop = StopOnDrop(&ended);
        for n in 1..=(if cfg!(miri) { 50 } else { 200_000u32 }) {
            let bytes = n.to_le_bytes();
            let patches = [Patch { at: 1, bytes: &bytes }, Patch { at: LEN - 5, bytes: &bytes }];
            // Some of them within a write of several keys, which has readers wait already.
            let mut guard = match n % 3 {
                0 => session.write_many(&[(DB, key.hash())], 1),
                _ => session.write(DB, &key, 1),
            };
            assert!(guard.patch(DB, &key, Event::SAdd, &patches));
        }
    });
    engine.verify_at_rest().unwrap();
}
