//! A SET in one piece (`Session::set`, `Session::set_fetched`) does what a guard's put does, whatever
//! stands there: held against a map, with others who change the store between passes and stores, and
//! with all who have to hear of a change.
#![cfg(not(miri))]

mod kept_by_a_cut;
mod stop;

use dolium_engine::*;
use kept_by_a_cut::cut_beside;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use stop::StopOnDrop;

const DBS: [Db; 2] = [Db(0), Db(1)];
const KEYS: u64 = 30_000;
const ROUNDS: usize = 30_000;
const NOW: u64 = 5;

/// SplitMix64, so that a failure comes again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27) % end
    }

    fn place(&mut self) -> (Db, String) {
        let number = self.below(KEYS);
        // Keys on both sides of what a header has a byte for.
        let width = [0, 6, 13, 29, 244, 249, 250, 300][(number % 8) as usize];
        (DBS[self.below(2) as usize], format!("{:k<width$}{number}", ""))
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.below(8) {
            0 => self.below(3),
            1 => self.below(5000),
            2 => 250 + self.below(12),
            // Most are as long as the one before them, or nearly.
            _ => 40 + self.below(3),
        };
        vec![self.below(256) as u8; length as usize]
    }
}

fn engine() -> Arc<Engine> {
    Engine::create(EngineOptions {
        max_bytes: 256 << 20,
        shards: 16,
        databases: 2,
        hash_seed: [7, 8],
        policy: Policy::NoEviction,
        journal_bytes: 1 << 20,
    })
    .unwrap()
}

fn fetch(session: &Session, (db, name): &(Db, String)) -> Fetch {
    let mut fetches = Vec::new();
    session.fetch_line(*db, session.engine().key(name.as_bytes()).hash(), &mut fetches);
    session.fetch_items(&mut fetches);
    fetches[0]
}

/// By the steps of keys that come one at a time, between which the store may change.
fn fetch_in_steps(
    session: &Session,
    dice: &mut Dice,
    model: &mut Model,
    place: &(Db, String),
) -> Fetch {
    let (mut fetches, before) = (Vec::new(), dice.below(3) as usize);
    for number in 0..before + 1 + dice.below(4) as usize {
        let other = dice.place();
        let (db, name) = if number == before { place } else { &other };
        let hash = session.engine().key(name.as_bytes()).hash();
        if number == before || dice.below(4) > 0 {
            session.fetch_in_steps(*db, hash, dice.below(2) == 0, &mut fetches);
        } else {
            session.fetch_line(*db, hash, &mut fetches);
        }
        for _ in 0..dice.below(2) {
            change(session, dice, model, place);
        }
    }
    session.fetch_items(&mut fetches);
    fetches[before]
}

fn value_of(session: &Session, (db, name): &(Db, String)) -> Option<(Vec<u8>, Found)> {
    let mut out = Vec::new();
    let key = session.engine().key(name.as_bytes());
    let found = session.get(*db, &key, NOW, &mut out, |_, _| ())?;
    Some((out, found))
}

type Model = HashMap<(Db, String), Vec<u8>>;

