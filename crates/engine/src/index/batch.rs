//! Reading several keys at once: what one key's pass has found is carried to the next pass.
//!
//! ```text
//! pass 1   hash -> shard, directory, segment -> home line            ask for the line
//! pass 2   tags of the line -> candidate                             ask for the item
//! pass 2b  where the home line has none: the stash line's tags       ask for the item
//! pass 3   is it the key? copy; is all that led here unchanged?
//! ```
//!
//! Pass 3 ends with the checks of `View::read`, against what passes 1 and 2 saw: a value counts if
//! everything on the way to it is still the same. Whatever is not plain (a miss, an integer, a
//! candidate that is another key, a change meanwhile) is left to `View::read`, for which by then all
//! memory is near.

use crate::arena::Mem;
use crate::index::bucket::{Line, LineTags, tag_of};
use crate::index::read::View;
use crate::index::segment::{SEGMENT_BYTES, STASH_LINES, Segment, home_of, stash_line};
use crate::index::shard::{DirectoryWord, Shard};
use crate::item::Item;
use crate::sync::atomics::Ordering::{Acquire, Relaxed};
use crate::sync::atomics::fence;
use crate::verbs::{Db, Millis};

/// Keys of a batch: enough for memory to be the limit, few enough for what is fetched to stay.
pub(crate) const BATCH_KEYS: usize = 32;
/// Longer values are not read on the short way: their lengths want a look before they are copied.
const PLAIN_BYTES_MAX: usize = 512;

/// How far a key has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub hash: u64,
    shard: Shard<'a>,
    several: u64,
    directory: DirectoryWord,
    entry_at: usize,
    segment: u32,
    home: Line<'a>,
    home_version: u32,
    /// The line with the candidate: the home line, or its stash line.
    line: Line<'a>,
    line_version: u32,
    /// Where the candidate is; 0 = there is none.
    item_at: usize,
}

impl<'a> Step<'a> {
    /// A key that goes the long way from the beginning.
    fn none(words: Mem<'a>, hash: u64) -> Step<'a> {
        let (shard, line) = (Shard { words, at: 0 }, Line { words, at: 0 });
        let directory = DirectoryWord::NONE;
        Step {
            hash,
            shard,
            several: 0,
            directory,
            entry_at: 0,
            segment: 0,
            home: line,
            home_version: 0,
            line,
            line_version: 0,
            item_at: 0,
        }
    }
}

impl<'a> View<'a> {
    /// Pass 1.
    #[inline(always)]
    pub fn step_to_line(&self, root: u32, hash: u64) -> Step<'a> {
        let mut step = Step::none(self.words, hash);
        step.shard = self.shard_of(root, hash);
        step.several = step.shard.several();
        step.directory = step.shard.directory();
        if step.directory.is_empty() || step.several & 1 != 0 {
            return step;
        }
        let entry_at = step.directory.entry_at(self.shifted(hash));
        if !self.words.contains(entry_at, 4) {
            return step;
        }
        // Pairs with the Release with which a split publishes the new segments.
        step.segment = self.words.u32_at(entry_at).load(Acquire);
        let segment = Segment { words: self.words, at: step.segment as usize * 8 };
        if self.words.contains(segment.at, SEGMENT_BYTES) {
            step.entry_at = entry_at;
            step.home = segment.line(home_of(hash));
            step.home.prefetch();
        }
        step
    }

    /// Pass 2. True: pass 2b has something to do.
    #[inline(always)]
    pub fn step_to_item(&self, step: &mut Step<'a>) -> bool {
        if step.entry_at == 0 {
            return false;
        }
        let tags = step.home.load();
        step.home_version = tags.version();
        (step.line, step.line_version) = (step.home, step.home_version);
        if self.candidate(step, tags) {
            return false;
        }
        let stash = tags.stash();
        if stash == 0 || stash > STASH_LINES {
            return false;
        }
        let segment = Segment { words: self.words, at: step.segment as usize * 8 };
        step.line = segment.line(stash_line(stash));
        step.line.prefetch();
        true
    }

    /// Pass 2b.
    #[inline(always)]
    pub fn step_to_stashed(&self, step: &mut Step<'a>) {
        let tags = step.line.load();
        step.line_version = tags.version();
        self.candidate(step, tags);
    }

    #[inline(always)]
    fn candidate(&self, step: &mut Step<'a>, tags: LineTags) -> bool {
        let matches = tags.matches(tag_of(step.hash));
        if matches == 0 {
            return false;
        }
        step.item_at = step.line.reference(matches.trailing_zeros() as usize) as usize * 8;
        self.words.prefetch(step.item_at);
        self.words.prefetch(step.item_at + 64);
        true
    }

    /// Pass 3: appends the value. `None`: go the long way; `out` may have grown. `Some(false)`: the
    /// item is due, which is as good as not there.
    #[inline(always)]
    pub fn step_to_value(
        &self,
        db: Db,
        root: u32,
        step: &Step<'a>,
        key: &[u8],
        now: Millis,
        out: &mut Vec<u8>,
    ) -> Option<bool> {
        if step.item_at == 0 {
            return None;
        }
        let item = Item::at(self.words, step.item_at)?;
        let is_plain = item.head.is_string() && !item.head.is_int();
        if !is_plain || item.head.size() > PLAIN_BYTES_MAX || !item.has_key(key) {
            return None;
        }
        let is_due = item.is_due(now);
        if !is_due {
            item.copy_value(0, out);
        }
        // As in `View::holds`: the loads of the item come before the loads below.
        fence(Acquire);
        let holds = step.home.version() == step.home_version
            && step.line.version() == step.line_version
            && self.words.u32_at(step.entry_at).load(Relaxed) == step.segment
            && step.shard.directory() == step.directory
            && step.shard.several() == step.several
            && self.root_of(db) == root;
        holds.then_some(!is_due)
    }
}
