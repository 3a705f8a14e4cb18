//! A SET in one piece beside another writer, who changes what led to its lines before it had the lock.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::{Fault, quietly};
use models::history::{NOW, Step, make};
use models::run::{check, must_fail};
use models::scene::{Scene, engine, prepare};
use models::scenes::{A, split, split_once};

const SETS: usize = 2;

/// Short ones: in a model a block of 32 bytes may be leased, and is stored by the guard.
const VALUE_BYTES: usize = 12;

/// One writer sets the scene's first key a few times, which is there; another makes the scene's first step, which splits the
/// segment that the key is in. What was set last stays, and no block is lost or free twice.
fn play(scene: &Scene) {
    let (engine, setter, splitter) = quietly(|| {
        let engine = engine();
        prepare(&engine, &scene.before.iter().map(short).collect::<Vec<_>>());
        let sessions = (engine.session().expect("a slot"), engine.session().expect("a slot"));
        (engine, sessions.0, sessions.1)
    });
    let name = scene.readers[0].1[0];
    let setter = shuttle::thread::spawn(move || {
        let key = setter.engine().key(name.as_bytes());
        for turn in 0..SETS {
            let stored = setter.set(A, &key, &value(turn), NOW).expect("memory");
            assert!(stored.replaced, "the key had gone");
        }
        quietly(|| drop(setter));
    });
    let step = short(&scene.steps[0]);
    let splitter = shuttle::thread::spawn(move || {
        make(&splitter, &step, 0);
        quietly(|| drop(splitter));
    });
    setter.join().expect("the one who sets");
    splitter.join().expect("the one who splits");
    quietly(|| {
        engine.verify_at_rest().expect("a sound store");
        let session = engine.session().expect("a slot");
        let mut out = Vec::new();
        let found = session.get(A, &engine.key(name.as_bytes()), NOW, &mut out, |_, _| {});
        assert_eq!(found.map(|_| out), Some(value(SETS - 1)));
    });
}

fn short(step: &Step) -> Step {
    match step {
        Step::Put(db, name, _) => Step::Put(*db, name, VALUE_BYTES),
        other => panic!("{other:?} is no store"),
    }
}

fn value(turn: usize) -> Vec<u8> {
    vec![turn as u8; VALUE_BYTES]
}

#[test]
fn a_set_beside_a_split_that_doubles_the_directory_is_kept() {
    check(|| play(&split()));
}

#[test]
fn control_without_the_directory_word_it_goes_to_a_segment_that_is_no_more() {
    must_fail(Fault::WayDirectory, || play(&split()));
}

#[test]
fn a_set_beside_a_split_in_a_directory_that_stays_is_kept() {
    check(|| play(&split_once()));
}

#[test]
fn control_without_the_entry_it_goes_to_a_segment_that_is_no_more() {
    must_fail(Fault::WayEntry, || play(&split_once()));
}
