//! The short way of a reader who attached: to a plain string, tried once, by as few instructions as there can be.
//!
//! ```text
//! set out    hash -> shard, directory, segment -> home line
//! look       version, then tags -> the item's reference; where none is alike, the stash line's
//! take       one comparison: plain, and a key of this length? is it the key? copy
//! still so   entry, version, directory, root, several: as in `View::read`
//! ```
//!
//! What is seen on the way is kept in a [`Trail`]: for one key in registers, for a batch in an array
//! (`together.rs`). Places are kept as references, in granules of 8 bytes: one that a u32 can hold lies within
//! the arena's reach, so that nothing has to be cut, and the processor's own address mode does the
//! rest. Whatever is not plain is left to `View::read`, for which by then all memory is near.
//!
//! The server's passes (`batch.rs`, `candidate.rs`) do the same and keep more: a writer goes by it.

use crate::arena::Mem;
use crate::arena::header::{MAGIC, MAGIC_AT};
use crate::index::bucket::{Line, SLOTS};
use crate::index::directory::DirectoryWord;
use crate::index::read::{Contended, View, step};
use crate::index::segment::{
    SEGMENT_BYTES, STASH_LINES, home_of, likely_stash, line_offset, stash_line,
};
use crate::index::shard::Shard;
use crate::index::tags::{stash_of, tag_of};
use crate::index::typical::TypicalBytes;
use crate::item::Item;
use crate::reader::Copied;
use crate::sync::atomics::AtomicU32;
use crate::sync::atomics::Ordering::Acquire;
use crate::sync::atomics::fence;
use crate::verbs::{Db, Key, Millis};

/// Of items read one by one, one in so many tells how long items are.
const SAMPLED: u64 = 64;
// What `View::plain_item` sees where a trail leads to no item: flags and kind say that it is not plain.
const _: () = assert!(MAGIC & 0xffdf != 0 && MAGIC_AT == 0);

/// What a read has gone by, and must find unchanged at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trail<'a> {
    pub entry: &'a AtomicU32,
    pub directory: u64,
    pub several: u64,
    /// Places, in granules: the shard's block; the segment; the line that was looked at last.
    pub shard: u32,
    pub segment: u32,
    pub line: u32,
    pub version: u32,
    /// The item that the line names, in granules; 0 = none.
    pub item: u32,
    /// If `line` is a stash line: its home line, else 0; and the version of that.
    pub home: u32,
    pub home_version: u32,
    pub tag: u32,
}

/// The granules of a place that lies at a multiple of eight, within the arena's reach.
#[inline(always)]
pub(super) fn granules(at: usize) -> u32 {
    (at / 8) as u32
}

/// The offset of a place.
#[inline(always)]
pub(super) fn offset(granules: u32) -> usize {
    granules as usize * 8
}

