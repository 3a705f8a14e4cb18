//! Finding a key under its shard's lock.

use super::{Guard, Held};
use crate::index::bucket::Line;
use crate::index::segment::{Segment, home_of, likely_stash, stash_line};
use crate::index::shard::Shard;
use crate::index::tags::tag_of;
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

    /// The slot alone: its segment, line and number.
    pub fn place(&self) -> (Segment<'a>, usize, usize) {
        (self.segment, self.line, self.slot)
    }
}

impl<'s> Guard<'s> {
    #[inline(always)]
    pub(crate) fn target(&self, db: Db, hash: u64) -> Target<'s> {
        let view = self.session.view();
        let shard = match self.held {
            // Whoever locked it has found it: the database cannot move while it is locked.
            Held::One(at) => Shard { words: view.words, at },
            _ => view.shard_of(view.root_of(db), hash),
        };
        debug_assert!(
            self.holds(shard) && shard.at == view.shard_of(view.root_of(db), hash).at,
            "a guard was used for a key that it does not hold"
        );
        let (root, shard_number) = view.owner_of(shard);
        Target { db, root, shard_number, shard }
    }

    /// The key's place, due or not.
    #[inline(always)]
    pub(crate) fn locate(&self, target: &Target<'s>, key: &Key<'_>) -> Option<Spot<'s>> {
        let directory = target.shard.directory();
        if directory.is_empty() {
            return None;
        }
        let view = self.session.view();
        let segment = target.shard.segment_of(directory, view.position(key.hash));
        let tag = tag_of(key.hash);
        let home = home_of(key.hash);
        let mut line = home;
        // As in `read_plain`; and a new key is given it if its home line is full.
        segment.line(stash_line(likely_stash(home))).prefetch();
        loop {
            let bucket = segment.line(line);
            let tags = bucket.load();
            let mut matches = tags.matches(tag);
            while matches != 0 {
                let slot = matches.trailing_zeros() as usize;
                matches &= matches - 1;
                if let Some(item) = Item::at(bucket.words, bucket.reference(slot) as usize * 8)
                    && item.has_key(key.bytes)
                {
                    return Some(Spot { segment, line, slot, item });
                }
            }
            // The home line has been looked at: what does not fit there is in its stash line.
            if line != home || tags.stash() == 0 {
                return None;
            }
            line = stash_line(tags.stash());
        }
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

    /// The item of a key. One that is due is removed here (event `Expired`) and not found. Who looks under
    /// the lock, other than to know only [whether it is there](Guard::has), needs the key: it stays as long
    /// as one just written, also where there is nothing to change.
    pub fn find(&mut self, db: Db, key: &Key<'_>) -> Option<Found> {
        let target = self.target(db, key.hash);
        let spot = self.needed(&target, key)?;
        Some(spot.item.found(spot.bucket().meta(spot.slot)).0)
    }

    /// Whether there is such a key, which is no use of it. One that is due is removed, as by [`find`](Guard::find).
    pub fn has(&mut self, db: Db, key: &Key<'_>) -> bool {
        let target = self.target(db, key.hash);
        self.live(&target, key).is_some()
    }

    /// The key's place, as of one who needs it.
    #[inline(always)]
    pub(crate) fn needed(&mut self, target: &Target<'s>, key: &Key<'_>) -> Option<Spot<'s>> {
        let spot = self.live(target, key)?;
        self.renew(target, &spot);
        Some(spot)
    }

    /// Makes a key that is written again as young as a new one, in the eyes of eviction.
    #[inline(always)]
    pub(super) fn renew(&self, target: &Target<'s>, spot: &Spot<'s>) {
        spot.bucket().renew(spot.slot, target.shard.generation());
    }

    /// Appends the value of a key; false if there is none.
    pub fn value(&mut self, db: Db, key: &Key<'_>, out: &mut Vec<u8>) -> bool {
        let target = self.target(db, key.hash);
        let Some(spot) = self.needed(&target, key) else { return false };
        let int = if spot.item.head.is_int() { spot.item.int() } else { 0 };
        spot.item.copy_value(int, out);
        true
    }

    /// The integer of a key stored as `Encoding::Int`.
    pub fn int(&mut self, db: Db, key: &Key<'_>) -> Option<i64> {
        let target = self.target(db, key.hash);
        let spot = self.needed(&target, key)?;
        spot.item.head.is_int().then(|| spot.item.int())
    }
}
