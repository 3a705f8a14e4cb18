//! Two writers, the change stream and a cut, in the engine's own code under shuttle.
//!
//! Writers have keys of their own, in the same lines. A reader of changes replays them; a cut is
//! compared with what the changes before its position add up to.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::{quietly, yield_now};
use dolium_engine::*;
use models::history::Step::*;
use models::history::{Contents, Step, imagine, make};
use models::run::check;
use models::scene::{engine, prepare};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

const A: Db = Db(0);
const B: Db = Db(1);

/// A sink that never makes a writer wait, and gives other tasks no chance to run.
#[derive(Debug, Default)]
struct Heap(Mutex<Vec<CutItem>>);

impl CutSink for Heap {
    fn preserve(&self, item: CutItem) {
        self.0.lock().expect("one task at a time").push(item);
    }
}

type Store = std::collections::BTreeMap<(u16, Vec<u8>), (Vec<u8>, Millis)>;

fn apply(store: &mut Store, change: &Change) {
    let place = (change.db.0, change.key.clone());
    match &change.effect {
        Effect::Put { value, deadline, .. } => {
            store.insert(place, (value.clone(), *deadline));
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
        Effect::Remove => assert!(store.remove(&place).is_some(), "what is removed was there"),
        Effect::FlushDb => store.retain(|(db, _), _| *db != change.db.0),
        Effect::SwapDb(other) => {
            let (a, b) = (change.db.0, other.0);
            *store = std::mem::take(store)
                .into_iter()
                .map(|((db, key), held)| {
                    let db = if db == a {
                        b
                    } else if db == b {
                        a
                    } else {
                        db
                    };
                    ((db, key), held)
                })
                .collect();
        }
    }
}

fn owned(contents: &Contents) -> Store {
    contents
        .iter()
        .map(|((db, key), held)| ((*db, key.as_bytes().to_vec()), held.clone()))
        .collect()
}

fn everything(session: &Session, names: &[&'static str]) -> Store {
    let mut store = Store::new();
    for db in [A, B] {
        for name in names {
            let mut out = Vec::new();
            let key = session.engine().key(name.as_bytes());
            if let Some(found) = session.get(db, &key, 1_000, &mut out, |_, _| {}) {
                store.insert((db.0, name.as_bytes().to_vec()), (out, found.deadline));
            }
        }
    }
    store
}

const NAMES: [&str; 5] = ["one", "two", "six", "n", "stays"];

fn before() -> Vec<Step> {
    vec![Put(A, "one", 30), Put(A, "stays", 30), Int(A, "n", 1), Put(B, "one", 30)]
}

fn writers() -> [Vec<Step>; 2] {
    [
        vec![Put(A, "one", 30), Int(A, "n", 2), Remove(A, "one"), Flush(B), Int(A, "n", 3)],
        vec![Put(A, "two", 30), Swap(A, B), Put(B, "two", 30), Deadline(B, "two", 9_000)],
    ]
}

/// Strings that change where they stand, one of them to its block's end, beside keys that come and go.
fn writers_of_parts() -> [Vec<Step>; 2] {
    [
        vec![Part(A, "one", 30), Part(A, "one", 33), Remove(A, "one"), Put(A, "one", 30)],
        vec![Part(A, "two", 30), Part(A, "two", 32), Part(A, "stays", 31), Part(A, "two", 32)],
    ]
}

/// Running writers.
struct Tasks {
    tasks: Vec<shuttle::thread::JoinHandle<()>>,
    /// How many of them are not done: a plain counter, no scheduling point.
    left: Arc<AtomicUsize>,
}

impl Tasks {
    fn are_done(&self) -> bool {
        self.left.load(SeqCst) == 0
    }
}

/// Starts a task for each list of steps. Their numbers never meet.
fn start(engine: &Arc<Engine>, lists: [Vec<Step>; 2]) -> Tasks {
    let left = Arc::new(AtomicUsize::new(lists.len()));
    let sessions = quietly(|| [0, 1].map(|_| engine.session().expect("a slot")));
    let tasks = sessions
        .into_iter()
        .zip(lists)
        .enumerate()
        .map(|(task, (session, steps))| {
            let left = left.clone();
            shuttle::thread::spawn(move || {
                for (number, step) in steps.iter().enumerate() {
                    make(&session, step, 100 * (task + 1) + number);
                }
                quietly(|| drop(session));
                left.fetch_sub(1, SeqCst);
            })
        })
        .collect();
    Tasks { tasks, left }
}

fn finish(engine: Arc<Engine>, tasks: Tasks) {
    for task in tasks.tasks {
        task.join().expect("a task");
    }
    quietly(|| {
        engine.verify().expect("a sound index");
        drop(engine);
    });
}

fn initial() -> Store {
    let mut contents = Contents::new();
    for (number, step) in before().iter().enumerate() {
        imagine(&mut contents, step, number);
    }
    owned(&contents)
}

/// Reads changes until there will be no more.
fn follow(reader: &mut ChangeReader, tasks: &Tasks) -> Vec<Change> {
    let mut changes = Vec::new();
    loop {
        let last = tasks.are_done();
        match reader.next() {
            Next::Change(change) => changes.push(change),
            Next::Lost(bytes) => panic!("{bytes} bytes lost, of a ring that is large enough"),
            Next::Empty if last => return changes,
            Next::Empty => yield_now(),
        }
    }
}

fn stream(delivery: Delivery, lists: [Vec<Step>; 2]) {
    let (engine, mut reader, session) = quietly(|| {
        let engine = engine();
        prepare(&engine, &before());
        let reader = engine.changes(delivery).expect("memory");
        let session = engine.session().expect("a slot");
        (engine, reader, session)
    });
    let tasks = start(&engine, lists);
    let changes = follow(&mut reader, &tasks);
    quietly(|| {
        let mut store = initial();
        let mut position = 0;
        for change in &changes {
            assert!(change.position >= position, "positions grow");
            position = change.position + 1;
            apply(&mut store, change);
        }
        assert_eq!(store, everything(&session, &NAMES), "after {changes:?}");
        drop((reader, session));
    });
    finish(engine, tasks);
}

#[test]
fn changes_add_up_to_the_store() {
    check(|| stream(Delivery::Lossy, writers()));
}

#[test]
fn changes_for_a_reader_that_is_waited_for_add_up_to_the_store() {
    check(|| stream(Delivery::Lossless, writers()));
}

#[test]
fn changes_in_place_add_up_to_the_store() {
    check(|| stream(Delivery::Lossy, writers_of_parts()));
}

/// One reader wants names, and another begins to want values while changes are made: it has exactly those
/// from its beginning on, with their values, whatever stands in the ring before it.
fn late_values(delivery: Delivery) {
    let (engine, mut names, session) = quietly(|| {
        let engine = engine();
        prepare(&engine, &before());
        let names = engine.names_of_changes(Delivery::Lossy).expect("memory");
        let session = engine.session().expect("a slot");
        (engine, names, session)
    });
    let tasks = start(&engine, writers());
    yield_now();
    let mut values = engine.changes(delivery).expect("memory");
    let begins = values.position();
    let changes = follow(&mut values, &tasks);
    let named = follow(&mut names, &tasks);
    quietly(|| {
        let place = |change: &Change| (change.position, change.db, change.key.clone());
        let mut later = named.iter().filter(|change| change.position >= begins).map(place);
        match delivery {
            Delivery::Lossless => {
                assert!(later.eq(changes.iter().map(place)), "{named:?} and {changes:?}");
            }
            // It does without those that were being made when it began.
            Delivery::Lossy => {
                let is_there = |change| later.any(|one| one == place(change));
                assert!(changes.iter().all(is_there), "{named:?} and {changes:?}");
            }
        }
        let mut last = std::collections::HashMap::new();
        for change in &changes {
            match &change.effect {
                Effect::Put { value, .. } => {
                    assert!(!value.is_empty(), "{change:?}");
                    last.insert((change.db.0, change.key.clone()), value.clone());
                }
                Effect::SwapDb(_) | Effect::FlushDb => last.clear(),
                Effect::Remove => {
                    last.remove(&(change.db.0, change.key.clone()));
                }
                _ => {}
            }
        }
        let store = everything(&session, &NAMES);
        for (place, value) in last {
            assert_eq!(store.get(&place).map(|held| &held.0), Some(&value), "{changes:?}");
        }
        drop((names, values, session));
    });
    finish(engine, tasks);
}

#[test]
fn who_wants_values_begins_behind_changes_without_them() {
    check(|| late_values(Delivery::Lossless));
}

#[test]
fn who_wants_values_and_may_lose_some_is_shown_none_without_its_value() {
    check(|| late_values(Delivery::Lossy));
}

/// Values that take the ring's 4 KiB several times over.
fn long_writers() -> [Vec<Step>; 2] {
    [
        vec![Put(A, "one", 900), Put(A, "one", 2000), Put(A, "six", 700), Put(A, "one", 500)],
        vec![Put(A, "two", 800), Put(A, "two", 1500), Remove(A, "two"), Put(A, "two", 300)],
    ]
}

#[test]
fn writers_wait_for_a_reader_that_must_not_lose_anything() {
    check(|| {
        let (engine, mut reader, session) = quietly(|| {
            let engine = engine();
            let reader = engine.changes(Delivery::Lossless).expect("memory");
            let session = engine.session().expect("a slot");
            (engine, reader, session)
        });
        let tasks = start(&engine, long_writers());
        let changes = follow(&mut reader, &tasks);
        quietly(|| {
            let mut store = Store::new();
            changes.iter().for_each(|change| apply(&mut store, change));
            assert_eq!(changes.len(), 8);
            assert_eq!(store, everything(&session, &NAMES));
            drop((reader, session));
        });
        finish(engine, tasks);
    });
}

#[test]
fn a_reader_that_is_overrun_knows_it_and_reads_nothing_torn() {
    check(|| {
        let (engine, mut reader) = quietly(|| {
            let engine = engine();
            let reader = engine.changes(Delivery::Lossy).expect("memory");
            (engine, reader)
        });
        let tasks = start(&engine, long_writers());
        let mut position = 0;
        loop {
            let last = tasks.are_done();
            match reader.next() {
                Next::Change(Change {
                    key,
                    effect: Effect::Put { value, .. },
                    position: p,
                    ..
                }) => {
                    assert!(p >= position, "positions grow");
                    position = p;
                    // A value names its key, its store and no other.
                    let unit = value.split_inclusive(|&byte| byte == b';').next().expect("a unit");
                    assert!(unit.starts_with(&key), "of another key");
                    let whole = unit.iter().cycle().take(value.len());
                    assert!(whole.eq(value.iter()), "torn: {:?}", String::from_utf8_lossy(&value));
                }
                Next::Change(_) => {}
                Next::Lost(bytes) => assert!(bytes > 0),
                Next::Empty if last => break,
                Next::Empty => yield_now(),
            }
        }
        quietly(|| drop(reader));
        finish(engine, tasks);
    });
}

/// A cut, walked while two writers write, is what the changes before its position add up to.
fn cut_against(before: Vec<Step>, lists: [Vec<Step>; 2]) {
    let (engine, mut reader, sink, session) = quietly(|| {
        let engine = engine();
        prepare(&engine, &before);
        let reader = engine.changes(Delivery::Lossy).expect("memory");
        let session = engine.session().expect("a slot");
        (engine, reader, Arc::new(Heap::default()), session)
    });
    let tasks = start(&engine, lists);
    let mut cut = engine.begin_cut(sink.clone()).expect("no other runs");
    let mut items = Vec::new();
    let turns = std::cell::Cell::new(0);
    loop {
        match cut.step(&mut items) {
            CutStep::More => {}
            CutStep::Busy => yield_now(),
            CutStep::Done => break,
        }
        // What FLUSHDB left behind is given back meanwhile.
        session.maintain(1_000, 3, &|| turns.replace(turns.get() + 1) % 4);
        session.empty_pages_in_use(1_000);
    }
    let position = cut.position();
    drop(cut);
    items.append(&mut sink.0.lock().expect("one task at a time"));
    let changes = follow(&mut reader, &tasks);
    quietly(|| {
        let mut contents = Contents::new();
        for (number, step) in before.iter().enumerate() {
            imagine(&mut contents, step, number);
        }
        let mut store = owned(&contents);
        for change in changes.iter().filter(|change| change.position < position) {
            apply(&mut store, change);
        }
        let count = items.len();
        let seen: Store = items
            .drain(..)
            .map(|item| ((item.db.0, item.key), (item.value, item.deadline)))
            .collect();
        assert_eq!(seen, store, "at {position} of {changes:?}");
        assert_eq!(count, seen.len(), "a line was handed over twice");
        drop((reader, session));
    });
    finish(engine, tasks);
}

#[test]
fn a_cut_is_the_store_as_of_its_moment() {
    check(|| cut_against(before(), writers()));
}

#[test]
fn a_cut_has_strings_as_they_were_before_they_changed_in_place() {
    check(|| cut_against(before(), writers_of_parts()));
}

#[test]
fn a_cut_has_a_value_at_the_key_that_it_had() {
    check(|| {
        let lists = [
            vec![Carry((A, "one"), (A, "six")), Put(A, "one", 30), Carry((B, "one"), (A, "one"))],
            vec![Put(A, "two", 30), Swap(A, B), Put(B, "two", 30)],
        ];
        cut_against(before(), lists);
    });
}

#[test]
fn a_cut_survives_flushes_of_what_it_has_not_read() {
    check(|| {
        let lists = [
            vec![Put(A, "one", 30), Flush(A), Put(A, "one", 30), Flush(A)],
            vec![Put(A, "two", 30), Remove(A, "two"), Swap(A, B), Put(A, "six", 30)],
        ];
        cut_against(before(), lists);
    });
}