#[inline(always)]
fn line(words: Mem<'_>, granules: u32) -> Line<'_> {
    Line { words, at: offset(granules) }
}

impl<'a> View<'a> {
    /// `None`: there is no way, or none at present; this is not to say that there is no such key.
    #[inline(always)]
    pub(super) fn set_out(&self, root: u32, hash: u64) -> Option<Trail<'a>> {
        let shard = self.shard_of(root, hash);
        let several = shard.several();
        let directory = shard.directory();
        let entry_at = directory.entry_at(self.position(hash));
        // A shard without segments has no entries: what would be taken for one is the arena's header.
        if several & 1 != 0 || directory.is_empty() || !self.words.may_load(entry_at, 4) {
            return None;
        }
        Some(Trail {
            entry: self.words.u32_at(entry_at),
            directory: directory.0,
            several,
            // Cut to the reach, as the shard's own words are.
            shard: (shard.at / 8) as u32,
            segment: 0,
            line: granules(line_offset(home_of(hash))),
            version: 0,
            item: 0,
            home: 0,
            home_version: 0,
            tag: u32::from(tag_of(hash)),
        })
    }

    /// From the directory's entry to the home line. False: there is none.
    #[inline(always)]
    pub(super) fn enter(&self, trail: &mut Trail<'a>) -> bool {
        // Pairs with the Release with which a split publishes the new segments.
        trail.segment = trail.entry.load(Acquire);
        if !self.words.may_load(offset(trail.segment), SEGMENT_BYTES) {
            // What a line that is none names is not to be followed.
            (trail.segment, trail.line) = (0, 0);
            return false;
        }
        trail.line = trail.line.wrapping_add(trail.segment);
        true
    }

    /// No trail: with the item 0 it leads to nothing.
    #[inline(always)]
    pub(super) fn nowhere(&self) -> Trail<'a> {
        Trail {
            entry: self.words.u32_at(self.roots_at),
            directory: 0,
            several: 0,
            shard: 0,
            segment: 0,
            line: 0,
            version: 0,
            item: 0,
            home: 0,
            home_version: 0,
            tag: 0,
        }
    }

    /// Looks at the trail's line. False: it names no item. Without a branch, since the processor could
    /// not foresee it.
    #[inline(always)]
    pub(super) fn look(&self, trail: &mut Trail<'a>) -> bool {
        let line = line(self.words, trail.line);
        let (version, matches) = line.matches(trail.tag as u8);
        trail.version = version;
        let slot = (matches | 1 << (SLOTS - 1)).trailing_zeros();
        let reference = line.reference(slot as usize);
        trail.item = if matches == 0 { 0 } else { reference };
        matches != 0
    }

    /// The home line, which was looked at, names no item: on to its stash line, which is asked for. False: it
    /// has none.
    #[inline(always)]
    pub(super) fn go_on(&self, trail: &mut Trail<'a>) -> bool {
        let stash = stash_of(trail.version);
        if stash == 0 || stash > STASH_LINES {
            return false;
        }
        (trail.home, trail.home_version) = (trail.line, trail.version);
        trail.line = trail.segment.wrapping_add(granules(line_offset(stash_line(stash))));
        self.words.prefetch(offset(trail.line));
        true
    }

    /// The trail's item, if it is a plain string of this key.
    #[inline(always)]
    pub(super) fn plain_item(&self, trail: &Trail<'a>, key: &[u8]) -> Option<Item<'a>> {
        if cfg!(any(shuttle, miri)) && trail.item == 0 {
            return None;
        }
        // Where there is none this looks at the arena's first word, which is no plain item's.
        let item = Item::plain_of(self.words, offset(trail.item), key.len())?;
        item.has_key(key).then_some(item)
    }

    /// Whether all that the trail led by is as it was: what was copied since counts.
    #[inline(always)]
    pub(super) fn is_still_so(&self, db: Db, root: u32, trail: &Trail<'a>) -> bool {
        let line_now = || line(self.words, trail.line).version();
        let home_now = || line(self.words, trail.home).version();
        let shard = Shard { words: self.words, at: offset(trail.shard) };
        // As in `View::holds`: the loads of the item come before the loads below.
        fence(Acquire);
        let versions =
            || line_now() == trail.version && (trail.home == 0 || home_now() == trail.home_version);
        // As in `View::is_entry`.
        step!(Entry, trail.entry.load(Acquire) == trail.segment)
            && step!(Version, versions())
            && step!(Directory, shard.directory() == DirectoryWord(trail.directory))
            && step!(Root, self.root_of(db) == root)
            && step!(Several, shard.several() == trail.several)
    }

    /// A read of one key. `None`: go the long way; what `visit` did is void.
    #[inline(always)]
    pub fn read_plain<R>(
        &self,
        db: Db,
        key: &Key<'_>,
        typical: &TypicalBytes,
        visit: impl FnOnce(&Item<'a>) -> R,
    ) -> Option<R> {
        let root = self.root_of(db);
        let mut trail = self.set_out(root, key.hash)?;
        if !self.enter(&mut trail) {
            return None;
        }
        // One key of twelve is in a stash line, and nearly always in this one: it is on its way together
        // with the home line. For a batch that would be too much to ask for.
        let stash = stash_line(likely_stash(home_of(key.hash)));
        self.words.prefetch(offset(trail.segment) + line_offset(stash));
        if !(self.look(&mut trail) || self.go_on(&mut trail) && self.look(&mut trail)) {
            return None;
        }
        // Most items straddle two lines or three, and where the value is, is known only from the first:
        // without this the second miss would wait for the first.
        self.prefetch_rest(offset(trail.item), typical.get());
        let item = self.plain_item(&trail, key.bytes)?;
        let result = visit(&item);
        if key.hash.is_multiple_of(SAMPLED) {
            typical.sample(item.head.size());
        }
        self.is_still_so(db, root, &trail).then_some(result)
    }

    /// A read of a string, the long way. Calls `copy` with it and its integer, once for each attempt, for the
    /// length of its value.
    #[inline(always)]
    pub fn read_string(
        &self,
        db: Db,
        key: &Key<'_>,
        now: impl Fn() -> Millis,
        mut copy: impl FnMut(&Item<'_>, i64) -> usize,
    ) -> Result<Copied, Contended> {
        self.read(db, key, |hit| {
            let Some(hit) = hit.filter(|hit| !hit.item.head.has_ttl() || !hit.item.is_due(now()))
            else {
                return Copied::NoKey;
            };
            if !hit.item.head.is_string() {
                return Copied::OtherKind;
            }
            let int = if hit.item.head.is_int() { hit.item.int() } else { 0 };
            Copied::Value(copy(&hit.item, int))
        })
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests;
