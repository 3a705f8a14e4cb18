//! Large items leave in the order in which they came, whatever has become of their blocks meanwhile:
//! docs/memcached.md promises it. Who went, and in which order, is told by the engine itself.

// Megabytes are written in all of these: hours, for an interpreter.
#![cfg(not(miri))]

use dolium_engine::alloc::BLOCK_MAX;
use dolium_engine::*;
use std::cell::Cell;
use std::sync::{Arc, Mutex};

const DB: Db = Db(0);
const NOW: Millis = 1_000;
/// A deadline that no test reaches.
const FAR: Millis = 1 << 40;
const SHARDS: u32 = 64;

/// Two fill an extent of 2 MiB.
const MEGABYTE: usize = (1 << 20) - 250;
const HUNDRED_KB: usize = 100_000;

struct Store {
    engine: Arc<Engine>,
    session: Session,
    gone: Arc<Mutex<Vec<String>>>,
    /// How many items were stored to drive others out.
    new: Cell<u64>,
}

impl Store {
    fn new(max_bytes: u64) -> Store {
        let options = EngineOptions {
            max_bytes: 1 << 30,
            shards: SHARDS,
            policy: Policy::AllKeysLru,
            ..EngineOptions::default()
        };
        let engine = Engine::create(options).expect("an arena");
        engine.set_max_memory(max_bytes);
        let gone = Arc::new(Mutex::new(Vec::new()));
        let told = gone.clone();
        engine.on_departure(move |departure| {
            let name = String::from_utf8_lossy(departure.key).into_owned();
            told.lock().expect("no holder panics").push(name);
        });
        let session = engine.session().expect("a slot");
        Store { engine, session, gone, new: Cell::new(0) }
    }

    fn put(&self, name: &str, bytes: usize) {
        self.put_until(name, bytes, Deadline::Never);
    }

    fn put_until(&self, name: &str, bytes: usize, deadline: Deadline) {
        let key = self.engine.key(name.as_bytes());
        let value = vec![7; bytes];
        let put = Put { deadline, ..Put::plain(Value::Bytes(&value)) };
        self.session.make_room(name.len() + bytes, NOW).expect("room is made");
        self.session.write(DB, &key, NOW).put(DB, &key, &put).expect("memory");
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Guard<'_>, &Key<'_>)) {
        let key = self.engine.key(name.as_bytes());
        change(&mut self.session.write(DB, &key, NOW), &key);
    }

    fn gone(&self) -> Vec<String> {
        self.gone.lock().expect("no holder panics").clone()
    }

    /// The first so many items that go while new ones are stored.
    fn first_gone(&self, count: usize, bytes: usize) -> Vec<String> {
        assert!(self.gone().is_empty(), "before the store was full went {:?}", self.gone());
        while self.gone().len() < count {
            self.new.set(self.new.get() + 1);
            assert!(self.new.get() < 1_000, "of a store that is long full went {:?}", self.gone());
            self.put(&format!("new {}", self.new.get()), bytes);
        }
        assert_eq!(self.engine.verify_at_rest(), Ok(()));
        self.gone()[..count].to_vec()
    }
}

/// The lowest free block is taken first, so that an item stored anew lies elsewhere, and stored anew
/// once more lies where it lay at first. Its first entry in the order was then found true again, and
/// it went before items that were older.
#[test]
fn an_item_stored_anew_is_the_newest_wherever_it_lies() {
    for anew in 1..=4 {
        let store = Store::new(32 << 20);
        for number in 0..10 {
            store.put(&format!("k{number}"), MEGABYTE);
        }
        for _ in 0..anew {
            store.put("k0", MEGABYTE);
        }
        let order = ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k0"];
        assert_eq!(store.first_gone(10, MEGABYTE), order, "k0 was stored anew {anew} times");
    }
}

/// A bitmap that was written all the time kept its first place in the order, and went first.
#[test]
fn an_item_changed_in_place_is_the_newest() {
    let store = Store::new(32 << 20);
    for number in 0..10 {
        store.put(&format!("k{number}"), MEGABYTE);
    }
    let key = store.engine.key(b"k0");
    let part = Patch { at: 5, bytes: b"x" };
    assert!(store.session.write(DB, &key, NOW).store_part(DB, &key, Event::SetBit, &part));
    let order = ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k0"];
    assert_eq!(store.first_gone(10, MEGABYTE), order);
}

