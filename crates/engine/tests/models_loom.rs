//! The reader's check under loom: every order of its accesses that the memory model allows.
//!
//! The pattern alone, with the orderings that the engine has (named beside each access): a slot's
//! reference, its line's version, and two blocks of two words that are filled by turns. Loom knows
//! weak memory, which shuttle does not. Each control weakens one ordering and must fail.
// The checker switches stacks, which Miri does not know.
#![cfg(not(miri))]

use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
use loom::thread;

/// What is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weak {
    Nothing,
    /// `item::write_item`: the release fence before a block's words are stored.
    WriterFence,
    /// `View::holds`: the acquire fence before the version is loaded again.
    ReaderFence,
    /// `Line::set_reference`: Release.
    Publish,
    /// `Line::bump_version` before the block is freed.
    Bump,
}

/// Stores of the key. The second one fills the block that the key began in.
const STORES: u64 = 2;

struct Store {
    version: AtomicU32,
    reference: AtomicU32,
    blocks: [[AtomicU64; 2]; 2],
}

impl Store {
    /// A key whose value, 0 in both words of block 0, is there already.
    fn new() -> Store {
        let block = || [AtomicU64::new(0), AtomicU64::new(0)];
        let (version, reference) = (AtomicU32::new(0), AtomicU32::new(0));
        Store { version, reference, blocks: [block(), block()] }
    }

    fn put(&self, number: u64, weak: Weak) {
        let free = (number % 2) as usize;
        if weak != Weak::WriterFence {
            fence(Release);
        }
        for word in &self.blocks[free] {
            word.store(number, Relaxed);
        }
        let published = if weak == Weak::Publish { Relaxed } else { Release };
        self.reference.store(free as u32, published);
        if weak != Weak::Bump {
            let old = self.version.load(Relaxed);
            self.version.store(old + 1, Release);
        }
        // The other block is free from here on: the next store fills it.
    }

    /// One attempt: the value, if the check holds.
    fn get(&self, weak: Weak) -> Option<[u64; 2]> {
        let version = self.version.load(Acquire);
        let block = &self.blocks[self.reference.load(Acquire) as usize];
        let value = [block[0].load(Relaxed), block[1].load(Relaxed)];
        if weak != Weak::ReaderFence {
            fence(Acquire);
        }
        (self.version.load(Relaxed) == version).then_some(value)
    }
}

/// A value that counts is whole, and a later read gives no earlier one.
fn every_order(weak: Weak) {
    loom::model(move || {
        let store = Arc::new(Store::new());
        let writer = {
            let store = store.clone();
            thread::spawn(move || (1..=STORES).for_each(|number| store.put(number, weak)))
        };
        let mut newest = 0;
        for _ in 0..2 {
            if let Some([first, second]) = store.get(weak) {
                assert_eq!(first, second, "torn");
                assert!(first >= newest, "older than what was read before");
                newest = first;
            }
        }
        writer.join().expect("the writer");
    });
}

#[test]
fn what_passes_the_check_is_whole_and_not_old() {
    every_order(Weak::Nothing);
}

#[test]
#[should_panic(expected = "torn")]
fn control_without_the_writers_fence_a_read_is_torn() {
    every_order(Weak::WriterFence);
}

#[test]
#[should_panic(expected = "torn")]
fn control_without_the_readers_fence_a_read_is_torn() {
    every_order(Weak::ReaderFence);
}

#[test]
#[should_panic(expected = "torn")]
fn control_without_release_a_published_value_is_torn() {
    every_order(Weak::Publish);
}

#[test]
#[should_panic(expected = "torn")]
fn control_without_a_new_version_a_reused_block_is_torn() {
    every_order(Weak::Bump);
}
