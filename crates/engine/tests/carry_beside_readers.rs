//! Values that go from key to key at random, held against a map, with all invariants looked at after each
//! change, while others read. Each value has a number of its own, so that one that is seen at two keys at once, or with
//! another one's bytes, is found.

#![cfg(all(not(miri), not(shuttle)))]

mod stop;

use dolium_engine::*;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use stop::StopOnDrop;

const NOW: Millis = 1_000;
const DATABASES: u16 = 2;
const CHANGES: u64 = 4_000;
const READS_MIN: u64 = 400;
const LENGTHS: [usize; 8] = [8, 100, 300, 5_000, KEY_ROOM_VALUE_MIN, 9_000, 33_000, 70_000];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// Of one length, of several, and such for which no value has room.
fn names() -> Vec<Vec<u8>> {
    let short = (0..6).map(|n| format!("key:{n}").into_bytes());
    let others = [1, 12, 40, KEY_ROOM].map(|len| vec![b'o'; len]);
    let long = (0..2).map(|n| format!("{n:0>150}").into_bytes());
    short.chain(others).chain(long).collect()
}

/// A number, over and over.
fn bytes(number: u64, len: usize) -> Vec<u8> {
    number.to_le_bytes().into_iter().cycle().take(len).collect()
}

/// The number of a value, all of whose bytes are its own.
fn number_of(value: &[u8]) -> u64 {
    let number = u64::from_le_bytes(*value.first_chunk().expect("eight bytes at least"));
    assert!(value == bytes(number, value.len()), "a value of {} bytes is torn", value.len());
    number
}

type Map = BTreeMap<(u16, usize), (u64, usize)>;

/// One random change of store and map.
fn change(session: &Session, names: &[Vec<u8>], map: &mut Map, random: &mut Random, number: u64) {
    let engine = session.engine();
    let place =
        |random: &mut Random| (random.below(DATABASES.into()) as u16, random.below(names.len()));
    let (from, to) = (place(random), place(random));
    let (old, new) = (engine.key(&names[from.1]), engine.key(&names[to.1]));
    let (db, new_db) = (Db(from.0), Db(to.0));
    match random.below(8) {
        0 | 1 => {
            let len = LENGTHS[random.below(LENGTHS.len())];
            let bytes = bytes(number, len);
            let put = Put {
                deadline: [Deadline::Never, Deadline::At(1 << 40)][random.below(2)],
                flags: Flags::Set(random.below(2) as u32),
                unique: random.below(2) == 0,
                ..Put::plain(Value::Bytes(&bytes))
            };
            session.write(db, &old, NOW).put(db, &old, &put).expect("memory");
            map.insert(from, (number, len));
        }
        2 if random.below(3) == 0 => {
            session.write(db, &old, NOW).remove(db, &old, Event::Del);
            map.remove(&from);
        }
        2 => {
            if let Some((of, len)) = map.get_mut(&from)
                && session.write(db, &old, NOW).store_part(
                    db,
                    &old,
                    Event::SetRange,
                    &Patch { at: 0, bytes: &bytes(number, *len) },
                )
            {
                *of = number;
            }
        }
        _ if from == to => {}
        _ => {
            let places = [(db, old.hash()), (new_db, new.hash())];
            let in_transaction = random.below(4) == 0;
            if in_transaction {
                session.begin_transaction(Some(&places), NOW);
            }
            let mut guard = session.write_many(&places, NOW);
            let events = [Event::RenameFrom, Event::RenameTo];
            if guard.carry((db, &old), (new_db, &new), events).expect("memory") {
                let value = map.remove(&from).expect("what is carried is there");
                map.insert(to, value);
            } else if let Some((_, len)) = map.get(&from) {
                let fits = *len >= KEY_ROOM_VALUE_MIN
                    && old.bytes().len().max(new.bytes().len()) <= KEY_ROOM;
                assert!(!fits, "a value of {len} bytes was not carried");
            }
            drop(guard);
            if in_transaction {
                session.end_transaction();
            }
        }
    }
}

fn compare(session: &Session, names: &[Vec<u8>], map: &Map) {
    for db in 0..DATABASES {
        for (at, name) in names.iter().enumerate() {
            let mut out = Vec::new();
            let key = session.engine().key(name);
            let found = session.get(Db(db), &key, NOW, &mut out, |_, _| ());
            let expected = map.get(&(db, at)).map(|(number, len)| bytes(*number, *len));
            assert!(found.map(|_| out) == expected, "key {at} of database {db}");
        }
    }
}

