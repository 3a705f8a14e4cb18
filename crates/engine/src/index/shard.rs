//! The shard: a lock, counters, and a directory of segments.
//!
//! ```text
//! line 0, written by writers            line 1, read by everyone
//!   0 u32 lock   4 u32 asleep            64 u64 directory word, see directory.rs
//!   8 u64 items                          72 u64 several: odd while several keys are written, or
//!                                          a value in place
//!  16 u64 sequence (CAS uniques)
//!  24 u64 items with a deadline
//!  32 u64 no deadline here comes before this
//!  40 u64 items inserted since the generation began
//!  48 u64 generation
//!  56 u64 where the eviction hand stands, see eviction.rs
//! ```
//! Hash bits, from the top: shard, then directory, then (low 32 bits) home line and tag.

use crate::arena::Mem;
use crate::index::directory::{DIRECTORY_HEADER_BYTES, DirectoryWord};
use crate::index::segment::Segment;
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release};
use crate::sync::lock::Lock;
use crate::verbs::Millis;

pub(crate) const SHARD_BYTES: usize = 128;

/// A shard of a database, by the byte offset of its control block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shard<'a> {
    pub words: Mem<'a>,
    pub at: usize,
}

impl<'a> Shard<'a> {
    #[inline(always)]
    pub fn lock(&self) -> Lock<'a> {
        Lock { word: self.words.u32_in(self.at, 0), asleep: self.words.u32_in(self.at, 4) }
    }

    #[inline(always)]
    pub fn directory(&self) -> DirectoryWord {
        // Pairs with the Release in `set_directory`: who sees the word sees the directory.
        DirectoryWord(self.words.u64_in(self.at, 64).load(Acquire))
    }

    pub fn set_directory(&self, word: DirectoryWord) {
        self.words.u64_in(self.at, 64).store(word.0, Release);
    }

    /// Asks for the line that readers look at.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.words.prefetch(self.at + 64);
    }

    #[inline(always)]
    pub fn several(&self) -> u64 {
        self.words.u64_in(self.at, 72).load(Acquire)
    }

    /// Before and after a write of several keys, or of several words of one item, under the lock:
    /// while the number is odd, no read of the shard succeeds.
    pub fn flip_several(&self) {
        let word = self.words.u64_in(self.at, 72);
        word.store(word.load(Relaxed) + 1, Release);
    }

    #[inline(always)]
    fn get(&self, at: usize) -> u64 {
        self.words.u64_in(self.at, at).load(Relaxed)
    }

    #[inline(always)]
    fn set(&self, at: usize, value: u64) {
        self.words.u64_in(self.at, at).store(value, Relaxed);
    }

    pub fn items(&self) -> u64 {
        self.get(8)
    }

    pub fn add_items(&self, change: i64) {
        self.set(8, self.items().wrapping_add_signed(change));
    }

    pub fn sequence(&self) -> u64 {
        self.get(16)
    }

    /// Under the lock, or while the database is opened.
    pub fn raise_sequence(&self, to: u64) {
        self.set(16, self.sequence().max(to));
    }

    pub fn next_sequence(&self) -> u64 {
        let next = self.sequence() + 1;
        self.set(16, next);
        next
    }

    pub fn ttl_items(&self) -> u64 {
        self.get(24)
    }

    pub fn add_ttl_items(&self, change: i64) {
        self.set(24, self.ttl_items().wrapping_add_signed(change));
    }

    /// 0 (never written) and `u64::MAX` both mean: no deadline.
    pub fn next_due(&self) -> Millis {
        match self.get(32) {
            0 => u64::MAX,
            due => due,
        }
    }

    pub fn set_next_due(&self, due: Millis) {
        self.set(32, due);
    }

    pub fn inserted(&self) -> u64 {
        self.get(40)
    }

    pub fn set_inserted(&self, items: u64) {
        self.set(40, items);
    }

    pub fn generation(&self) -> u64 {
        self.get(48)
    }

    pub fn set_generation(&self, generation: u64) {
        self.set(48, generation);
    }

    pub fn hand(&self) -> u64 {
        self.get(56)
    }

    pub fn set_hand(&self, hand: u64) {
        self.set(56, hand);
    }

    /// After FLUSHDB.
    pub fn forget_items(&self) {
        self.set(8, 0);
        self.set(24, 0);
        self.set(32, u64::MAX);
        self.set(56, 0);
    }

    /// The segment at position `index` of the directory. Under the lock.
    pub fn segment(&self, directory: DirectoryWord, index: usize) -> Segment<'a> {
        let entry = directory.at() + DIRECTORY_HEADER_BYTES + 4 * index;
        let reference = self.words.u32_at(entry).load(Relaxed);
        Segment { words: self.words, at: reference as usize * 8 }
    }

    /// The segment of a position. Under the lock, in a shard that is not empty.
    #[inline(always)]
    pub fn segment_of(&self, directory: DirectoryWord, position: u64) -> Segment<'a> {
        let entry = directory.entry_at(position);
        let reference = self.words.u32_at(entry).load(Relaxed);
        Segment { words: self.words, at: reference as usize * 8 }
    }
}
