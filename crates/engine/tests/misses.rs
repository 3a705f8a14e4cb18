//! What eviction keeps, told by what is missed: by counters that are written all the time, and by reads of values of
//! some kilobytes.
//!
//! All is decided by a generator of fixed seed, so that the figures are the same on each run; the bounds leave room
//! for changes that have reasons.

// Hundreds of megabytes are written: hours, for an interpreter.
#![cfg(not(miri))]

use dolium_engine::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const DB: Db = Db(0);
const NOW: Millis = 1_000;
const LIMIT: u64 = 64 << 20;
const COUNTERS: u64 = 320;

struct Random(u64);
impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

struct Store {
    engine: Arc<Engine>,
    session: Session,
    bytes: Vec<u8>,
}

impl Store {
    fn new() -> Store {
        Store::of(LIMIT, EngineOptions::default().shards)
    }

    fn of(limit: u64, shards: u32) -> Store {
        let (max_bytes, policy) = (1 << 30, Policy::AllKeysLru);
        let options = EngineOptions { max_bytes, policy, shards, ..Default::default() };
        let engine = Engine::create(options).expect("an arena");
        engine.set_max_memory(limit);
        let session = engine.session().expect("a slot");
        Store { engine, session, bytes: vec![7; 1 << 20] }
    }

    fn put(&self, name: &str, value: Value<'_>, bytes: usize) {
        let key = self.engine.key(name.as_bytes());
        self.session.make_room(name.len() + bytes, NOW).expect("something may go");
        self.session.write(DB, &key, NOW).put(DB, &key, &Put::plain(value)).expect("room");
    }

    fn set(&self, name: &str, bytes: u64) {
        self.put(name, Value::Bytes(&self.bytes[..bytes as usize]), bytes as usize);
    }

    fn get(&self, name: &str) -> bool {
        let key = self.engine.key(name.as_bytes());
        self.session.get(DB, &key, NOW, &mut Vec::new(), |_, _| ()).is_some()
    }

    /// Whether the counter was there.
    fn increment(&self, name: &str) -> bool {
        let key = self.engine.key(name.as_bytes());
        let found = self.session.write(DB, &key, NOW).int(DB, &key);
        self.put(name, Value::Int(found.unwrap_or(0) + 1), 8);
        found.is_some()
    }
}

/// Of a hundred increments of counters, how many find theirs gone, where most else is read once, just when it came.
fn counters_anew(large_one_in: Option<u64>) -> f64 {
    let (store, mut random) = (Store::new(), Random(88_172_645_463_325_252));
    let (mut anew, mut increments) = (0, 0);
    let mut is_known = vec![false; COUNTERS as usize];
    for number in 0..150_000 {
        let size = match large_one_in {
            Some(n) if random.below(n) == 0 => 10_000 + random.below(900_000),
            _ => 1 + random.below(4_000),
        };
        let name = format!("item {number}");
        match random.below(14) {
            0..=4 => {
                store.set(&name, size);
                assert!(store.get(&name), "{name} was just stored");
            }
            5 | 6 => (0..4).for_each(|more| store.set(&name, size + more * 1_000)),
            7 | 8 => (0..8).for_each(|_| _ = store.increment(&name)),
            9 | 10 => {
                let counter = random.below(COUNTERS);
                let was_there = store.increment(&format!("counter {counter}"));
                let is_known = &mut is_known[counter as usize];
                if std::mem::replace(is_known, true) && number > 30_000 {
                    increments += 1;
                    anew += u64::from(!was_there);
                }
            }
            11 | 12 => {
                let names: Vec<_> = (0..10).map(|part| format!("{name}: {part}")).collect();
                names.iter().for_each(|name| store.set(name, 1 + random.below(4_000)));
                names.iter().for_each(|name| _ = store.get(name));
            }
            _ => store.set(&name, size),
        }
    }
    assert!(increments > 15_000, "{increments}");
    assert_eq!(store.engine.verify_at_rest(), Ok(()));
    100.0 * anew as f64 / increments as f64
}

