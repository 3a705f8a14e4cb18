//! Readers without locks against one writer, in the engine's own code under shuttle.
//!
//! Each control leaves one step of the reader's final check out, and must fail: so the model that
//! it shares with a test would see that step missing. See `tests/README.md` for how to run this.
#![cfg(shuttle)]

mod models;

use dolium_engine::sync::modelled::Fault;
use models::history::Step::*;
use models::run::{check, must_fail};
use models::scene::{Scene, engine};
use models::scenes::*;

#[test]
fn a_replaced_value_is_read_whole_and_never_old() {
    check(|| replace().play());
}

#[test]
fn control_without_versions_a_read_is_torn() {
    must_fail(Fault::Version, || replace().play());
}

#[test]
fn a_collection_changed_in_place_is_seen_whole() {
    check(|| patched().play());
}

#[test]
fn control_without_the_mark_half_a_change_is_seen() {
    must_fail(Fault::Several, || patched().play());
}

#[test]
fn a_string_changed_in_place_is_seen_whole() {
    check(|| parts().play());
}

/// Each way of a reader by itself: were the mark left out of one of them only, the others would see it.
#[test]
fn control_without_the_mark_half_a_string_is_seen() {
    must_fail(Fault::Several, || parts().play_once(0));
}

#[test]
fn control_without_the_mark_half_a_string_is_seen_by_a_batch() {
    must_fail(Fault::Several, || parts().play_fetched(0));
}

#[test]
fn control_without_the_mark_half_a_longer_string_is_seen_by_a_batch() {
    must_fail(Fault::Several, || parts().play_fetched(1));
}

#[test]
fn control_without_the_mark_strings_of_two_moments_are_seen() {
    must_fail(Fault::Several, || parts().play_once(2));
}

#[test]
fn a_value_that_gets_another_key_is_at_one_of_the_two() {
    check(|| carried().play());
}

#[test]
fn control_without_the_mark_it_is_at_both_or_at_none() {
    must_fail(Fault::Several, || carried().play());
}

#[test]
fn a_value_gets_another_key_while_its_segment_is_split() {
    check(|| carried_and_split().play());
}

#[test]
fn keys_come_and_go_and_others_stay() {
    check(|| insert_and_delete().play());
}

#[test]
fn control_without_versions_a_freed_block_is_read() {
    must_fail(Fault::Version, || insert_and_delete().play());
}

#[test]
fn integers_and_deadlines_change_in_place() {
    check(|| {
        Scene {
            before: vec![Int(A, "n", 7), Put(A, "d", 30), Deadline(A, "d", 5_000)],
            steps: vec![
                Int(A, "n", 1_000_000),
                Deadline(A, "d", 6_000),
                Int(A, "n", -3),
                Put(A, "n", 30),
                Deadline(A, "d", 0),
                Int(A, "n", 12),
                Deadline(A, "d", 7_000),
            ],
            readers: vec![(A, &["n"]), (A, &["d"])],
            turns: 3,
        }
        .play();
    });
}

#[test]
fn a_split_hides_no_key() {
    check(|| split().play());
}

#[test]
fn control_without_the_directory_word_a_split_hides_changes() {
    must_fail(Fault::Directory, || split().play());
}

#[test]
fn control_without_the_entry_a_split_hides_changes() {
    must_fail(Fault::Entry, || split().play());
}

#[test]
fn keys_in_a_stash_line_are_found() {
    check(|| stash().play());
}

#[test]
fn a_flushed_database_is_empty_at_once() {
    check(|| flush().play());
}

#[test]
fn swapped_databases_are_never_taken_for_each_other() {
    check(|| swap().play());
}

#[test]
fn control_without_the_root_a_swap_is_missed() {
    must_fail(Fault::Root, || swap().play());
}

#[test]
fn a_write_of_several_keys_is_seen_whole() {
    check(|| several().play());
}

#[test]
fn control_without_the_mark_of_several_it_is_seen_in_part() {
    must_fail(Fault::Several, || several().play());
}

/// One task changes a key; another sees that and changes a second one; a third reads both.
fn cause_and_effect() {
    use dolium_engine::sync::modelled::quietly;
    use models::history::{NOW, Step, make};
    let (engine, sessions) = quietly(|| {
        let engine = engine();
        models::scene::prepare(&engine, &[Put(A, "one", 30), Int(A, "n", 1), Put(A, "two", 30)]);
        let sessions: Vec<_> = (0..3).map(|_| engine.session().expect("a slot")).collect();
        (engine, sessions)
    });
    let value_of = |session: &dolium_engine::Session, name: &str| {
        let mut out = Vec::new();
        let key = session.engine().key(name.as_bytes());
        session.get(A, &key, NOW, &mut out, |_, _| {}).expect("it is there");
        out
    };
    let tasks: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(task, session)| {
            shuttle::thread::spawn(move || {
                match task {
                    0 => {
                        make(&session, &Put(A, "one", 20), 50);
                        make(&session, &Int(A, "n", 22), 51);
                    }
                    1 => {
                        let causes: [(&str, usize); 2] = [("one", 20), ("n", 2)];
                        for (turn, (cause, len)) in causes.iter().enumerate() {
                            if value_of(&session, cause).len() == *len {
                                make(&session, &Step::Put(A, "two", 21 + turn), 60);
                            }
                        }
                    }
                    _ => {
                        let names = ["one", "n", "two"];
                        let keys = names.map(|name| session.engine().key(name.as_bytes()));
                        let mut lengths = [0; 3];
                        session.get_many(A, &keys, NOW, &mut Vec::new(), |index, found, _| {
                            lengths[index] = found.expect("it is there").len;
                        });
                        let [one, n, two] = lengths;
                        assert!(two != 21 || one == 20, "the effect of a cause that is not there");
                        assert!(two != 22 || n == 2, "the effect of a cause that is not there");
                    }
                }
                quietly(|| drop(session));
            })
        })
        .collect();
    for task in tasks {
        task.join().expect("a task");
    }
    quietly(|| drop(engine));
}

#[test]
fn a_read_of_several_keys_sees_no_effect_without_its_cause() {
    check(cause_and_effect);
}

#[test]
fn control_by_versions_alone_it_sees_an_effect_without_its_cause() {
    must_fail(Fault::Shown, cause_and_effect);
}

#[test]
fn two_splits_in_a_row_hide_no_key() {
    check(|| split_twice().play());
}

#[test]
fn control_without_the_entry_a_block_that_comes_back_hides_a_key() {
    must_fail(Fault::Entry, || split_twice().play());
}

#[test]
fn an_iteration_comes_by_all_keys_while_segments_are_split() {
    check(|| split_twice_below().play_iterations());
}

#[test]
fn an_iteration_comes_by_all_keys_while_databases_are_swapped() {
    check(|| several_and_swap().play_iterations());
}
