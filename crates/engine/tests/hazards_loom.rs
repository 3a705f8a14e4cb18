//! Hazard pointers under loom: every order of their accesses that the memory model allows.
//!
//! The module's own source is compiled here once more over the checker's atomics, beside the index
//! that it works with: a reference and a version. A block is a cell that loom guards: to write to it
//! while somebody reads it, or without having seen that he has read it, is an error. Each control
//! leaves something out, and must fail.
#![allow(dead_code)]

#[path = "../src/hazards.rs"]
mod hazards;

mod limits {
    /// One: every slot is an atomic word whose accesses loom puts in all orders.
    pub const HAZARDS_A_SESSION: usize = 1;
}

mod sync {
    pub mod atomics {
        use crate::{LEFT_OUT, Weak};
        pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

        pub fn fence(order: Ordering) {
            if LEFT_OUT.get() != Weak::Fences {
                loom::sync::atomic::fence(order);
            }
        }
    }
}

use hazards::Hazards;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;
use std::cell::Cell;

/// What is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weak {
    Nothing,
    /// Between naming a block and looking again, and between unlinking and looking for names.
    Fences,
    /// The second look at the index.
    SecondLook,
    /// The look at the names.
    Names,
}

thread_local! {
    // All of loom's threads run on the test's own.
    static LEFT_OUT: Cell<Weak> = const { Cell::new(Weak::Nothing) };
}

struct Store {
    hazards: Hazards,
    version: AtomicU32,
    reference: AtomicU32,
    /// Blocks 1 and 2.
    blocks: [UnsafeCell<u32>; 2],
}

fn read(store: &Store, session: usize, weak: Weak) {
    let version = store.version.load(Acquire);
    let block = store.reference.load(Acquire);
    store.hazards.begin(session);
    store.hazards.name(session, 0, block);
    fence(Acquire);
    if store.version.load(Relaxed) == version || weak == Weak::SecondLook {
        let seen = store.blocks[block as usize - 1].with(|bytes| {
            // SAFETY: that nobody writes to it now is what loom checks.
            unsafe { *bytes }
        });
        assert_eq!(seen, block, "a block that is another item's by now");
    }
    store.hazards.empty(session, 0);
    store.hazards.end(session);
}

/// Puts block 2 into the place of block 1, and uses block 1 for something else if it is free.
fn replace(store: &Store, weak: Weak) {
    store.reference.store(2, Release);
    store.version.store(1, Release);
    if weak == Weak::Names || !store.hazards.is_named(1) {
        store.blocks[0].with_mut(|bytes| {
            // SAFETY: as in `read`.
            unsafe { *bytes = 3 }
        });
    }
}

fn every_order(readers: usize, weak: Weak) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = (readers > 1).then_some(2);
    builder.check(move || {
        LEFT_OUT.set(weak);
        let store = Arc::new(Store {
            hazards: Hazards::new(readers),
            version: AtomicU32::new(0),
            reference: AtomicU32::new(1),
            blocks: [UnsafeCell::new(1), UnsafeCell::new(2)],
        });
        let readers: Vec<_> = (0..readers)
            .map(|session| {
                let store = store.clone();
                thread::spawn(move || read(&store, session, weak))
            })
            .collect();
        replace(&store, weak);
        readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
    });
}

#[test]
fn a_block_that_is_read_is_not_used_again() {
    every_order(1, Weak::Nothing);
}

#[test]
fn a_block_that_two_read_is_not_used_again() {
    every_order(2, Weak::Nothing);
}

#[test]
#[should_panic]
fn control_without_the_fences_neither_sees_the_other() {
    every_order(1, Weak::Fences);
}

#[test]
#[should_panic]
fn control_without_the_second_look_a_reader_comes_too_late() {
    every_order(1, Weak::SecondLook);
}

#[test]
#[should_panic]
fn control_without_a_look_at_the_names_a_block_is_used_while_it_is_read() {
    every_order(1, Weak::Names);
}
