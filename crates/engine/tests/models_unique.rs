//! Collections that have a CAS unique, changed in place while others read both without a lock.
//!
//! The control leaves the mark out by which a reader notices a change in place, and must fail.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::{Fault, quietly};
use dolium_engine::*;
use models::history::NOW;
use models::run::{check, must_fail};
use models::scene::engine;

const DB: Db = Db(0);

/// A list that has a CAS unique is changed in place: whoever reads both sees them of one moment.
fn counted() {
    const BYTES: usize = 16;
    let (engine, sessions) = quietly(|| {
        let engine = engine();
        let sessions: Vec<_> = (0..3).map(|_| engine.session().expect("a slot")).collect();
        let key = engine.key(b"list");
        let value = Value::Packed(Kind::List, Encoding::Quicklist, &[0; BYTES]);
        let mut guard = sessions[0].write(DB, &key, NOW);
        guard.put(DB, &key, &Put::plain(value)).expect("memory");
        guard.unique(DB, &key).expect("memory");
        drop(guard);
        (engine, sessions)
    });
    let look = |session: &Session| {
        let key = session.engine().key(b"list");
        let mut bytes = Vec::new();
        let found = session.inspect(DB, &key, NOW, |shown| {
            bytes.clear();
            shown.expect("it is always there").1.copy(0, BYTES, &mut bytes);
        });
        (found.expect("it is always there").unique, bytes)
    };
    let mut sessions = sessions.into_iter();
    let writer = sessions.next().expect("three");
    let first = quietly(|| look(&writer));
    let writer = shuttle::thread::spawn(move || {
        let mut written = vec![first];
        for turn in 1..4 {
            let key = writer.engine().key(b"list");
            let bytes = [turn; BYTES];
            let mut guard = writer.write(DB, &key, NOW);
            let halves = [0, BYTES / 2].map(|at| Patch { at, bytes: &bytes[..BYTES / 2] });
            assert!(guard.patch(DB, &key, Event::LSet, &halves));
            let unique = guard.find(DB, &key).expect("it is always there").unique;
            written.push((unique, bytes.to_vec()));
        }
        quietly(|| drop(writer));
        written
    });
    let readers: Vec<_> = sessions
        .map(|session| {
            shuttle::thread::spawn(move || {
                let seen: Vec<_> = (0..3).map(|_| look(&session)).collect();
                quietly(|| drop(session));
                seen
            })
        })
        .collect();
    let written = writer.join().expect("the writer");
    for reader in readers {
        for seen in reader.join().expect("a reader") {
            assert!(written.contains(&seen), "{seen:?} never was, of {written:?}");
        }
    }
    quietly(|| drop(engine));
}

#[test]
fn a_unique_is_seen_with_the_bytes_of_its_moment() {
    check(counted);
}

#[test]
fn control_without_the_mark_a_unique_is_seen_with_others_bytes() {
    must_fail(Fault::Several, counted);
}
