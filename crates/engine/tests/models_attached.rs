//! The short ways of an attached reader against one writer: a batch and a single read.
//!
//! As `models_reader.rs`, with scenes in which each step of the final check has something to catch; each
//! control leaves one out of these ways, and must fail. See `tests/README.md` for how to run this.
#![cfg(shuttle)]

mod models;

use dolium_engine::Db;
use dolium_engine::sync::modelled::Fault;
use models::history::Step::*;
use models::run::{check, must_fail};
use models::scene::{Scene, crowd};
use models::scenes::parts;

const A: Db = Db(0);
const B: Db = Db(1);

/// Blocks of one size, freed and at once filled again, for the same key and for another.
fn replace() -> Scene {
    Scene {
        before: vec![Put(A, "one", 40), Put(A, "two", 20), Put(A, "wide", 300)],
        steps: vec![
            Put(A, "one", 40),
            Put(A, "wide", 300),
            Remove(A, "one"),
            Put(A, "two", 20),
            Put(A, "one", 40),
            Int(A, "two", 22),
            Put(A, "two", 20),
        ],
        readers: vec![(A, &["one", "two"]), (A, &["two", "wide"])],
        turns: 3,
    }
}

#[test]
fn values_are_read_whole_and_never_old() {
    check(|| replace().play_attached());
}

#[test]
fn control_without_versions_a_read_is_torn() {
    must_fail(Fault::Version, || replace().play_attached());
}

/// Keys that come and go in a home line and in its stash line.
fn stash() -> Scene {
    let crowd = crowd();
    Scene {
        before: crowd[..10].iter().map(|key| Put(A, key, 20)).collect(),
        steps: vec![
            Put(A, crowd[10], 20),
            Put(A, crowd[10], 20),
            Put(A, crowd[11], 20),
            Remove(A, crowd[3]),
            Put(A, crowd[11], 20),
            Remove(A, crowd[10]),
            Put(A, crowd[12], 20),
            Put(A, crowd[10], 20),
        ],
        readers: vec![(A, &crowd[10..12]), (A, &crowd[2..4])],
        turns: 3,
    }
}

#[test]
fn keys_in_a_stash_line_are_read() {
    check(|| stash().play_attached());
}

#[test]
fn control_without_versions_a_key_of_a_stash_line_is_old() {
    must_fail(Fault::Version, || stash().play_attached());
}

/// A full home line and a full stash line: the next insert splits, and doubles the directory.
fn split() -> Scene {
    let crowd = crowd();
    Scene {
        before: crowd[..20].iter().map(|key| Put(A, key, 20)).collect(),
        steps: vec![
            Put(A, crowd[20], 20),
            Put(A, crowd[0], 20),
            Put(A, crowd[19], 20),
            Put(A, crowd[0], 20),
            Remove(A, crowd[1]),
            Put(A, crowd[1], 20),
        ],
        readers: vec![(A, &crowd[..2]), (A, &crowd[19..20])],
        turns: 4,
    }
}

#[test]
fn a_split_hides_no_key() {
    check(|| split().play_attached());
}

#[test]
fn control_without_the_directory_word_a_split_hides_changes() {
    must_fail(Fault::Directory, || split().play_attached());
}

#[test]
fn control_without_the_entry_a_split_hides_changes() {
    must_fail(Fault::Entry, || split().play_attached());
}

/// Databases that are emptied, and two that change places.
fn swap() -> Scene {
    Scene {
        before: vec![Put(A, "one", 40), Put(B, "one", 40), Put(B, "two", 20)],
        steps: vec![
            Swap(A, B),
            Put(A, "one", 40),
            Put(A, "one", 40),
            Swap(A, B),
            Flush(B),
            Put(B, "one", 40),
        ],
        readers: vec![(A, &["one", "two"]), (B, &["one"])],
        turns: 3,
    }
}

#[test]
fn databases_are_never_taken_for_each_other() {
    check(|| swap().play_attached());
}

#[test]
fn control_without_the_root_a_swap_is_missed() {
    must_fail(Fault::Root, || swap().play_attached());
}

fn several() -> Scene {
    Scene {
        before: vec![PutAll(A, &["one", "two", "six"], 30)],
        steps: vec![
            PutAll(A, &["one", "two", "six"], 30),
            PutAll(A, &["one", "two"], 30),
            Remove(A, "six"),
            PutAll(A, &["two", "six"], 31),
            Put(A, "one", 30),
        ],
        readers: vec![(A, &["one", "two", "six"]), (A, &["two", "one"])],
        turns: 2,
    }
}

#[test]
fn one_read_after_the_other_sees_a_write_of_several_keys_whole() {
    check(|| several().play_attached());
}

#[test]
fn control_without_the_mark_of_several_it_is_seen_in_part() {
    must_fail(Fault::Several, || several().play_attached());
}

#[test]
fn a_string_changed_in_place_is_seen_whole() {
    check(|| parts().play_attached());
}

#[test]
fn control_without_the_mark_half_a_string_is_seen() {
    must_fail(Fault::Several, || parts().play_plain(0));
}

#[test]
fn control_without_the_mark_half_a_string_is_seen_by_a_batch() {
    must_fail(Fault::Several, || parts().play_together(0));
}

#[test]
fn control_without_the_mark_half_a_longer_string_is_seen_by_a_batch() {
    must_fail(Fault::Several, || parts().play_together(1));
}

#[test]
fn a_value_that_gets_another_key_is_read_whole() {
    check(|| models::scenes::carried().play_attached());
}