/// What is read once, right when it came, counted as used on trial. So trials became long, and little time was left for
/// main, where the counters are. 12.7 of a hundred began anew; Redis' sample of five loses about 5.
#[test]
fn counters_stay_beside_what_is_read_once() {
    let anew = counters_anew(None);
    assert!(anew < 5.0, "{anew:.2} of a hundred");
}

/// For a large value a page went with all small items in it, and mostly there is no other page of a counter's size.
/// 49 of a hundred began anew; 9 while what was read once had all the time of main.
#[test]
fn counters_stay_beside_large_values() {
    let anew = counters_anew(Some(50));
    assert!(anew < 8.0, "{anew:.2} of a hundred");
}

/// What was read once went to main with all the time of main, just when the hand came by, and was younger there than
/// what had come since: of 5,100 new values beside as many that were read once before, 4,435 stayed. Of the same load
/// over the network Memcached's own suite wants 4,000, and 3,709 to 4,050 stayed.
#[test]
fn new_values_stay_beside_what_was_read_once_before() {
    // As many shards as a small Memcached has.
    let store = Store::of(57 << 20, 16);
    let names = |kind: &str| (0..5_100).map(|n| format!("{kind} {n}")).collect::<Vec<_>>();
    let (old, new) = (names("old"), names("new"));
    old.iter().for_each(|name| store.set(name, 11_000));
    let before = old.iter().filter(|name| store.get(name)).count();
    assert!(before > 4_500, "{before} of the old fit");
    new.iter().for_each(|name| store.set(name, 3_000));
    let stayed = new.iter().filter(|name| store.get(name)).count();
    assert!(stayed > 4_600, "{stayed} of {} stayed", new.len());
    assert_eq!(store.engine.verify_at_rest(), Ok(()));
}

/// Keys of the last uses, as many as may be.
struct Lru {
    most: usize,
    turn: u64,
    used: HashMap<u64, u64>,
    by_turn: BTreeMap<u64, u64>,
}

impl Lru {
    /// Whether the key was there; it is now.
    fn uses(&mut self, key: u64) -> bool {
        self.turn += 1;
        self.by_turn.insert(self.turn, key);
        let before = self.used.insert(key, self.turn);
        before.map(|turn| self.by_turn.remove(&turn));
        if self.used.len() > self.most
            && let Some((_, oldest)) = self.by_turn.pop_first()
        {
            self.used.remove(&oldest);
        }
        before.is_some()
    }
}

/// A shard has some dozens of such values. A generation was eight inserts at least, and with so few generations in
/// the life of an item old and young are hardly told apart: 95 were missed where LRU misses a hundred, and 92 with four.
#[test]
fn values_of_some_kilobytes_are_missed_less_than_by_lru() {
    let keys = 60_000;
    // Zipf's law with an exponent of 0.8.
    let mut sum = 0.0;
    let shares: Vec<f64> = (1..=keys)
        .map(|rank| {
            sum += f64::from(rank).powf(-0.8);
            sum
        })
        .collect();
    let (store, mut random) = (Store::new(), Random(88_172_645_463_325_252));
    let mut reads = Vec::new();
    for number in 0..300_000 {
        let place = random.below(1 << 40) as f64 / (1_u64 << 40) as f64 * sum;
        let key = shares.partition_point(|share| *share < place) as u64;
        let name = format!("key {key}");
        let is_hit = store.get(&name);
        if !is_hit {
            store.set(&name, 4_000 + key * 7_919 % 4_000);
        }
        reads.push((key, is_hit, number > 100_000));
    }
    let most = store.engine.item_count() as usize;
    let mut lru = Lru { most, turn: 0, used: HashMap::new(), by_turn: BTreeMap::new() };
    let (mut misses, mut of_lru) = (0, 0);
    for (key, is_hit, is_counted) in reads {
        let is_lru_hit = lru.uses(key);
        misses += u64::from(is_counted && !is_hit);
        of_lru += u64::from(is_counted && !is_lru_hit);
    }
    assert!(misses * 100 < of_lru * MOST_OF_LRU, "{misses} misses, LRU of {most} items {of_lru}");
}

/// Misses, as parts of a hundred of those of LRU.
const MOST_OF_LRU: u64 = 94;
