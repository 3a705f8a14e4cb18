//! A reader without locks who is interrupted twice, in every way, by a writer who makes his changes.
//!
//! See `models/interrupted.rs` for the schedules and `tests/README.md` for how to run this.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::Fault;
use models::interrupted::{STRIDE, check_interrupted, must_fail_interrupted};
use models::scene::Scene;
use models::scenes::*;

/// Each reader of the scene by himself.
fn check(scene: fn() -> Scene) {
    for reader in 0..scene().readers.len() {
        check_interrupted(STRIDE, move || scene().play_once(reader));
    }
}

/// The same, by the ways of an attached process, which take twice as many steps.
fn check_attached(scene: fn() -> Scene) {
    for reader in 0..scene().readers.len() {
        check_interrupted(4 * STRIDE, move || scene().play_attached_once(reader));
    }
}

#[test]
fn a_replaced_value_is_read_whole_and_never_old() {
    check(replace);
}

#[test]
fn a_collection_changed_in_place_is_seen_whole() {
    check(patched);
}

#[test]
fn a_string_changed_in_place_is_seen_whole() {
    check(parts);
    check_attached(parts);
}

#[test]
fn keys_come_and_go_and_others_stay() {
    check(insert_and_delete);
}

#[test]
fn keys_in_a_stash_line_are_found() {
    check(stash);
}

#[test]
fn a_flushed_database_is_empty_at_once() {
    check(flush);
}

#[test]
fn swapped_databases_are_never_taken_for_each_other() {
    check(swap);
}

#[test]
fn what_was_swapped_with_a_database_that_never_was_is_in_one_of_them() {
    for reader in 0..swap_with_none().readers.len() {
        check_interrupted(1, move || swap_with_none().play_across(reader));
    }
}

#[test]
fn a_write_of_several_keys_is_seen_whole() {
    check(several);
}

#[test]
fn a_split_hides_no_key() {
    check(split);
}

#[test]
fn two_splits_in_a_row_hide_no_key() {
    check(split_twice);
}

#[test]
fn a_read_in_passes_shows_nothing_older_than_one_before_it() {
    for scene in [replace as fn() -> Scene, insert_and_delete] {
        for reader in 0..scene().readers.len() {
            check_interrupted(4 * STRIDE, move || scene().play_in_turn(reader));
        }
    }
}

#[test]
fn control_by_versions_alone_a_read_in_passes_shows_an_older_value() {
    must_fail_interrupted(Fault::Shown, || replace().play_in_turn(0));
}

#[test]
fn an_attached_reader_reads_replaced_values_whole_and_never_old() {
    check_attached(replace);
}

#[test]
fn from_an_attached_reader_a_split_hides_no_change() {
    check_attached(split);
}

#[test]
fn from_an_attached_reader_two_splits_in_a_row_hide_no_key() {
    check_attached(split_twice);
}

#[test]
fn control_with_the_entry_behind_the_versions_a_block_that_comes_back_hides_a_key() {
    must_fail_interrupted(Fault::EntryFirst, || split_twice().play_once(0));
}
