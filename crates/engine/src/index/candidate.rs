//! The last pass of a batch: is what the passes before it have found the key's item, and still there?
//!
//! ```text
//! reader   candidate -> is it the key? copy -> is all that led here unchanged?   else: the long way
//! writer   lock -> is all that led here unchanged? -> is it the key? -> replace   else: the long way
//! ```
//!
//! A reader ends with the checks of `View::read`, against what passes 1 and 2 saw: a value counts if
//! everything on the way to it is still the same. Whatever is not plain (a miss, an integer, a
//! candidate that is another key, a change meanwhile) is left to `View::read`, for which by then all
//! memory is near. A writer has the lock and asks first.

use crate::guard::Target;
use crate::index::batch::PLAIN_BYTES_MAX;
use crate::index::bucket::Line;
use crate::index::directory::DirectoryWord;
use crate::index::fetch::Fetch;
use crate::index::read::{View, step};
use crate::index::segment::{Segment, line_at};
use crate::index::shard::Shard;
use crate::index::tags::tag_of;
use crate::item::Item;
use crate::sync::atomics::Ordering::{Acquire, Relaxed};
use crate::sync::atomics::fence;
use crate::verbs::Db;
use std::hint::cold_path;

/// A plain item that pass 3 has met, and its byte in the index.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub item: Item<'a>,
    pub meta: u8,
}

impl<'a> View<'a> {
    /// Pass 3 begins: the candidate, if it is of the commonest form. What is constant about that form
    /// is so for the compiler as well, in all that is done with the item.
    #[inline(always)]
    pub fn plain_candidate(&self, fetch: &Fetch) -> Option<Item<'a>> {
        if fetch.item == 0 {
            return None;
        }
        Item::plain_at(self.words, fetch.item_at())
    }

    /// The same for a string of bytes in any other form, of two thousand at most.
    #[inline(always)]
    pub fn wide_candidate(&self, fetch: &Fetch) -> Option<Item<'a>> {
        if fetch.item == 0 {
            return None;
        }
        let item = Item::at(self.words, fetch.item_at())?;
        let is_bytes = item.head.is_string() && !item.head.is_int();
        (is_bytes && item.head.size() <= PLAIN_BYTES_MAX).then_some(item)
    }

    /// Pass 3: shows the candidate, if it is the key's, and says whether that counts.
    /// `None`: go the long way; what `visit` did is void.
    #[inline(always)]
    pub fn read_candidate<R>(
        &self,
        db: Db,
        fetch: &Fetch,
        key: &[u8],
        item: Item<'a>,
        visit: impl FnOnce(&Candidate<'a>) -> R,
    ) -> Option<R> {
        if !item.has_key(key) {
            cold_path();
            return None;
        }
        let line = Line { words: self.words, at: fetch.line_at() };
        let home = Line { words: self.words, at: fetch.home_at() };
        let shard = Shard { words: self.words, at: fetch.shard_at() };
        let result = visit(&Candidate { item, meta: line.meta(fetch.slot as usize) });
        // As in `View::holds`: the loads of the item come before the loads below.
        fence(Acquire);
        let versions =
            || home.version() == fetch.home_version && line.version() == fetch.line_version;
        let entry = || self.is_entry(fetch.entry_at, fetch.segment);
        let directory = || shard.directory() == DirectoryWord(fetch.directory);
        let holds = step!(Shown, self.is_shown(line, fetch))
            && step!(Entry, entry())
            && step!(Version, versions())
            && step!(Directory, directory())
            && step!(Root, self.root_of(db) == fetch.root)
            && step!(Several, shard.several() == fetch.several);
        if !holds {
            cold_path();
            return None;
        }
        Some(result)
    }

    /// Whether the slot shows the candidate to everybody. A writer publishes with one store and bumps the version
    /// with the next: between them another read, of the same client's, has seen the new value or that there
    /// is none. So this is asked before the versions.
    #[inline(always)]
    fn is_shown(&self, line: Line<'_>, fetch: &Fetch) -> bool {
        let slot = fetch.slot as usize;
        line.has_tag(slot, tag_of(fetch.hash)) && line.reference(slot) == fetch.item
    }

    // ---- for a writer ----

    /// The shard of a key that was fetched, and its database's root then. `None`: the shard was empty.
    #[inline(always)]
    pub fn shard_fetched(&self, fetch: &Fetch) -> Option<(Shard<'a>, u32)> {
        (fetch.home != 0).then_some((Shard { words: self.words, at: fetch.shard_at() }, fetch.root))
    }

    /// Under the lock of the shard at `held`: where the candidate is, with segment, line and slot. `None`:
    /// there is none, or what led to it has changed. With its line's version unchanged, no slot that had an
    /// item when the line was looked at has another one or none; the slot's reference is looked at as well,
    /// lest a version that has come round again free a block twice.
    #[inline(always)]
    pub fn place_fetched(
        &self,
        db: Db,
        fetch: &Fetch,
        held: usize,
    ) -> Option<(Target<'a>, Segment<'a>, usize, usize)> {
        if fetch.shard_at() != held {
            return None;
        }
        let (_, slot, _) = self.slot_fetched(fetch)?;
        let shard = Shard { words: self.words, at: fetch.shard_at() };
        let segment = Segment { words: self.words, at: fetch.segment as usize * 8 };
        let number = line_at(fetch.line_at() - segment.at);
        let shard_number = self.shard_number(fetch.hash);
        let target = Target { db, root: fetch.root, shard_number, shard };
        Some((target, segment, number, slot))
    }

    /// Under the shard's lock: the candidate's line, slot and reference, if they are what they were. An emptied slot
    /// still names its last item, so the tag is asked for too.
    #[inline(always)]
    pub fn slot_fetched(&self, fetch: &Fetch) -> Option<(Line<'a>, usize, u32)> {
        let shard = Shard { words: self.words, at: fetch.shard_at() };
        let line = Line { words: self.words, at: fetch.line_at() };
        let (slot, item) = (fetch.slot as usize, fetch.item);
        let entry = self.words.u32_at(fetch.entry_at);
        let is_there = item != 0
            && self.is_shown(line, fetch)
            && line.version() == fetch.line_version
            && step!(WayDirectory, shard.directory() == DirectoryWord(fetch.directory))
            && step!(WayEntry, entry.load(Relaxed) == fetch.segment);
        if !is_there {
            cold_path();
            return None;
        }
        Some((line, slot, item))
    }
}
