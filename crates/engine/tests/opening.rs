//! A database's first write beside those that lock everything: FLUSHDB, SWAPDB, transactions, readers of changes.
//!
//! A database that nobody has written to has no shards that could be locked. While everything is locked, none
//! is opened: whoever writes first waits, and his change comes behind what was done meanwhile.

use dolium_engine::*;
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

const NEW: Db = Db(3);
/// Long enough for a thread that does not wait to have written.
const MOMENT: Duration = Duration::from_millis(100);
const STORES: usize = if cfg!(miri) { 3 } else { 300 };
/// Within this time a thread that nobody holds up is through; Miri takes minutes for it.
const SURELY: Duration = Duration::from_secs(if cfg!(miri) { 3_600 } else { 30 });

fn engine() -> Arc<Engine> {
    let options = EngineOptions { shards: 16, databases: 4, ..EngineOptions::default() };
    Engine::create(options).expect("an arena")
}

fn set(engine: &Engine, session: &Session, db: Db, name: &str) {
    let key = engine.key(name.as_bytes());
    let put = Put::plain(Value::Bytes(b"x"));
    session.write(db, &key, 1).put(db, &key, &put).expect("memory");
}

/// Writes the first key of a database on a thread of its own; says when that is done.
fn first_write(engine: &Arc<Engine>) -> mpsc::Receiver<()> {
    let (done, is_done) = mpsc::channel();
    let engine = engine.clone();
    std::thread::spawn(move || {
        let session = engine.session().expect("a slot");
        set(&engine, &session, NEW, "first");
        done.send(()).expect("somebody listens");
    });
    is_done
}

/// The first key of a database was written while FLUSHDB of it held all locks that there were. The key
/// stayed, and stood in the stream of changes in front of the flush: a replica would have lost it.
#[test]
fn a_first_write_comes_behind_the_flush_that_holds_everything() {
    let engine = engine();
    let session = engine.session().unwrap();
    set(&engine, &session, Db(0), "other");
    let mut changes = engine.changes(Delivery::Lossless).expect("memory");
    let mut guard = session.write_all(1);
    let is_done = first_write(&engine);
    assert!(is_done.recv_timeout(MOMENT).is_err(), "a database was opened under all locks");
    guard.flush(NEW);
    drop(guard);
    is_done.recv_timeout(SURELY).expect("the writer goes on");
    let mut seen = Vec::new();
    while let Next::Change(change) = changes.next() {
        seen.push((change.db, change.effect == Effect::FlushDb));
    }
    assert_eq!(seen, [(NEW, true), (NEW, false)]);
    assert_eq!(engine.len(NEW), 1);
    engine.verify_at_rest().unwrap();
}

#[test]
fn a_transaction_of_everything_lets_nobody_open_a_database_until_it_ends() {
    let engine = engine();
    let session = engine.session().unwrap();
    set(&engine, &session, Db(0), "other");
    session.begin_transaction(None, 1);
    let is_done = first_write(&engine);
    assert!(is_done.recv_timeout(MOMENT).is_err(), "a database was opened under all locks");
    session.write_all(1).swap(Db(0), NEW);
    session.end_transaction();
    is_done.recv_timeout(SURELY).expect("the writer goes on");
    // What was database 0 has both keys now.
    assert_eq!((engine.len(Db(0)), engine.len(NEW)), (0, 2));
    engine.verify_at_rest().unwrap();
}

/// Who locks several keys and finds that their databases were swapped meanwhile opened the other one with
/// shards in hand, and somebody who wanted everything locked waited for these and let nobody open.
#[test]
fn swaps_first_writes_and_all_locks_do_not_wait_for_each_other() {
    // A database is opened once, so that each store gives this few chances.
    for _ in 0..STORES {
        let engine = engine();
        let (done, is_done) = mpsc::channel();
        let begin = Arc::new(Barrier::new(3));
        for thread in 0..3 {
            let (engine, done, begin) = (engine.clone(), done.clone(), begin.clone());
            std::thread::spawn(move || {
                let session = engine.session().expect("a slot");
                begin.wait();
                for turn in 0..20u16 {
                    let (a, b) = (Db(turn % 4), Db(turn / 4 % 4));
                    match thread {
                        0 => session.write_all(1).swap(a, b),
                        1 => drop(session.write_all(1)),
                        _ => {
                            let keys = [(a, engine.key(b"k").hash()), (b, engine.key(b"l").hash())];
                            drop(session.write_many(&keys, 1));
                        }
                    }
                }
                done.send(()).expect("somebody listens");
            });
        }
        for _ in 0..3 {
            is_done.recv_timeout(SURELY).expect("none waits for ever");
        }
        engine.verify_at_rest().unwrap();
    }
}

/// CONFIG SET notify-keyspace-events between MULTI and EXEC asked for a reader of changes, which locked
/// everything, by the thread that held it all: the server answered nobody any more.
#[test]
fn a_transaction_may_ask_for_changes_that_may_be_lost() {
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        let engine = engine();
        let session = engine.session().unwrap();
        let hash = engine.key(b"mine").hash();
        for keys in [None, Some(&[(Db(0), hash)][..])] {
            set(&engine, &session, Db(0), "other");
            session.begin_transaction(keys, 1);
            let mut changes = engine.changes(Delivery::Lossy).expect("memory");
            set(&engine, &session, Db(0), "mine");
            session.end_transaction();
            let Next::Change(change) = changes.next() else { panic!("the change is not there") };
            assert_eq!((change.key.as_slice(), changes.next()), (&b"mine"[..], Next::Empty));
        }
        done.send(()).expect("somebody listens");
    });
    is_done.recv_timeout(SURELY).expect("nobody waits for what he holds");
}
