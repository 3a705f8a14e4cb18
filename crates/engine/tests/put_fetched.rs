//! A store by what a batch's passes have seen of a key does what a store does, whatever has
//! happened to the key since: random changes between the passes and the stores, held against a map.
#![cfg(not(miri))]

use dolium_engine::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const DBS: [Db; 2] = [Db(0), Db(1)];
const KEYS: u64 = 40_000;
const ROUNDS: usize = 20_000;
const NOW: u64 = 5;

/// SplitMix64, so that a failure comes again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27) % end
    }

    fn key(&mut self) -> (Db, String) {
        let number = self.below(KEYS);
        // Lengths on both sides of all that takes another way.
        let width = [0, 6, 13, 14, 29, 30, 250, 300][(number % 8) as usize];
        (DBS[self.below(2) as usize], format!("{:k<width$}{number}", ""))
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.below(8) {
            0 => 0,
            1 => self.below(5000),
            2 => 240 + self.below(30),
            // Most have the block of the one before them.
            _ => 30 + self.below(12),
        };
        vec![self.below(256) as u8; length as usize]
    }
}

type Model = HashMap<(Db, String), Vec<u8>>;

fn engine() -> Arc<Engine> {
    Engine::create(EngineOptions {
        max_bytes: 256 << 20,
        shards: 16,
        databases: 2,
        hash_seed: [5, 6],
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

/// Something else that happens to the store.
fn change(session: &Session, dice: &mut Dice, model: &mut Model) {
    let (db, name) = dice.key();
    let key = session.engine().key(name.as_bytes());
    match dice.below(40) {
        0 => {
            session.write_all(NOW).swap(DBS[0], DBS[1]);
            *model = std::mem::take(model)
                .into_iter()
                .map(|((db, name), value)| ((Db(1 - db.0), name), value))
                .collect();
        }
        1 if dice.below(20) == 0 => {
            session.write_all(NOW).flush(db);
            model.retain(|(of, _), _| *of != db);
        }
        2..10 => {
            let was_there = session.write(db, &key, NOW).remove(db, &key, Event::Del);
            assert_eq!(was_there, model.remove(&(db, name)).is_some());
        }
        10..14 => {
            let text = dice.below(1000).to_string();
            let put = Put::plain(Value::Int(text.parse().unwrap()));
            session.write(db, &key, NOW).put(db, &key, &put).unwrap();
            model.insert((db, name), text.into());
        }
        14..18 => {
            let value = dice.value();
            let plain = Put::plain(Value::Bytes(&value));
            let put = Put { deadline: Deadline::At(NOW + 1000), ..plain };
            session.write(db, &key, NOW).put(db, &key, &put).unwrap();
            model.insert((db, name), value);
        }
        _ => {
            let value = dice.value();
            let put = Put::plain(Value::Bytes(&value));
            session.write(db, &key, NOW).put(db, &key, &put).unwrap();
            model.insert((db, name), value);
        }
    }
}

#[test]
fn stores_by_a_fetch_agree_with_a_map() {
    let engine = engine();
    let session = engine.session().unwrap();
    let (mut dice, mut model) = (Dice(11), Model::new());
    for round in 0..ROUNDS {
        let places: Vec<_> = (0..1 + dice.below(12)).map(|_| dice.key()).collect();
        let fetches: Vec<_> = places.iter().map(|place| fetch(&session, place)).collect();
        for _ in 0..dice.below(3) {
            change(&session, &mut dice, &mut model);
        }
        for ((db, name), fetch) in places.iter().zip(&fetches) {
            let value = dice.value();
            let key = Key::from_parts(name.as_bytes(), fetch.hash());
            let put = Put::plain(Value::Bytes(&value));
            let mut guard = session.write_fetched(*db, &key, fetch, NOW);
            let stored = guard.put_fetched(*db, &key, fetch, &put).unwrap();
            drop(guard);
            let before = model.insert((*db, name.clone()), value.clone());
            assert_eq!(stored.replaced, before.is_some(), "round {round}: {name}");
            let mut out = Vec::new();
            let found = session.get(*db, &key, NOW, &mut out, |_, _| ()).expect("just stored");
            assert!(out == value && found.deadline == NEVER, "round {round}: {name}");
        }
        if round % 2000 == 0 || round + 1 == ROUNDS {
            engine.verify_at_rest().unwrap();
            for ((db, name), value) in &model {
                let mut out = Vec::new();
                let key = engine.key(name.as_bytes());
                assert!(session.get(*db, &key, NOW, &mut out, |_, _| ()).is_some(), "{name}");
                assert!(&out == value, "round {round}: {name}");
            }
            let items: u64 = DBS.iter().map(|db| engine.len(*db)).sum();
            assert_eq!(items, model.len() as u64);
        }
    }
}

#[test]
fn who_watches_a_key_hears_of_a_store_by_a_fetch() {
    let engine = engine();
    let session = engine.session().unwrap();
    let place = (Db(0), "watched".to_owned());
    let key = engine.key(b"watched");
    session.write(Db(0), &key, NOW).put(Db(0), &key, &Put::plain(Value::Bytes(b"old"))).unwrap();
    let fetch = fetch(&session, &place);
    let flag = Arc::new(AtomicBool::new(false));
    session.watch(Db(0), &key, &flag, NOW);
    let mut guard = session.write_fetched(Db(0), &key, &fetch, NOW);
    guard.put_fetched(Db(0), &key, &fetch, &Put::plain(Value::Bytes(b"new"))).unwrap();
    drop(guard);
    assert!(flag.load(Relaxed));
}

#[test]
fn stores_by_fetches_of_two_threads_lose_nothing() {
    let engine = engine();
    let names: Vec<String> = (0..64).map(|number| format!("key:{number}")).collect();
    let write = |thread: u8| {
        let session = engine.session().unwrap();
        for round in 0..4000u32 {
            let of = |name: &String| (Db(0), name.clone());
            let fetches: Vec<_> = names.iter().map(|name| fetch(&session, &of(name))).collect();
            for (name, fetch) in names.iter().zip(&fetches) {
                let value = [thread; 40];
                let value = &value[..32 + round as usize % 8];
                let key = Key::from_parts(name.as_bytes(), fetch.hash());
                let mut guard = session.write_fetched(Db(0), &key, fetch, NOW);
                guard.put_fetched(Db(0), &key, fetch, &Put::plain(Value::Bytes(value))).unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 1..3 {
            scope.spawn(move || write(thread));
        }
    });
    engine.verify_at_rest().unwrap();
    assert_eq!(engine.len(Db(0)), names.len() as u64);
}