/// Whatever makes the next SET of a key another one.
fn change(session: &Session, dice: &mut Dice, model: &mut Model, next: &(Db, String)) {
    let (db, name) = if dice.below(2) == 0 { next.clone() } else { dice.place() };
    let key = session.engine().key(name.as_bytes());
    let value = dice.value();
    let plain = Put::plain(Value::Bytes(&value));
    let put = match dice.below(11) {
        0 if dice.below(8) == 0 => {
            session.write_all(NOW).swap(DBS[0], DBS[1]);
            *model = std::mem::take(model)
                .into_iter()
                .map(|((db, name), value)| ((Db(1 - db.0), name), value))
                .collect();
            return;
        }
        1 if dice.below(400) == 0 => {
            session.write_all(NOW).flush(db);
            model.retain(|(of, _), _| *of != db);
            return;
        }
        2 | 3 => {
            let was_there = session.write(db, &key, NOW).remove(db, &key, Event::Del);
            assert_eq!(was_there, model.remove(&(db, name)).is_some());
            return;
        }
        // A key that is due counts as absent; so does one that has not been there.
        4 => {
            let put = Put { deadline: Deadline::At(NOW), ..plain };
            session.write(db, &key, NOW - 1).put(db, &key, &put).unwrap();
            model.remove(&(db, name));
            return;
        }
        8 => {
            let int = dice.below(1 << 40) as i64;
            session.write(db, &key, NOW).put(db, &key, &Put::plain(Value::Int(int))).unwrap();
            model.insert((db, name), int.to_string().into());
            return;
        }
        9 => Put { value: Value::Parts([&value, b"", b""]), ..plain },
        10 => Put { deadline: Deadline::At(NOW + 1000), ..plain },
        5 => Put { flags: Flags::Set(9), ..plain },
        6 => Put { unique: true, ..plain },
        7 => Put { marks: 1, ..plain },
        _ => plain,
    };
    session.write(db, &key, NOW).put(db, &key, &put).unwrap();
    model.insert((db, name), value);
}

#[test]
fn sets_agree_with_a_map() {
    let engine = engine();
    let session = engine.session().unwrap();
    let (mut dice, mut model) = (Dice(21), Model::new());
    for round in 0..ROUNDS {
        let place = dice.place();
        let (db, name) = &place;
        let key = engine.key(name.as_bytes());
        // Twice the same key, so that the second is mostly over one of the same lengths.
        for _ in 0..2 {
            let value = dice.value();
            let fetched = match dice.below(4) {
                0 => Some(fetch(&session, &place)),
                1 => Some(fetch_in_steps(&session, &mut dice, &mut model, &place)),
                _ => None,
            };
            for _ in 0..dice.below(2) {
                change(&session, &mut dice, &mut model, &place);
            }
            let stored = match &fetched {
                Some(fetch) => session.set_fetched(*db, &key, fetch, &value, NOW),
                None => session.set(*db, &key, &value, NOW),
            };
            let before = model.insert(place.clone(), value.clone());
            assert_eq!(stored.unwrap().replaced, before.is_some(), "round {round}: {name}");
            let (out, found) = value_of(&session, &place).expect("just stored");
            assert!(out == value, "round {round}: {name}");
            let rest = (found.deadline, found.flags, found.unique, found.marks);
            assert_eq!(rest, (NEVER, 0, 0, 0), "round {round}: {name}");
        }
        if round % 3000 == 0 || round + 1 == ROUNDS {
            engine.verify_at_rest().unwrap();
            for (place, value) in &model {
                assert!(&value_of(&session, place).expect("it is there").0 == value, "{place:?}");
            }
            // Those that are due are still counted.
            let items: u64 = DBS.iter().map(|db| engine.len(*db)).sum();
            assert!(items >= model.len() as u64);
        }
    }
}

/// Stores by either way.
fn set_both_ways(session: &Session, name: &str, values: [&[u8]; 2]) {
    let key = session.engine().key(name.as_bytes());
    session.set(Db(0), &key, values[0], NOW).unwrap();
    let fetch = fetch(session, &(Db(0), name.to_owned()));
    session.set_fetched(Db(0), &key, &fetch, values[1], NOW).unwrap();
}

