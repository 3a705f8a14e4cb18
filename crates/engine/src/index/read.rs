//! Reading without a lock: the whole path of server threads and attached processes. The shorter ones, of a key that
//! a batch has fetched (`candidate.rs`) and of an attached process (`trail.rs`), end here where something is not plain.
//!
//! A read loads the shard's directory word, the directory entry, the key's home line and, if that
//! has one, its stash line; looks at the item; and then checks that the directory entry, the lines'
//! versions, the directory word and the database's root are what they were. If so, all it
//! saw belonged together at the moment of the check. If not, it starts again. Nothing that is
//! read before the check is trusted: every reference is bounded by the arena's mapping, and memory
//! that has been given back reads as something that fails the check.
//!
//! The entry is looked at before the versions, because it alone may come to be again what it was: two
//! splits in a row free a segment's block and give it to a child of the second one.
//! ```text
//! reader   entry: X                       X's line: fresh, empty        version: the same   entry: X   no such key?
//! writer             split X, X is free, reset                                  fill X, entry: X
//! ```
//! Versions and directory words do not come again: where one is the same at the end, it was so all the time.
//! So with the entry first, its block was the key's segment at that moment, and by the version, which is
//! seen afterwards, the line was then what had been read of it (decision 153).

use crate::arena::Mem;
use crate::index::bucket::Line;
use crate::index::directory::{DirectoryWord, POSITION_BITS};
use crate::index::segment::{SEGMENT_BYTES, STASH_LINES, Segment};
use crate::index::segment::{home_of, likely_stash, stash_line};
use crate::index::shard::{SHARD_BYTES, Shard};
use crate::index::tags::{LineTags, tag_of};
use crate::item::Item;
use crate::sync::atomics::Ordering::Acquire;
use crate::sync::atomics::{fence, spin_turn};
use crate::verbs::{Db, Key, Millis};

/// A step of a read's final check. A model can leave one out, to show that it would be missed.
macro_rules! step {
    ($name:ident, $check:expr) => {{
        #[cfg(shuttle)]
        let left_out = crate::sync::modelled::is_left_out(crate::sync::modelled::Fault::$name);
        #[cfg(not(shuttle))]
        let left_out = false;
        left_out || $check
    }};
}
pub(crate) use step;

/// A step that comes too late here, where a model has it made instead of in its place.
macro_rules! late {
    ($name:ident, $check:expr) => {{
        #[cfg(shuttle)]
        let is_made =
            !crate::sync::modelled::is_left_out(crate::sync::modelled::Fault::$name) || $check;
        #[cfg(not(shuttle))]
        let is_made = true;
        is_made
    }};
}

/// Attempts before a reader gives up and asks for the lock (or, attached, the server).
const ATTEMPTS_MAX: u32 = 1000;
/// The same of a long item, which each of them may copy: a change in place of any key of its shard undoes that.
const LONG_ATTEMPTS_MAX: u32 = 16;
/// Bytes of an item that are copied before it is known to be one.
const COPY_UNCHECKED_MAX: usize = 4096;

/// What is needed to find a key: where things lie in the arena, and the placement's parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub words: Mem<'a>,
    /// Offset of the u32 per database that names its root.
    pub roots_at: usize,
    /// Offset of the control block of shard 0 of root 0.
    pub shards_at: usize,
    pub shard_bits: u32,
    /// Shard control blocks from one root to the next.
    pub shards_stride: usize,
}

/// The reader lost against writers too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contended;

/// Where a key was found, for who wants to note the use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit<'a> {
    pub item: Item<'a>,
    pub line: Line<'a>,
    pub slot: usize,
}

/// What a read of one of several keys found, in those words that are changed one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub hit: Hit<'a>,
    pub int: i64,
    pub deadline: Millis,
}

impl Shown<'_> {
    /// Whether everybody still sees this item, integer and deadline.
    fn is_shown(&self) -> bool {
        let Hit { item, line, slot } = &self.hit;
        line.reference(*slot) as usize * 8 == item.at
            && (!item.head.is_int() || item.int() == self.int)
            && item.deadline() == self.deadline
    }
}

/// What has to be unchanged for a read to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence<'a> {
    root: u32,
    shard: Shard<'a>,
    directory: DirectoryWord,
    entry_at: usize,
    segment_reference: u32,
    home: Line<'a>,
    home_tags: LineTags,
    stash: Option<(Line<'a>, LineTags)>,
}

impl<'a> View<'a> {
    #[inline(always)]
    pub fn root_of(&self, db: Db) -> u32 {
        self.words.u32_at(self.roots_at + 4 * db.0 as usize).load(Acquire)
    }