/// All keys of a database as of one moment: no value is at two of them.
fn read_many(session: &Session, db: Db, names: &[Vec<u8>]) {
    let keys: Vec<_> = names.iter().map(|name| session.engine().key(name)).collect();
    let (mut out, mut places) = (Vec::new(), vec![None; keys.len()]);
    session.get_many(db, &keys, NOW, &mut out, |index, found, out| {
        places[index] = found.map(|found| out.len()..out.len() + found.len);
    });
    let mut seen = HashSet::new();
    for place in places.into_iter().flatten() {
        assert!(seen.insert(number_of(&out[place])), "one value at two keys");
    }
}

fn read_each(session: &Session, db: Db, names: &[Vec<u8>]) {
    for name in names {
        let (key, mut out) = (session.engine().key(name), Vec::new());
        if session.get(db, &key, NOW, &mut out, |_, _| ()).is_some() {
            number_of(&out);
        }
        if let Some((_, lease)) = session.lease(db, &key, NOW) {
            let number = number_of(lease.bytes());
            std::thread::yield_now();
            assert_eq!(number_of(lease.bytes()), number, "what is leased has changed");
        }
    }
    let mut fetches = Vec::new();
    let keys: Vec<_> = names.iter().map(|name| session.engine().key(name)).collect();
    keys.iter().for_each(|key| session.fetch_line(db, key.hash(), &mut fetches));
    session.fetch_items(&mut fetches);
    for (key, fetch) in keys.iter().zip(&fetches) {
        let mut out = Vec::new();
        if session.get_fetched(fetch, db, key, NOW, &mut out, |_| true, |_, _| ()).is_some() {
            number_of(&out);
        }
    }
}

fn scan(session: &Session, db: Db, names: &[Vec<u8>]) {
    let mut cursor = 0;
    loop {
        cursor = session.scan(db, cursor, 100, NOW, |key, _| {
            assert!(names.iter().any(|name| name == key), "no such key was ever stored: {key:?}");
        });
        if cursor == 0 {
            break;
        }
    }
}

fn read_attached(reader: &Reader, db: Db, names: &[Vec<u8>]) {
    for name in names {
        let mut out = Vec::new();
        if let Ok(Copied::Value(_)) = reader.copy(db, &reader.key(name), || NOW, &mut out) {
            number_of(&out);
        }
    }
    for some in names.chunks(Reader::BATCH_KEYS) {
        reader.get_batch(
            db,
            some,
            || NOW,
            &mut Vec::new(),
            |_, value| {
                if let Ok(Some(value)) = value {
                    number_of(value);
                }
            },
        );
    }
}

#[test]
fn values_go_from_key_to_key_while_others_read() {
    for seed in 1..=3 {
        let options = EngineOptions {
            max_bytes: 128 << 20,
            shards: 16,
            databases: DATABASES,
            ..EngineOptions::default()
        };
        let engine: Arc<Engine> = Engine::create(options).expect("an arena");
        let (names, is_over, reads) = (names(), AtomicBool::new(false), AtomicU64::new(0));
        let session = engine.session().expect("a slot");
        std::thread::scope(|scope| {
            for kind in 0..4 {
                let (engine, names, is_over, reads) = (&engine, &names, &is_over, &reads);
                scope.spawn(move || {
                    let session = engine.session().expect("a slot");
                    let fd = engine.attach_fd().expect("a descriptor");
                    let reader = Reader::open(fd).expect("our own arena");
                    while !is_over.load(Ordering::Relaxed) {
                        for db in (0..DATABASES).map(Db) {
                            match kind {
                                0 => read_many(&session, db, names),
                                1 => read_each(&session, db, names),
                                2 => scan(&session, db, names),
                                _ => read_attached(&reader, db, names),
                            }
                        }
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let _stop = StopOnDrop(&is_over);
            let (mut map, mut random) = (Map::new(), Random(seed));
            let mut number = 0;
            while number < CHANGES || reads.load(Ordering::Relaxed) < READS_MIN {
                number += 1;
                change(&session, &names, &mut map, &mut random, number);
                engine.verify().expect("sound");
                if number % 64 == 0 {
                    compare(&session, &names, &map);
                }
            }
            compare(&session, &names, &map);
        });
        engine.verify_at_rest().expect("sound");
    }
}
