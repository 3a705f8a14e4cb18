//! The change stream against the writes that were made, and a cut of a store under full-speed
//! writes against the exact prefix of the stream.

mod stop;

use dolium_engine::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stop::StopOnDrop;

/// Keys of each database, bytes of the one value in a thousand that is large, changes of a stream and
/// cuts under writes: an interpreter takes some ten thousand times as long for each.
const KEYS: u64 = if cfg!(miri) { 50 } else { 20_000 };
const LARGE: usize = if cfg!(miri) { 20_000 } else { 300_000 };
const CHANGES: u64 = if cfg!(miri) { 300 } else { 300_000 };
const CUTS: usize = if cfg!(miri) { 1 } else { 5 };
/// Bytes of the stream's ring where it is to be overrun.
const RING: usize = if cfg!(miri) { 16 << 10 } else { 1 << 20 };

type Store = BTreeMap<(u16, Vec<u8>), (Vec<u8>, Millis, u32)>;

fn engine(journal_bytes: u64) -> Arc<Engine> {
    Engine::create(EngineOptions {
        max_bytes: 512 << 20,
        shards: 64,
        databases: 4,
        journal_bytes,
        ..EngineOptions::default()
    })
    .expect("an arena")
}

fn apply(store: &mut Store, change: &Change) {
    let place = (change.db.0, change.key.clone());
    match &change.effect {
        Effect::Put { value, deadline, flags, .. } => {
            store.insert(place, (value.clone(), *deadline, *flags));
        }
        Effect::Patch(patches) => {
            let value = &mut store.get_mut(&place).expect("what is patched is there").0;
            for (at, bytes) in patches {
                value.resize(value.len().max(at + bytes.len()), 0);
                value[*at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
        Effect::Deadline(deadline) => {
            store.get_mut(&place).expect("a deadline is given to a key that is there").1 =
                *deadline;
        }
        Effect::Remove => {
            assert!(store.remove(&place).is_some(), "what is removed was there");
        }
        Effect::FlushDb => store.retain(|(db, _), _| *db != change.db.0),
        Effect::SwapDb(other) => {
            let (a, b) = (change.db.0, other.0);
            *store = std::mem::take(store)
                .into_iter()
                .map(|((db, key), entry)| {
                    let db = if db == a {
                        b
                    } else if db == b {
                        a
                    } else {
                        db
                    };
                    ((db, key), entry)
                })
                .collect();
        }
    }
}

/// One writer's life: every kind of change, in an order that `seed` decides.
fn write(engine: &Arc<Engine>, seed: u64, stop: &AtomicBool, whole_databases: bool) -> u64 {
    let session = engine.session().expect("a slot");
    let mut random = seed;
    let mut next = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    let mut made = 0;
    while !stop.load(Ordering::Relaxed) {
        let db = Db((next() % 2) as u16);
        let bytes = format!("key:{}", next() % KEYS).into_bytes();
        let key = engine.key(&bytes);
        let now = 1_000;
        match next() % 1000 {
            0 if whole_databases && next() % 40 == 0 => session.write_all(now).flush(db),
            1 if whole_databases => session.write_all(now).swap(Db(0), Db(1)),
            2..=99 => {
                session.write(db, &key, now).remove(db, &key, Event::Del);
            }
            100..=199 => {
                let mut guard = session.write(db, &key, now);
                guard.set_deadline(db, &key, now + 1 + next() % 50, Event::Expire).expect("memory");
            }
            200..=299 => {
                // Two keys at once: a cut has both or neither.
                let other = format!("twin:{}", String::from_utf8_lossy(&bytes)).into_bytes();
                let twin = engine.key(&other);
                let mut guard = session.write_many(&[(db, key.hash()), (db, twin.hash())], now);
                let value = next().to_string().into_bytes();
                let put = Put::plain(Value::Bytes(&value));
                guard.put(db, &key, &put).expect("memory");
                guard.put(db, &twin, &put).expect("memory");
            }
            300..=399 => {
                let mut guard = session.write(db, &key, now);
                let old = guard.int(db, &key).unwrap_or(0);
                let put = Put { deadline: Deadline::Keep, ..Put::plain(Value::Int(old + 1)) };
                guard.put(db, &key, &put).expect("memory");
            }
            400..=449 => {
                // A collection changes in place: a cut has the bytes of before or those of after.
                let name = format!("set:{}", next() % 100).into_bytes();
                let key = engine.key(&name);
                let bytes = next().to_le_bytes();
                let mut guard = session.write(db, &key, now);
                let patches = [Patch { at: 3, bytes: &bytes }, Patch { at: 180, bytes: &bytes }];
                if !guard.patch(db, &key, Event::SAdd, &patches) {
                    let value = Value::Packed(Kind::Set, Encoding::Hashtable, &[7; 200]);
                    guard.put(db, &key, &Put::plain(value)).expect("memory");
                }
            }
            n => {
                let len = if n == 999 { LARGE } else { next() as usize % 100 };
                let value = vec![n as u8; len];
                let mut put = Put::plain(Value::Bytes(&value));
                put.flags = Flags::Set((next() % 3) as u32);
                session.write(db, &key, now).put(db, &key, &put).expect("memory");
            }
        }
        made += 1;
    }
    made
}

fn contents(engine: &Arc<Engine>) -> Store {
    let session = engine.session().expect("a slot");
    let mut store = Store::new();
    for db in (0..engine.databases()).map(Db) {
        let mut cursor = 0;
        loop {
            let mut keys = Vec::new();
            cursor = session.scan(db, cursor, 1000, 0, |key, _| keys.push(key.to_vec()));
            for key in keys {
                let (mut value, name) = (Vec::new(), engine.key(&key));
                let found =
                    session.get(db, &name, 0, &mut value, |_, _| ()).expect("nobody writes now");
                if found.kind != Kind::String {
                    session.inspect(db, &name, 0, |seen| {
                        value.clear();
                        seen.expect("as before").1.copy(0, found.len, &mut value);
                    });
                }
                store.insert((db.0, key), (value, found.deadline, found.flags));
            }
            if cursor == 0 {
                break;
            }
        }
    }
    store
}

#[test]
fn the_stream_has_every_change_in_order() {
    let engine = engine(1 << 20);
    let stop = AtomicBool::new(false);
    let reader = engine.changes(Delivery::Lossless).expect("memory for the ring");
    let mut replayed = Store::new();
    std::thread::scope(|scope| {
        // Moved in, so that a panic drops it and lets waiting writers go on.
        let mut reader = reader;
        let _stop = StopOnDrop(&stop);
        let writers = [1, 2].map(|seed| {
            let (engine, stop) = (&engine, &stop);
            scope.spawn(move || write(engine, seed, stop, true))
        });
        let mut changes = 0u64;
        let mut last = None;
        loop {
            match reader.next() {
                Next::Change(change) => {
                    assert!(last < Some(change.position), "positions grow");
                    last = Some(change.position);
                    apply(&mut replayed, &change);
                    changes += 1;
                    if changes == CHANGES {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                Next::Empty if writers.iter().all(|w| w.is_finished()) => {
                    while let Next::Change(change) = reader.next() {
                        apply(&mut replayed, &change);
                    }
                    break;
                }
                Next::Empty => std::thread::yield_now(),
                Next::Lost(bytes) => panic!("a lossless reader lost {bytes} bytes"),
            }
        }
    });
    assert_eq!(engine.verify_at_rest(), Ok(()));
    assert!(contents(&engine) == replayed, "the store differs from its stream");
}

#[test]
fn a_lossy_reader_is_told_what_it_lost_and_goes_on_whole() {
    let engine = engine(RING as u64);
    let session = engine.session().expect("a slot");
    let mut reader = engine.changes(Delivery::Lossy).expect("memory for the ring");
    let key = engine.key(b"key");
    let value = vec![1; 1000];
    let put = |value: &[u8]| {
        let put = Put::plain(Value::Bytes(value));
        session.write(Db(0), &key, 1).put(Db(0), &key, &put).expect("memory");
    };
    // Some five rings full.
    let puts = RING as u64 / 200;
    for _ in 0..puts {
        put(&value);
    }
    let Next::Lost(bytes) = reader.next() else { panic!("more than a ring full was written") };
    assert!(bytes > puts * 1_000 - RING as u64);
    assert_eq!(reader.next(), Next::Empty);
    put(b"after");
    let Next::Change(change) = reader.next() else { panic!("one change was made") };
    assert!(matches!(change.effect, Effect::Put { value, .. } if value == b"after"));
}

/// Values filled the ring, though nobody wanted to know them: one that was as large as the ring was told to
/// nobody, and so were a few that were made together.
#[test]
fn a_reader_of_names_loses_nothing_to_large_values() {
    let engine = engine(RING as u64);
    let session = engine.session().expect("a slot");
    let mut names = engine.names_of_changes(Delivery::Lossy).expect("memory for the ring");
    let put = |name: &[u8], value: &[u8]| {
        let key = engine.key(name);
        let put = Put::plain(Value::Bytes(value));
        session.write(Db(1), &key, 1).put(Db(1), &key, &put).expect("memory");
    };
    let names_of = |reader: &mut ChangeReader| {
        let mut names = Vec::new();
        loop {
            match reader.next() {
                Next::Change(change) => {
                    assert_eq!((change.db, change.event), (Db(1), Event::Set));
                    let Effect::Put { value, .. } = change.effect else { panic!("it was a put") };
                    names.push((change.key, value.len()));
                }
                Next::Empty => return names,
                Next::Lost(bytes) => panic!("{bytes} bytes lost"),
            }
        }
    };
    for _ in 0..10 {
        put(b"large", &vec![1; 2 * RING]);
        put(b"small", b"1");
    }
    // Who wants values begins behind those that have none.
    let mut values = engine.changes(Delivery::Lossless).expect("memory");
    put(b"whole", &vec![2; RING / 3]);
    assert_eq!(names_of(&mut values), [(b"whole".to_vec(), RING / 3)]);
    let told = names_of(&mut names);
    assert_eq!(told.len(), 21);
    assert_eq!(told[19..], [(b"small".to_vec(), 0), (b"whole".to_vec(), 0)]);
    drop(values);
    put(b"large", &vec![1; 2 * RING]);
    assert_eq!(names_of(&mut names), [(b"large".to_vec(), 0)]);
    let mut values = engine.changes(Delivery::Lossy).expect("memory");
    drop(names);
    put(b"small", b"3");
    assert_eq!(names_of(&mut values), [(b"small".to_vec(), 1)]);
}

#[test]
fn a_cut_under_full_speed_writes_is_the_exact_prefix_of_the_stream() {
    const QUEUE_BYTES: usize = 1 << 20;
    let engine = engine(1 << 20);
    let stop = AtomicBool::new(false);
    let reader = engine.changes(Delivery::Lossless).expect("memory for the ring");
    std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for seed in [3, 4] {
            let (engine, stop) = (&engine, &stop);
            scope.spawn(move || write(engine, seed, stop, true));
        }
        // Replays the stream and hands out a copy of the store at the positions asked for.
        let (ask, asked) = std::sync::mpsc::channel::<(u64, std::sync::mpsc::Sender<Store>)>();
        let stop_replay = &stop;
        scope.spawn(move || {
            let mut reader = reader;
            let mut replayed = Store::new();
            let mut wanted: Option<(u64, std::sync::mpsc::Sender<Store>)> = None;
            let mut kept: std::collections::VecDeque<Change> = Default::default();
            loop {
                // Stays a little behind, so that a position asked for has not been passed.
                let next = reader.next();
                if let Next::Change(change) = next {
                    kept.push_back(change);
                } else if stop_replay.load(Ordering::Relaxed) && wanted.is_none() {
                    return;
                }
                if wanted.is_none() {
                    wanted = asked.try_recv().ok();
                }
                while kept.len() > 2_000_000 || wanted.is_some() {
                    match (kept.front(), &wanted) {
                        (Some(change), Some((position, _))) if change.position >= *position => {
                            let (_, to) = wanted.take().expect("just seen");
                            to.send(replayed.clone()).expect("somebody waits");
                        }
                        (Some(_), _) => {
                            let change = kept.pop_front().expect("just seen");
                            apply(&mut replayed, &change);
                        }
                        (None, _) => break,
                    }
                }
            }
        });
        for _ in 0..CUTS {
            std::thread::sleep(std::time::Duration::from_millis(100));
            let queue = Arc::new(CutQueue::new(QUEUE_BYTES));
            let mut cut = engine.begin_cut(queue.clone()).expect("no other cut runs");
            assert!(engine.begin_cut(queue.clone()).is_none(), "one cut at a time");
            let mut items = Vec::new();
            while cut.step(&mut items) != CutStep::Done {
                items.append(&mut queue.drain());
            }
            items.append(&mut queue.drain());
            let position = cut.position();
            drop(cut);
            // The bound: the queue's bytes, and one item that may enter an empty queue.
            assert!(queue.bytes_peak() <= QUEUE_BYTES.max(LARGE + 4096));
            let mut found = Store::new();
            for item in items {
                let place = (item.db.0, item.key);
                let before = found.insert(place, (item.value, item.deadline, item.flags));
                assert!(before.is_none(), "an item comes once");
            }
            let (to, from) = std::sync::mpsc::channel();
            ask.send((position, to)).expect("it replays");
            let expected = from.recv().expect("it answers");
            assert!(found.len() > 1000 || !expected.is_empty());
            assert!(found == expected, "the cut differs from the stream's prefix");
        }
    });
    assert_eq!(engine.verify_at_rest(), Ok(()));
}
