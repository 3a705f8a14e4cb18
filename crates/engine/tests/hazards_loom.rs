//! Hazard pointers under loom: every order of their accesses that the memory model allows.
//!
//! The module's own source is compiled here once more over the checker's atomics, beside the index
//! that it works with: a reference and a version. A block is a cell that loom guards: to write to it
//! while somebody reads it, or without having seen that he has read it, is an error. Each control
//! leaves something out, and must fail.
// The checker switches stacks, which Miri does not know.
#![cfg(not(miri))]
#![allow(dead_code)]

#[path = "../src/hazards.rs"]
mod hazards;

mod limits {
    /// One: every slot is an atomic word whose accesses loom puts in all orders.
    pub const HAZARDS_A_SESSION: usize = 1;
}

mod sync {
    /// The checker's atomics, with what is left out.
    pub mod atomics {
        use crate::{LEFT_OUT, WRITER, Weak};
        pub use loom::sync::atomic::Ordering;
        use loom::sync::atomic::{self, Ordering::Relaxed};

        pub fn fence(order: Ordering) {
            let is_writer = Some(loom::thread::current().id()) == WRITER.get();
            let weak = if is_writer { Weak::WritersFence } else { Weak::ReadersFence };
            if LEFT_OUT.get() != weak {
                atomic::fence(order);
            }
        }

        #[derive(Debug)]
        pub struct AtomicU32(atomic::AtomicU32);

        impl AtomicU32 {
            pub fn new(value: u32) -> AtomicU32 {
                AtomicU32(atomic::AtomicU32::new(value))
            }

            pub fn load(&self, order: Ordering) -> u32 {
                self.0.load(order)
            }

            pub fn store(&self, value: u32, order: Ordering) {
                let is_weak = value == 0 && LEFT_OUT.get() == Weak::Empty;
                self.0.store(value, if is_weak { Relaxed } else { order });
            }
        }

        #[derive(Debug, Default)]
        pub struct AtomicU64(atomic::AtomicU64);

        impl AtomicU64 {
            pub fn load(&self, order: Ordering) -> u64 {
                self.0.load(order)
            }

            pub fn fetch_or(&self, bits: u64, order: Ordering) -> u64 {
                self.0.fetch_or(bits, order)
            }

            pub fn fetch_and(&self, bits: u64, order: Ordering) -> u64 {
                let is_weak = LEFT_OUT.get() == Weak::End;
                self.0.fetch_and(bits, if is_weak { Relaxed } else { order })
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
    /// Between naming a block and looking again.
    ReadersFence,
    /// Between unlinking a block and looking for its name.
    WritersFence,
    /// The Release of an emptied slot.
    Empty,
    /// The Release of the session's bit.
    End,
    /// The second look at the index.
    SecondLook,
    /// The look at the names.
    Names,
}

thread_local! {
    // All of loom's threads run on the test's own.
    static LEFT_OUT: Cell<Weak> = const { Cell::new(Weak::Nothing) };
    static WRITER: Cell<Option<thread::ThreadId>> = const { Cell::new(None) };
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

/// Puts block 2 into the place of block 1, and uses block 1 for something else when it is free. Who
/// finds it named looks once more later, as the store does.
fn replace(store: &Store, weak: Weak) {
    const LOOKS: usize = 2;
    store.reference.store(2, Release);
    store.version.store(1, Release);
    for _ in 0..LOOKS {
        if weak == Weak::Names || !store.hazards.is_named(1) {
            store.blocks[0].with_mut(|bytes| {
                // SAFETY: as in `read`.
                unsafe { *bytes = 3 }
            });
            return;
        }
        thread::yield_now();
    }
}

fn every_order(readers: usize, weak: Weak) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = (readers > 1).then_some(2);
    builder.check(move || {
        LEFT_OUT.set(weak);
        WRITER.set(Some(thread::current().id()));
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
#[should_panic(expected = "Concurrent read and write")]
fn control_without_the_readers_fence_neither_sees_the_other() {
    every_order(1, Weak::ReadersFence);
}

#[test]
#[should_panic(expected = "Concurrent read and write")]
fn control_without_the_writers_fence_neither_sees_the_other() {
    every_order(1, Weak::WritersFence);
}

#[test]
#[should_panic(expected = "Concurrent read and write")]
fn control_without_release_of_the_slot_the_read_is_not_over() {
    every_order(1, Weak::Empty);
}

#[test]
#[should_panic(expected = "Concurrent read and write")]
fn control_without_release_of_the_bit_the_read_is_not_over() {
    every_order(1, Weak::End);
}

#[test]
#[should_panic(expected = "Concurrent read and write")]
fn control_without_the_second_look_a_reader_comes_too_late() {
    every_order(1, Weak::SecondLook);
}

#[test]
#[should_panic(expected = "Concurrent read and write")]
fn control_without_a_look_at_the_names_a_block_is_used_while_it_is_read() {
    every_order(1, Weak::Names);
}
