//! Two writers of keys of their own, beside one who empties every page.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::{Fault, quietly};
use dolium_engine::*;
use models::history::NOW;
use models::run::{check, must_fail};
use models::scene::{crowd, engine};
use std::collections::BTreeMap;
use std::sync::Arc;

const A: Db = Db(0);
type Left = BTreeMap<&'static str, Option<Vec<u8>>>;

/// Bytes of a value, and of one in five. An item of theirs is not so long that it could be leased here: those have no
/// block exchanged for theirs, and what is wrong with that would not be met.
const SHORT: usize = 12;
const LONG: usize = 13;

fn value(name: &str, turn: usize, len: usize) -> Vec<u8> {
    format!("{name}.{turn};").bytes().cycle().take(len).collect()
}

fn fetch(session: &Session, hash: u64) -> Fetch {
    let mut fetches = Vec::new();
    session.fetch_line(A, hash, &mut fetches);
    session.fetch_items(&mut fetches);
    fetches[0]
}

fn write(session: &Session, names: &'static [&'static str], left: &mut Left) {
    for (turn, name) in names.iter().cycle().take(2 * names.len()).enumerate() {
        let key = session.engine().key(name.as_bytes());
        let value = value(name, turn + 1, if turn % 5 == 4 { LONG } else { SHORT });
        match turn % 4 {
            0 => drop(session.set(A, &key, &value, NOW).expect("memory")),
            1 => {
                let fetch = fetch(session, key.hash());
                session.set_fetched(A, &key, &fetch, &value, NOW).expect("memory");
            }
            2 => {
                let put = Put { deadline: Deadline::At(9_000), ..Put::plain(Value::Bytes(&value)) };
                session.write(A, &key, NOW).put(A, &key, &put).expect("memory");
            }
            _ => {
                session.write(A, &key, NOW).remove(A, &key, Event::Del);
                left.insert(name, None);
                continue;
            }
        }
        left.insert(name, Some(value));
    }
}

fn play(first: &'static [&'static str], second: &'static [&'static str], before: usize) {
    let (engine, mut sessions, mut expected) = quietly(|| {
        let engine = engine();
        let session = engine.session().expect("a slot");
        let mut left = Left::new();
        for name in &crowd()[..before] {
            let key = engine.key(name.as_bytes());
            let value = value(name, 0, SHORT);
            session.write(A, &key, NOW).put(A, &key, &Put::plain(Value::Bytes(&value))).unwrap();
            left.insert(name, Some(value));
        }
        let sessions: Vec<_> = (0..2).map(|_| engine.session().expect("a slot")).collect();
        (engine, sessions.into_iter().chain([session]).collect::<Vec<_>>(), left)
    });
    let mover = sessions.pop().expect("three");
    let writers: Vec<_> = sessions
        .into_iter()
        .zip([first, second])
        .map(|(session, names)| {
            shuttle::thread::spawn(move || {
                let mut left = Left::new();
                write(&session, names, &mut left);
                quietly(|| drop(session));
                left
            })
        })
        .collect();
    let mover = shuttle::thread::spawn(move || {
        for _ in 0..2 {
            mover.empty_pages_in_use(NOW);
        }
        quietly(|| drop(mover));
    });
    for writer in writers {
        expected.extend(writer.join().expect("a writer"));
    }
    mover.join().expect("the mover");
    quietly(|| check_left(&engine, &expected));
}

fn check_left(engine: &Arc<Engine>, expected: &Left) {
    engine.verify_at_rest().expect("a sound store");
    let session = engine.session().expect("a slot");
    for (name, held) in expected {
        let mut out = Vec::new();
        let found = session.get(A, &engine.key(name.as_bytes()), NOW, &mut out, |_, _| {});
        assert_eq!(found.map(|_| out), *held, "{name}");
    }
}

#[test]
fn what_is_written_while_it_is_moved_stays() {
    check(|| play(&crowd()[..2], &crowd()[2..4], 4));
}

#[test]
fn what_is_written_while_it_is_split_and_moved_stays() {
    check(|| play(&crowd()[19..21], &crowd()[10..11], 20));
}

#[test]
fn control_without_the_directory_word_a_block_is_freed_twice_or_lost() {
    must_fail(Fault::WayDirectory, || play(&crowd()[19..21], &crowd()[10..11], 20));
}

#[test]
fn control_without_the_entry_a_block_is_freed_twice_or_lost() {
    must_fail(Fault::WayEntry, || play(&crowd()[..2], &crowd()[2..4], 4));
}
