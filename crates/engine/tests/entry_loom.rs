//! A segment's block that comes back, under loom: every order of the accesses that the memory model allows.
//!
//! ```text
//! entry          X -> Y -> X              a key is in X, in Y, in X again
//! X, Y           reset: empty, a version | filled: the key's tag, another version | named by the entry
//! ```
//! The pattern alone, with the orderings that the engine has (named beside each access). A reader who finds no
//! tag and whose check holds says that there is no such key: it must never hold. Each control weakens one
//! thing and must fail.
// The checker switches stacks, which Miri does not know.
#![cfg(not(miri))]

use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;

/// What is otherwise than in the engine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weak {
    Nothing,
    /// `View::is_entry`: asked behind the version.
    EntryLast,
    /// `View::is_entry`: Relaxed.
    Entry,
    /// `grow::publish`: Relaxed.
    Publish,
    /// `Line::begin_with`: the version of the fresh line.
    Bump,
    /// `new_segment`: the release fence before the block is reset.
    Fence,
}

/// A segment of one line, whose tag and version are in words of their own, as those of the slots from the
/// fifth on.
struct Segment {
    version: AtomicU32,
    tag: AtomicU32,
}

struct Index {
    entry: AtomicU32,
    blocks: [Segment; 2],
}

impl Index {
    fn new() -> Index {
        let block =
            |version, tag| Segment { version: AtomicU32::new(version), tag: AtomicU32::new(tag) };
        Index { entry: AtomicU32::new(0), blocks: [block(10, 1), block(0, 0)] }
    }

    /// A split as far as this key goes: its segment is in another block from now on.
    fn move_to(&self, place: u32, seed: u32, weak: Weak) {
        let Segment { version, tag } = &self.blocks[place as usize];
        if weak != Weak::Fence {
            fence(Release);
        }
        tag.store(0, Relaxed);
        version.store(seed, Release);
        tag.store(1, Relaxed);
        version.store(if weak == Weak::Bump { seed } else { seed + 1 }, Release);
        self.entry.store(place, if weak == Weak::Publish { Relaxed } else { Release });
    }

    /// Another shard has the block for a while. It has no key of this tag, and may come to its versions by a split.
    fn lend(&self, place: u32, seed: u32) {
        let Segment { version, tag } = &self.blocks[place as usize];
        fence(Release);
        tag.store(0, Relaxed);
        version.store(seed, Release);
        version.store(seed + 1, Release);
    }

    /// One attempt: whether the key is there, if the check holds.
    fn get(&self, weak: Weak) -> Option<bool> {
        let place = self.entry.load(Acquire);
        let Segment { version, tag } = &self.blocks[place as usize];
        let seen = version.load(Acquire);
        let is_there = tag.load(Acquire) == 1;
        fence(Acquire);
        let named = if weak == Weak::Entry { Relaxed } else { Acquire };
        let entry = || self.entry.load(named) == place;
        let version = || version.load(Relaxed) == seen;
        let is_last = weak == Weak::EntryLast;
        let holds = (is_last || entry()) && version() && (!is_last || entry());
        holds.then_some(is_there)
    }
}

/// A block that another shard has had in between.
fn every_order_of_three(seed: u32) {
    loom::model(move || {
        let index = Arc::new(Index::new());
        let writer = {
            let index = index.clone();
            thread::spawn(move || {
                index.move_to(1, 20, Weak::Nothing);
                index.lend(0, 30);
                index.move_to(0, seed, Weak::Nothing);
            })
        };
        assert_ne!(index.get(Weak::Nothing), Some(false), "hidden");
        writer.join().expect("the writer");
    });
}

fn every_order(weak: Weak) {
    loom::model(move || {
        let index = Arc::new(Index::new());
        let writer = {
            let index = index.clone();
            thread::spawn(move || {
                index.move_to(1, 20, weak);
                index.move_to(0, 30, weak);
            })
        };
        assert_ne!(index.get(weak), Some(false), "hidden");
        writer.join().expect("the writer");
    });
}

#[test]
fn a_block_that_comes_back_hides_no_key() {
    every_order(Weak::Nothing);
}

#[test]
#[should_panic(expected = "hidden")]
fn control_with_the_entry_behind_the_version_a_key_is_hidden() {
    every_order(Weak::EntryLast);
}

#[test]
#[should_panic(expected = "hidden")]
fn control_without_acquire_of_the_entry_a_key_is_hidden() {
    every_order(Weak::Entry);
}

#[test]
#[should_panic(expected = "hidden")]
fn control_without_release_of_the_entry_a_key_is_hidden() {
    every_order(Weak::Publish);
}

#[test]
#[should_panic(expected = "hidden")]
fn control_without_a_new_version_a_key_is_hidden() {
    every_order(Weak::Bump);
}

#[test]
#[should_panic(expected = "hidden")]
fn control_without_the_fence_before_a_reset_a_key_is_hidden() {
    every_order(Weak::Fence);
}

#[test]
fn a_block_that_another_shard_has_had_hides_no_key() {
    every_order_of_three(40);
}

/// Each shard had its own, from the same number on.
#[test]
#[should_panic(expected = "hidden")]
fn control_with_the_other_shards_seed_a_key_is_hidden() {
    every_order_of_three(30);
}
