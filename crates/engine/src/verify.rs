//! The invariants of the index, by number. `verify` walks the arena and checks each of them.
//!
//! * X1 a directory's entries name segments of its root and shard; a segment of `count` entries of a
//!   directory with d doublings fills exactly the count * 2^(D-d) that follow its first
//! * X2 an item lies where its hash says: shard, segment, and home line or that line's stash line,
//!   under the hash's tag
//! * X3 no block is referenced twice, and no key is present twice
//! * X4 a slot's TTL bit is its item's; the shard's count of items, and its own and the segments'
//!   of items with a deadline, agree
//! * X5 nothing is due before the segment's and the shard's word says so, but for the time by which
//!   a sweep may put a segment off
//! * X6 items lie within the arena, with lengths within the limits, and a key that has room within that
//! * X7 a segment's words of sides name its depth, and a side that is known is that of the item's hash
//!
//! And whose blocks are whose (A8, A9): `alloc/owned.rs`.

use crate::alloc::{Owned, PageKind};
use crate::engine::Engine;
use crate::index::bucket::{META_TTL, SLOTS};
use crate::index::directory::cells_of;
use crate::index::segment::{HOME_LINES, LINES, SEGMENT_BYTES, Segment, home_of, stash_line};
use crate::index::shard::Shard;
use crate::index::tags::tag_of;
use crate::item::{Item, KEY_ROOM};
use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::maintenance::SWEEP_EVERY_MS;
use crate::verbs::Db;
use std::collections::HashSet;
use std::ops::Range;

#[derive(Default)]
struct Seen {
    items: u64,
    ttl_items: u64,
}

impl Engine {
    /// Walks the arena and checks every numbered invariant but A9. Locks everything meanwhile.
    pub fn verify(&self) -> Result<(), String> {
        self.verify_all(false)
    }

    /// As [`Engine::verify`], and checks that no block is lost (A9). Nobody else may be at work, not
    /// even maintenance.
    pub fn verify_at_rest(&self) -> Result<(), String> {
        self.verify_all(true)
    }

    fn verify_all(&self, is_at_rest: bool) -> Result<(), String> {
        let held = self.lock_all();
        let outcome = self.verify_locked(is_at_rest);
        self.unlock_several(&held);
        outcome
    }

    fn verify_locked(&self, is_at_rest: bool) -> Result<(), String> {
        let mut owned = Owned::default();
        (0..self.databases()).try_for_each(|db| self.verify_database(Db(db), &mut owned))?;
        // Blocks are taken and given back under a shard's lock, so that nothing moves now.
        self.allocator().verify_alloc()?;
        // What was flushed is given back without one: not while this is held.
        let graveyard = self.graveyard().lock().expect("no holder panics");
        let mut is_once = true;
        graveyard.iter().for_each(|buried| {
            self.each_block_of(buried, |at, bytes, kind| is_once &= owned.insert(at, bytes, kind));
        });
        if !is_once {
            return Err("A8 a block of a flushed database is somebody else's as well".into());
        }
        self.allocator().verify_owned(&owned)?;
        if is_at_rest {
            self.leases().each_given(|at, bytes| {
                owned.insert(at, bytes, PageKind::Item);
            });
            self.allocator().verify_no_other(&owned, self.expected().bytes())?;
        }
        Ok(())
    }

    fn verify_database(&self, db: Db, owned: &mut Owned) -> Result<(), String> {
        let root = self.view().root_of(db);
        if !self.is_open(root) {
            return Ok(());
        }
        let mut keys = HashSet::new();
        for number in 0..self.view().shard_count() {
            let shard = self.view().shard_at(root, number);
            let mut seen = Seen::default();
            self.verify_shard(root, number, shard, &mut seen, owned, &mut keys)
                .map_err(|what| format!("database {}, shard {number}: {what}", db.0))?;
            if seen.items != shard.items() || seen.ttl_items != shard.ttl_items() {
                return Err(format!(
                    "X4 database {}, shard {number}: {} items ({} with TTL) were found, {} ({}) counted",
                    db.0,
                    seen.items,
                    seen.ttl_items,
                    shard.items(),
                    shard.ttl_items()
                ));
            }
        }
        Ok(())
    }

