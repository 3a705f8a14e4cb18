//! Leases against one writer, in the engine's own code under shuttle: the bytes of a lease stay as
//! they were while its key is overwritten, changed in part, becomes another one, is removed and flushed, and
//! blocks of its size are taken.
//!
//! The control frees leased blocks and changes them, and must fail. See `tests/README.md` for how to run this.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::{Fault, quietly};
use dolium_engine::{Db, Session};
use models::history::Step::*;
use models::history::{History, NOW, Step};
use models::run::{check, must_fail};
use models::scene::{engine, prepare};

const A: Db = Db(0);
const KEYS: [&str; 2] = ["one", "two"];
const TURNS: usize = 2;

fn steps() -> Vec<Step> {
    // Blocks of one size: what is freed too early is filled again at once.
    vec![
        Put(A, "one", 40),
        Put(A, "two", 40),
        Put(A, "one", 40),
        Remove(A, "two"),
        Part(A, "one", 41),
        Flush(A),
        Put(A, "two", 40),
        Part(A, "two", 40),
        Put(A, "one", 40),
        Part(A, "one", 41),
        Carry((A, "one"), (A, "two")),
        Part(A, "two", 41),
        Put(A, "one", 40),
    ]
}

/// Leases both keys, and looks at the bytes again after others have run. The second lease is made
/// while the first lasts, and ends before it.
fn lease(session: &Session, history: &History, floor: &mut usize) {
    let mut leases = Vec::new();
    for name in KEYS {
        let key = session.engine().key(name.as_bytes());
        *floor = history.done().max(*floor);
        let leased = session.lease(A, &key, NOW);
        let held = leased.as_ref().map(|(found, lease)| (lease.bytes().to_vec(), found.deadline));
        *floor = history.moment_of(*floor, &[((A.0, name), held)]);
        leases.extend(leased.map(|(_, lease)| (lease.bytes().to_vec(), lease)));
    }
    while let Some((bytes, lease)) = leases.pop() {
        shuttle::thread::yield_now();
        assert_eq!(lease.bytes(), bytes, "leased bytes have changed");
    }
}

fn play() {
    let before = [Put(A, "one", 40), Put(A, "two", 40)];
    let (engine, history, sessions) = quietly(|| {
        let engine = engine();
        prepare(&engine, &before);
        let history = History::new(&before, steps());
        let sessions: Vec<_> = (0..3).map(|_| engine.session().expect("a slot")).collect();
        (engine, history, sessions)
    });
    let tasks: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(number, session)| {
            let history = history.clone();
            let first = before.len();
            shuttle::thread::spawn(move || {
                match number {
                    0 => history.make(&session, first),
                    _ => {
                        let mut floor = 0;
                        (0..TURNS).for_each(|_| lease(&session, &history, &mut floor));
                    }
                }
                quietly(|| drop(session));
            })
        })
        .collect();
    for task in tasks {
        task.join().expect("a task");
    }
    quietly(|| {
        engine.verify().expect("a sound index");
        drop(engine);
    });
}

#[test]
fn leased_bytes_stay_as_they_are() {
    check(play);
}

#[test]
fn control_with_leased_blocks_freed_the_bytes_change() {
    must_fail(Fault::Leased, play);
}
