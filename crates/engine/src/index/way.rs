//! The way of one key to its lines, which a writer goes before he takes the shard's lock.
//!
//! ```text
//! hash -> directory -> entry -> segment     home line and likely stash line are asked for
//!         lock
//!         directory and entry still so? -> the lines, which are near by now
//! ```
//! A lock's atomic instruction waits for all stores before it: those of the SET before this one, whose item's
//! line has yet to come. What is asked for ahead of the lock does not wait for them.
//!
//! What was seen without the lock may have changed, and need not have been so at any one moment. It is a hint until
//! the lock is there; see [`Way::holds`].

use super::directory::DirectoryWord;
use super::read::{View, step};
use super::segment::{SEGMENT_BYTES, Segment, home_of, likely_stash, stash_line};
use super::shard::Shard;
use crate::sync::atomics::Ordering::Relaxed;

/// Where a key's lines were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    directory: DirectoryWord,
    entry_at: usize,
    pub segment: Segment<'a>,
    /// The number of the home line.
    pub home: usize,
}

impl<'a> View<'a> {
    /// Asks for the lines that a key may be in. `None`: there is no segment, or words that do not belong together
    /// led nowhere.
    #[inline(always)]
    pub fn way_to(&self, shard: Shard<'a>, hash: u64) -> Option<Way<'a>> {
        let directory = shard.directory();
        let entry_at = directory.entry_at(self.position(hash));
        if directory.is_empty() || !self.words.may_load(entry_at, 4) {
            return None;
        }
        // Relaxed: nothing is read of the segment before the lock is taken.
        let reference = self.words.u32_at(entry_at).load(Relaxed);
        let segment = Segment { words: self.words, at: reference as usize * 8 };
        if !self.words.may_load(segment.at, SEGMENT_BYTES) {
            return None;
        }
        let home = home_of(hash);
        segment.line(home).prefetch();
        // As in `read_plain`.
        segment.line(stash_line(likely_stash(home))).prefetch();
        Some(Way { directory, entry_at, segment, home })
    }
}

impl Way<'_> {
    /// Under the shard's lock: whether it is still the way to the key's lines.
    #[inline(always)]
    pub fn holds(&self, shard: Shard<'_>) -> bool {
        let reference = shard.words.u32_at(self.entry_at).load(Relaxed);
        step!(WayDirectory, shard.directory() == self.directory)
            && step!(WayEntry, reference as usize * 8 == self.segment.at)
    }
}