    fn verify_shard(
        &self,
        root: u32,
        number: usize,
        shard: Shard<'_>,
        seen: &mut Seen,
        owned: &mut Owned,
        keys: &mut HashSet<Vec<u8>>,
    ) -> Result<(), String> {
        let directory = shard.directory();
        if directory.is_empty() {
            return Ok(());
        }
        if !owned.insert(directory.at(), directory.bytes(), PageKind::Index) {
            return Err("X3 the directory's block is in use twice".into());
        }
        if directory.cells() != cells_of(number, self.view().shard_count()) {
            return Err(format!("X1 a directory of {} cells", directory.cells()));
        }
        let mut index = 0;
        while index < directory.entries() {
            let segment = shard.segment(directory, index);
            if !self.mem().contains(segment.at, SEGMENT_BYTES) {
                return Err(format!("X1 entry {index} names a place outside"));
            }
            let owner = segment.owner().ok_or(format!("X1 entry {index} names no segment"))?;
            if owner.span.doublings > directory.doublings()
                || owner.root as u32 != root
                || owner.shard as usize != number
                || owner.span.first_in(directory) != index
                || owner.span.count == 0
                || owner.span.end_in(directory) > directory.entries()
            {
                return Err(format!("X1 entry {index} names a segment of {owner:?}"));
            }
            let entries = index..owner.span.end_in(directory);
            for entry in entries.clone() {
                if shard.segment(directory, entry).at != segment.at {
                    return Err(format!("X1 entries {index} and {entry} differ"));
                }
            }
            if !owned.insert(segment.at, SEGMENT_BYTES, PageKind::Index) {
                return Err(format!("X3 the segment of entry {index} is in use twice"));
            }
            index = entries.end;
            self.verify_segment(shard, number, entries, segment, seen, owned, keys)?;
        }
        Ok(())
    }

    fn verify_segment(
        &self,
        shard: Shard<'_>,
        number: usize,
        entries: Range<usize>,
        segment: Segment<'_>,
        seen: &mut Seen,
        owned: &mut Owned,
        keys: &mut HashSet<Vec<u8>>,
    ) -> Result<(), String> {
        let mut ttl_items = 0;
        if !segment.has_depth_of_its_span() {
            return Err(format!("X7 segment of {entries:?}: sides of another depth"));
        }
        for line in 1..LINES {
            let bucket = segment.line(line);
            let tags = bucket.load();
            for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
                let place = format!("segment of {entries:?}, line {line}, slot {slot}");
                let at = bucket.reference(slot) as usize * 8;
                let item =
                    Item::at(self.mem(), at).ok_or(format!("X6 {place}: beyond the arena"))?;
                if item.head.key_len > KEY_BYTES_MAX || item.head.value_len > VALUE_BYTES_MAX {
                    return Err(format!("X6 {place}: lengths beyond the limits"));
                }
                if !self.mem().contains(at, item.head.block_len()) {
                    return Err(format!("X6 {place}: beyond the arena"));
                }
                if item.head.has_key_room()
                    && !(item.head.is_wide() && item.head.key_len <= KEY_ROOM)
                {
                    return Err(format!("X6 {place}: a key beyond its room"));
                }
                let mut key = Vec::new();
                item.copy_key(&mut key);
                let hash = self.hash(&key);
                let home = home_of(hash);
                let stash = segment.line(home).load().stash();
                let entry = shard.directory().entry_of(self.view().position(hash));
                let here = self.view().shard_number(hash) == number
                    && entries.contains(&entry)
                    && tag_of(hash) == tags.tag(slot)
                    && (line == home
                        || line > HOME_LINES && stash != 0 && line == stash_line(stash));
                if !here {
                    return Err(format!("X2 {place}: the item belongs elsewhere"));
                }
                let position = self.view().position(hash);
                if !segment.side_is_of((line, slot), position, shard.directory()) {
                    return Err(format!("X7 {place}: it would go to the wrong half"));
                }
                if !owned.insert(at, item.head.block_len(), PageKind::Item) {
                    return Err(format!("X3 {place}: the block is referenced twice"));
                }
                if !keys.insert(key) {
                    return Err(format!("X3 {place}: the key is present twice"));
                }
                seen.items += 1;
                if (bucket.meta(slot) & META_TTL != 0) != item.head.has_ttl() {
                    return Err(format!("X4 {place}: the TTL bit is wrong"));
                }
                if item.head.has_ttl() {
                    ttl_items += 1;
                    let due = segment.next_due();
                    if item.deadline().saturating_add(SWEEP_EVERY_MS) < due
                        || due < shard.next_due()
                    {
                        return Err(format!("X5 {place}: it is due before anybody looks"));
                    }
                }
            }
        }
        if ttl_items != segment.ttl_items() {
            return Err(format!(
                "X4 segment of {entries:?}: {ttl_items} items with TTL were found, {} counted",
                segment.ttl_items()
            ));
        }
        seen.ttl_items += ttl_items;
        Ok(())
    }
}