/// As one that was stored at the new key, and was removed at the old one.
#[test]
fn an_item_that_gets_another_key_is_the_newest() {
    let store = Store::new(32 << 20);
    for number in 0..9 {
        store.put(&format!("k{number}"), MEGABYTE);
    }
    let [from, to] = [&b"k0"[..], b"renamed"].map(|name| store.engine.key(name));
    let mut guard = store.session.write_many(&[(DB, from.hash()), (DB, to.hash())], NOW);
    let events = [Event::RenameFrom, Event::RenameTo];
    assert_eq!(guard.carry((DB, &from), (DB, &to), events), Ok(true));
    drop(guard);
    store.put("k9", MEGABYTE);
    let order = ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "renamed", "k9"];
    assert_eq!(store.first_gone(10, MEGABYTE), order);
}

type Rewrite = fn(&mut Guard<'_>, &Key<'_>);

fn expire(guard: &mut Guard<'_>, key: &Key<'_>) {
    assert_eq!(guard.set_deadline(DB, key, FAR, Event::Expire), Ok(true));
}

fn persist(guard: &mut Guard<'_>, key: &Key<'_>) {
    assert_eq!(guard.set_deadline(DB, key, NEVER, Event::Persist), Ok(true));
}

fn gets(guard: &mut Guard<'_>, key: &Key<'_>) {
    assert!(guard.unique(DB, key).expect("memory") > 0);
}

fn renew_unique(guard: &mut Guard<'_>, key: &Key<'_>) {
    assert!(guard.renew_unique(DB, key).expect("memory") > 0);
}

/// The first deadline, or the first CAS unique, takes a block with room for it. The item had no entry in
/// the order from then on, and younger ones went first.
#[test]
fn an_item_whose_value_stays_keeps_its_place() {
    let changes: [(&str, Deadline, Rewrite); 4] = [
        ("the first EXPIRE", Deadline::Never, expire as Rewrite),
        ("PERSIST", Deadline::At(FAR), persist as Rewrite),
        ("the first gets", Deadline::Never, gets as Rewrite),
        ("a new CAS unique", Deadline::Never, renew_unique as Rewrite),
    ];
    for (what, deadline, change) in changes {
        let store = Store::new(24 << 20);
        store.put("first", HUNDRED_KB);
        store.put_until("changed", HUNDRED_KB, deadline);
        store.put("third", HUNDRED_KB);
        store.put("fourth", HUNDRED_KB);
        store.change("changed", change);
        let order = ["first", "changed", "third", "fourth"];
        assert_eq!(store.first_gone(4, HUNDRED_KB), order, "after {what}");
    }
}

/// What lay in a page takes units of its own with a deadline, and is large from then on.
#[test]
fn an_item_that_becomes_large_by_its_deadline_came_when_it_did() {
    let store = Store::new(24 << 20);
    // A header of 8 bytes, the key's room, and 4 to spare: a deadline takes 8.
    let fitting = BLOCK_MAX - KEY_ROOM - 8 - 4;
    store.put("grown", fitting);
    store.put("first", HUNDRED_KB);
    store.put("second", HUNDRED_KB);
    store.change("grown", expire);
    store.put("fourth", HUNDRED_KB);
    let order = ["first", "second", "grown", "fourth"];
    assert_eq!(store.first_gone(4, HUNDRED_KB), order);
}

/// An item whose shard another session had locked at that moment went behind the newest.
#[test]
fn an_item_whose_shard_is_busy_is_the_next_to_go() {
    let store = Store::new(32 << 20);
    let busy = store.engine.key(b"busy");
    let shard = |hash: u64| hash >> (u64::BITS - SHARDS.trailing_zeros());
    let mut apart = (0..).map(|number| format!("k{number}")).filter(|name| {
        let key = store.engine.key(name.as_bytes());
        shard(key.hash()) != shard(busy.hash())
    });
    store.put("busy", MEGABYTE);
    let second = apart.next().expect("there is no end of names");
    store.put(&second, MEGABYTE);
    let other = store.engine.session().expect("a slot");
    let held = other.write(DB, &busy, NOW);
    while store.gone().is_empty() {
        store.put(&apart.next().expect("there is no end of names"), MEGABYTE);
    }
    drop(held);
    let went = store.gone();
    assert_eq!(went[0], second);
    assert!(!went.contains(&"busy".to_string()), "under its lock went {went:?}");
    while store.gone().len() == went.len() {
        store.put(&apart.next().expect("there is no end of names"), MEGABYTE);
    }
    assert_eq!(store.gone()[went.len()], "busy");
}
