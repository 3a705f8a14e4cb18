//! The shard: a lock, counters, and a directory of segments.
//!
//! ```text
//! line 0, written by writers            line 1, read by everyone
//!   0 u32 lock   4 u32 unused            64 u64 directory word: reference:32 | depth:8 | change:24
//!   8 u64 items                          72 u64 several: odd while a write of several keys runs
//!  16 u64 sequence (CAS uniques, version seeds)
//!  24 u64 items with a deadline
//!  32 u64 no deadline here comes before this
//!  40 u64 items inserted since the generation began
//!  48 u64 generation
//!  56 u64 where the eviction hand stands, see eviction.rs
//!
//! directory: one block      0 u64 root << 32 | shard << 16 | depth, 8 u64 magic, 16.. u32 x 2^depth
//! ```
//! Hash bits, from the top: shard, then directory, then (low 32 bits) home line and tag.

use crate::arena::Mem;
use crate::index::segment::Segment;
use crate::sync::atomics::AtomicU32;
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release};

use crate::verbs::Millis;

pub(crate) const SHARD_BYTES: usize = 128;
/// Deepest directory: the hash has 64 bits, of which shard and home take 42.
pub(crate) const DEPTH_MAX: u32 = 22;
pub(crate) const DIRECTORY_HEADER_BYTES: usize = 16;
const DIRECTORY_MAGIC: u64 = 0x6469_7265_6374_6f72;

/// The directory word of a shard, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryWord(pub u64);

impl DirectoryWord {
    #[inline(always)]
    pub fn at(self) -> usize {
        (self.0 as u32) as usize * 8
    }

    #[inline(always)]
    pub fn depth(self) -> u32 {
        (self.0 >> 32) as u8 as u32
    }

    pub fn is_empty(self) -> bool {
        self.0 as u32 == 0
    }

    /// Another directory (0 = none), with a change number that makes the word differ.
    pub fn next(self, reference: u32, depth: u32) -> DirectoryWord {
        let change = (self.0 >> 40).wrapping_add(1) & 0xff_ffff;
        DirectoryWord(u64::from(reference) | u64::from(depth) << 32 | change << 40)
    }

    /// The place of the entry for a hash whose shard bits were shifted out.
    #[inline(always)]
    pub fn entry_at(self, shifted_hash: u64) -> usize {
        // A depth of 0 would shift by 64. A depth is no more than 22, so that the mask is the processor's own.
        let index = (shifted_hash >> 1) >> (63u32.wrapping_sub(self.depth()) & 63);
        // Of a word that is no directory's anything may come out; a reader's offset is cut to the arena.
        (self.at() + DIRECTORY_HEADER_BYTES).wrapping_add((index as usize).wrapping_mul(4))
    }

    pub fn entries(self) -> usize {
        1 << (self.depth() & 31)
    }
}

/// A shard of a database, by the byte offset of its control block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shard<'a> {
    pub words: Mem<'a>,
    pub at: usize,
}

impl<'a> Shard<'a> {
    #[inline(always)]
    pub fn lock(&self) -> &'a AtomicU32 {
        self.words.u32_in(self.at, 0)
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

    pub fn next_sequence(&self) -> u64 {
        let next = self.get(16) + 1;
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

    /// The segment of a hash. Under the lock, in a shard that is not empty.
    #[inline(always)]
    pub fn segment_of(&self, directory: DirectoryWord, shifted_hash: u64) -> Segment<'a> {
        let entry = directory.entry_at(shifted_hash);
        let reference = self.words.u32_at(entry).load(Relaxed);
        Segment { words: self.words, at: reference as usize * 8 }
    }
}

/// Writes the header of a directory block.
pub(crate) fn begin_directory(words: Mem<'_>, at: usize, root: u16, shard: u16, depth: u32) {
    let owner = u64::from(root) << 32 | u64::from(shard) << 16 | u64::from(depth);
    words.u64_at(at).store(owner, Relaxed);
    words.u64_at(at + 8).store(DIRECTORY_MAGIC, Relaxed);
}

/// Whose directory a block is, if it is one: root and shard.
pub(crate) fn directory_owner(words: Mem<'_>, at: usize) -> Option<(u16, u16)> {
    if words.u64_at(at + 8).load(Relaxed) != DIRECTORY_MAGIC {
        return None;
    }
    let owner = words.u64_at(at).load(Relaxed);
    Some(((owner >> 32) as u16, (owner >> 16) as u16))
}