#[test]
fn a_transaction_keeps_its_locks() {
    let engine = engine();
    let session = engine.session().unwrap();
    set_both_ways(&session, "key", [b"one", b"two"]);
    let hash = engine.key(b"key").hash();
    session.begin_transaction(Some(&[(Db(0), hash)]), NOW);
    set_both_ways(&session, "key", [b"six", b"ten"]);
    // Who reads meanwhile waits, and gets what the transaction leaves.
    let reader = std::thread::spawn({
        let engine = engine.clone();
        move || value_of(&engine.session().unwrap(), &(Db(0), "key".to_owned())).unwrap().0
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(!reader.is_finished());
    set_both_ways(&session, "key", [b"was", b"end"]);
    session.end_transaction();
    assert_eq!(reader.join().unwrap(), b"end");
}

#[test]
fn who_watches_a_key_hears_of_it() {
    let engine = engine();
    let session = engine.session().unwrap();
    let key = engine.key(b"watched");
    set_both_ways(&session, "watched", [b"one", b"two"]);
    for by_fetch in [false, true] {
        let flag = Arc::new(AtomicBool::new(false));
        session.watch(Db(0), &key, &flag, NOW);
        if by_fetch {
            let fetch = fetch(&session, &(Db(0), "watched".to_owned()));
            session.set_fetched(Db(0), &key, &fetch, b"ten", NOW).unwrap();
        } else {
            session.set(Db(0), &key, b"six", NOW).unwrap();
        }
        assert!(flag.load(Relaxed), "by a fetch: {by_fetch}");
        session.unwatch(Db(0), &key, &flag);
    }
}

#[test]
fn a_reader_of_changes_is_told() {
    let engine = engine();
    let session = engine.session().unwrap();
    set_both_ways(&session, "key", [b"one", b"two"]);
    let mut changes = engine.changes(Delivery::Lossy).unwrap();
    set_both_ways(&session, "key", [b"six", b"ten"]);
    let mut values = Vec::new();
    while let Next::Change(change) = changes.next() {
        if let Effect::Put { value, .. } = change.effect {
            values.push(value);
        }
    }
    assert_eq!(values, [b"six".to_vec(), b"ten".to_vec()]);
}

#[test]
fn a_running_cut_keeps_what_it_has_not_read() {
    let engine = engine();
    let session = engine.session().unwrap();
    for name in ["first", "second"] {
        set_both_ways(&session, name, [b"older", b"still"]);
    }
    let items = cut_beside(&engine, || {
        session.set(Db(0), &engine.key(b"first"), b"newer", NOW).unwrap();
        let fetch = fetch(&session, &(Db(0), "second".to_owned()));
        session.set_fetched(Db(0), &engine.key(b"second"), &fetch, b"newer", NOW).unwrap();
    });
    let mut seen: Vec<_> = items.into_iter().map(|item| item.value).collect();
    seen.sort();
    assert_eq!(seen, [b"still".to_vec(), b"still".to_vec()]);
}

#[test]
fn each_store_counts_as_one_change() {
    let engine = engine();
    let session = engine.session().unwrap();
    set_both_ways(&session, "key", [b"one", b"two"]);
    let changes = || engine.statistics().changes;
    let before = changes();
    for _ in 0..5 {
        set_both_ways(&session, "key", [b"six", b"ten"]);
    }
    assert_eq!(changes() - before, 10);
}

#[test]
fn two_writers_and_the_upkeep_lose_nothing() {
    let engine = engine();
    let names: Vec<String> = (0..64).map(|number| format!("key:{number}")).collect();
    let is_over = AtomicBool::new(false);
    let write = |byte: u8| {
        let session = engine.session().unwrap();
        for round in 0..4000usize {
            for name in &names {
                let value = &[byte; 44][..40 + round % 4];
                let key = engine.key(name.as_bytes());
                if round.is_multiple_of(2) {
                    session.set(Db(0), &key, value, NOW).unwrap();
                } else {
                    let fetch = fetch(&session, &(Db(0), name.clone()));
                    session.set_fetched(Db(0), &key, &fetch, value, NOW).unwrap();
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let upkeep = scope.spawn(|| {
            let session = engine.session().unwrap();
            while !is_over.load(Relaxed) {
                session.maintain(NOW, 1_000, &|| 0);
            }
        });
        let writers: Vec<_> = (1..3).map(|byte| scope.spawn(move || write(byte))).collect();
        let stop = StopOnDrop(&is_over);
        for writer in writers {
            writer.join().unwrap();
        }
        drop(stop);
        upkeep.join().unwrap();
    });
    engine.verify_at_rest().unwrap();
    let session = engine.session().unwrap();
    assert_eq!(engine.len(Db(0)), 64);
    for name in names {
        let (value, _) = value_of(&session, &(Db(0), name)).expect("it was set");
        assert!(value.iter().all(|byte| *byte == value[0]) && (40..44).contains(&value.len()));
    }
}
