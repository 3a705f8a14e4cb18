//! Finding a key under its shard's lock.

use super::Guard;
use crate::index::bucket::{Line, tag_of};
use crate::index::segment::{Segment, home_of, stash_line};
use crate::index::shard::Shard;
use crate::item::Item;
use crate::verbs::{Db, Event, Found, Key};

/// Where a key belongs: its database's root and its shard, locked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub db: Db,
    pub root: u32,
    pub shard_number: usize,
    pub shard: Shard<'a>,
}

/// Where a key is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'a> {
    pub segment: Segment<'a>,
    /// Number of the line in the segment.
    pub line: usize,
    pub slot: usize,
    pub item: Item<'a>,
}

impl<'a> Spot<'a> {
    pub fn bucket(&self) -> Line<'a> {
        self.segment.line(self.line)
    }
}

impl<'s> Guard<'s> {
    #[inline(always)]
    pub(crate) fn target(&self, db: Db, hash: u64) -> Target<'s> {
        let view = self.session.view();
        let root = view.root_of(db);
        let shard_number = view.shard_number(hash);
        let target = Target { db, root, shard_number, shard: view.shard_at(root, shard_number) };
        debug_assert!(self.holds(target.shard), "a guard was used for a key that it does not hold");
        target
    }

    /// The key's place, due or not.
    #[inline(always)]
    pub(crate) fn locate(&self, target: &Target<'s>, key: &Key<'_>) -> Option<Spot<'s>> {
        let directory = target.shard.directory();
        if directory.is_empty() {
            return None;
        }
        let view = self.session.view();
        let segment = target.shard.segment_of(directory, view.shifted(key.hash));
        let tag = tag_of(key.hash);
        let home = home_of(key.hash);
        self.locate_in_line(segment, home, tag, key.bytes).or_else(|| {
            let stash = segment.line(home).load().stash();
            if stash == 0 {
                return None;
            }
            self.locate_in_line(segment, stash_line(stash), tag, key.bytes)
        })
    }

    #[inline(always)]
    fn locate_in_line(
        &self,
        segment: Segment<'s>,
        line: usize,
        tag: u8,
        key: &[u8],
    ) -> Option<Spot<'s>> {
        let bucket = segment.line(line);
        let mut matches = bucket.load().matches(tag);
        while matches != 0 {
            let slot = matches.trailing_zeros() as usize;
            matches &= matches - 1;
            // A false match of an empty slot may name anything, also a place outside.
            if let Some(item) = Item::at(bucket.words, bucket.reference(slot) as usize * 8)
                && item.has_key(key)
                && bucket.load().tag(slot) == tag
            {
                return Some(Spot { segment, line, slot, item });
            }
        }
        None
    }

    /// The key's place; an item that is due is removed first.
    #[inline(always)]
    pub(crate) fn live(&mut self, target: &Target<'s>, key: &Key<'_>) -> Option<Spot<'s>> {
        let spot = self.locate(target, key)?;
        if spot.item.is_due(self.now) {
            self.take_out(target, key.bytes, &spot, Event::Expired);
            return None;
        }
        Some(spot)
    }

    /// The item of a key. One that is due is removed here (event `Expired`) and not found.
    pub fn find(&mut self, db: Db, key: &Key<'_>) -> Option<Found> {
        let target = self.target(db, key.hash);
        let spot = self.live(&target, key)?;
        Some(spot.item.found(spot.bucket().meta(spot.slot)).0)
    }

    /// Appends the value of a key; false if there is none.
    pub fn value(&mut self, db: Db, key: &Key<'_>, out: &mut Vec<u8>) -> bool {
        let target = self.target(db, key.hash);
        let Some(spot) = self.live(&target, key) else { return false };
        let int = if spot.item.head.is_int() { spot.item.int() } else { 0 };
        spot.item.copy_value(int, out);
        true
    }

    /// The integer of a key stored as `Encoding::Int`.
    pub fn int(&mut self, db: Db, key: &Key<'_>) -> Option<i64> {
        let target = self.target(db, key.hash);
        let spot = self.live(&target, key)?;
        spot.item.head.is_int().then(|| spot.item.int())
    }
}