    #[inline(always)]
    pub fn shard_number(&self, hash: u64) -> usize {
        (hash >> (64 - self.shard_bits)) as usize
    }

    #[inline(always)]
    pub fn shard_at(&self, root: u32, number: usize) -> Shard<'a> {
        let at = self.shards_at + (root as usize * self.shards_stride + number) * SHARD_BYTES;
        Shard { words: self.words, at }
    }

    /// The root and the number of a shard.
    #[inline(always)]
    pub fn owner_of(&self, shard: Shard<'_>) -> (u32, usize) {
        let index = (shard.at - self.shards_at) / SHARD_BYTES;
        ((index / self.shards_stride) as u32, index % self.shards_stride)
    }

    #[inline(always)]
    pub fn shard_of(&self, root: u32, hash: u64) -> Shard<'a> {
        self.shard_at(root, self.shard_number(hash))
    }

    /// The bits of a hash by which its shard's directory is asked: the 32 below the shard's.
    #[inline(always)]
    pub fn position(&self, hash: u64) -> u64 {
        hash << self.shard_bits >> (64 - POSITION_BITS)
    }

    pub fn shard_count(&self) -> usize {
        1 << self.shard_bits
    }

    /// Whether a directory's entry still names a segment: asked before the versions of its lines, and
    /// before the directory's word. Acquire keeps it there; it pairs with the Release in `publish`: who sees
    /// a segment named again sees its lines filled, with new versions.
    #[inline(always)]
    pub(crate) fn is_entry(&self, entry_at: usize, segment_reference: u32) -> bool {
        self.words.u32_at(entry_at).load(Acquire) == segment_reference
    }

    /// Finds `key` and calls `visit` with it, or with `None` if it is not there. Nothing that
    /// `visit` did counts until this returns: it may be called several times.
    ///
    /// The same steps as `probe` and `holds`, with everything in registers: this is the GET.
    #[inline(always)]
    pub fn read<R>(
        &self,
        db: Db,
        key: &Key<'_>,
        mut visit: impl FnMut(Option<&Hit<'a>>) -> R,
    ) -> Result<R, Contended> {
        let tag = tag_of(key.hash);
        let home_number = home_of(key.hash);
        let mut long_attempts = 0;
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                spin_turn();
            }
            let root = self.root_of(db);
            let shard = self.shard_of(root, key.hash);
            // A write of several keys is seen whole or not at all, also by two reads in a row: who
            // has seen one of its keys new has seen it end.
            let several = shard.several();
            if several & 1 != 0 {
                continue;
            }
            let directory = shard.directory();
            if directory.is_empty() {
                let result = visit(None);
                // As in `holds`. The database may have had another root since, and this one be flushed.
                fence(Acquire);
                if shard.directory() == directory
                    && step!(Root, self.root_of(db) == root)
                    && shard.several() == several
                {
                    return Ok(result);
                }
                continue;
            }
            let entry_at = directory.entry_at(self.position(key.hash));
            if !self.words.may_load(entry_at, 4) {
                continue;
            }
            // Pairs with the Release with which a split publishes the new segments.
            let segment_reference = self.words.u32_at(entry_at).load(Acquire);
            let segment = Segment { words: self.words, at: segment_reference as usize * 8 };
            if !self.words.may_load(segment.at, SEGMENT_BYTES) {
                continue;
            }
            let home = segment.line(home_number);
            // As in `read_plain`.
            segment.line(stash_line(likely_stash(home_number))).prefetch();
            let home_tags = home.load();
            // The line that decides a miss too: without a stash line, the home line again.
            let (mut second, mut second_version) = (home, home_tags.version());
            let mut hit = self.match_line(home, home_tags, tag, key);
            if hit.is_none() && home_tags.stash() != 0 {
                if home_tags.stash() > STASH_LINES {
                    continue;
                }
                second = segment.line(stash_line(home_tags.stash()));
                let tags = second.load();
                second_version = tags.version();
                hit = self.match_line(second, tags, tag, key);
            }
            // A length from a block that is being reused could be anything up to the arena's end:
            // look before copying much.
            if let Some(hit) = &hit
                && hit.item.head.size() > COPY_UNCHECKED_MAX
            {
                fence(Acquire);
                // A flushed item's line keeps its version: the directory tells of that.
                if !self.is_entry(entry_at, segment_reference)
                    || home.version() != home_tags.version()
                    || second.version() != second_version
                    || shard.directory() != directory
                    || self.root_of(db) != root
                    || shard.several() != several
                {
                    continue;
                }
                if long_attempts == LONG_ATTEMPTS_MAX {
                    return Err(Contended);
                }
                long_attempts += 1;
            }
            let result = visit(hit.as_ref());
            // As in `holds`.
            fence(Acquire);
            let versions =
                || home.version() == home_tags.version() && second.version() == second_version;
            let entry = || self.is_entry(entry_at, segment_reference);
            if step!(EntryFirst, step!(Entry, entry()))
                && step!(Version, versions())
                && late!(EntryFirst, entry())
                && step!(Directory, shard.directory() == directory)
                && step!(Root, self.root_of(db) == root)
                && step!(Several, shard.several() == several)
            {
                return Ok(result);
            }
        }
        Err(Contended)
    }

    /// One attempt. The outer `None`: what was seen cannot be, try again. Evidence is `None` for
    /// a shard that has no segments.
    #[inline(always)]
    pub fn probe(&self, db: Db, key: &Key<'_>) -> Option<(Option<Hit<'a>>, Option<Evidence<'a>>)> {
        let root = self.root_of(db);
        let shard = self.shard_of(root, key.hash);
        let directory = shard.directory();
        if directory.is_empty() {
            return Some((None, None));
        }
        let entry_at = directory.entry_at(self.position(key.hash));
        if !self.words.may_load(entry_at, 4) {
            return None;
        }
        // Pairs with the Release with which a split publishes the new segments.
        let segment_reference = self.words.u32_at(entry_at).load(Acquire);
        let segment = Segment { words: self.words, at: segment_reference as usize * 8 };
        if segment_reference == 0 || !self.words.may_load(segment.at, SEGMENT_BYTES) {
            return None;
        }
        let tag = tag_of(key.hash);
        let home = segment.line(home_of(key.hash));
        let home_tags = home.load();
        let mut evidence = Evidence {
            root,
            shard,
            directory,
            entry_at,
            segment_reference,
            home,
            home_tags,
            stash: None,
        };
        if let Some(hit) = self.match_line(home, home_tags, tag, key) {
            return Some((Some(hit), Some(evidence)));
        }
        let stash = home_tags.stash();
        if stash == 0 {
            return Some((None, Some(evidence)));
        }
        if stash > STASH_LINES {
            return None;
        }
        let stash = segment.line(stash_line(stash));
        let stash_tags = stash.load();
        evidence.stash = Some((stash, stash_tags));
        Some((self.match_line(stash, stash_tags, tag, key), Some(evidence)))
    }

    #[inline(always)]
    fn match_line(
        &self,
        line: Line<'a>,
        tags: LineTags,
        tag: u8,
        key: &Key<'_>,
    ) -> Option<Hit<'a>> {
        let mut matches = tags.matches(tag);
        while matches != 0 {
            let slot = matches.trailing_zeros() as usize;
            matches &= matches - 1;
            let at = line.reference(slot) as usize * 8;
            // Most items straddle two lines, and where the value is, is known only from the first:
            // without this the second miss would wait for the first.
            self.words.prefetch(at + 64);
            if let Some(item) = Item::at(self.words, at)
                && item.has_key(key.bytes)
            {
                return Some(Hit { item, line, slot });
            }
        }
        None
    }

    /// Whether everything that a read went by is still so.
    #[inline(always)]
    pub fn holds(&self, db: Db, evidence: &Evidence<'a>) -> bool {
        // Orders the loads of the item before the loads below. Pairs with the Release fence in
        // `item::write_item`: whoever saw a byte of a reused block sees the version that was
        // bumped before the block was freed.
        fence(Acquire);
        let versions = || {
            evidence.home.version() == evidence.home_tags.version()
                && evidence.stash.is_none_or(|(line, tags)| line.version() == tags.version())
        };
        let entry = || self.is_entry(evidence.entry_at, evidence.segment_reference);
        let directory = || evidence.shard.directory() == evidence.directory;
        let root = || self.root_of(db) == evidence.root;
        step!(Entry, entry())
            && step!(Version, versions())
            && step!(Directory, directory())
            && step!(Root, root())
    }

    /// As `holds`, and what others see is still the same, too: for reads of several keys at once.
    /// A writer publishes with one store and bumps the version with the next. In between, others
    /// see the new value and may act on it, while the version is still the old one. So what is
    /// published is looked at first, and then the versions: between two publications lies a bump.
    pub fn holds_exactly(&self, db: Db, evidence: &Evidence<'a>, shown: Option<Shown<'a>>) -> bool {
        step!(Shown, shown.is_none_or(|shown| shown.is_shown()))
            && evidence.home.load().tags_only() == evidence.home_tags.tags_only()
            && evidence.stash.is_none_or(|(line, tags)| line.load().tags_only() == tags.tags_only())
            && self.holds(db, evidence)
    }
}
