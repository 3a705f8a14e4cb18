//! Compaction: blocks are moved out of pages that are mostly empty, so that when sizes drift the
//! memory of one size can serve another and whole extents can go back to the system.
//!
//! Every block says whose it is: an item holds its key, a segment and a directory their shard. The
//! mover looks the owner up under its lock; if that does not name this very block (it lies free in
//! a magazine, or was freed a moment ago), there is nothing to move.

use super::elders::{Elders, Stuck};
use crate::alloc::{BLOCK_MAX, PageKind};
use crate::alloc::{Candidate, Drain};
use crate::arena::Ref;
use crate::guard::{Guard, Spot, Target};
use crate::index::directory::directory_owner;
use crate::index::segment::{SEGMENT_BYTES, Segment};
use crate::item::Item;
use crate::session::Session;
use crate::sync::atomics::Ordering::{Relaxed, Release};
use crate::sync::atomics::fence;
use crate::verbs::{Db, Key, Millis};

/// Pages tried in one go when somebody waits for memory, until one is empty.
const PAGES_A_TURN: usize = 8;
/// Blocks whose lines of the index are asked for together.
const BLOCKS_ASKED_FOR: usize = 16;

/// What a mover does with an item for which there is no other place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    Stay,
    Evict,
}

impl Session {
    /// Makes whole pages out of scattered free blocks for an allocation of `bytes`. True: some
    /// memory was had.
    pub(crate) fn compact_for(&self, bytes: usize, now: Millis) -> bool {
        let allocator = self.engine().allocator();
        let empties =
            |candidate: &Candidate| self.empty(candidate.drain, NoPlace::Stay, now).is_some();
        if bytes <= BLOCK_MAX {
            // Moving what fills most of a page takes a while, and mostly one is all that is short.
            return allocator.drain_candidates_in_need().iter().take(PAGES_A_TURN).any(empties);
        }
        // Single pages that are nearly full would use up the places that a stretch is emptied into.
        let candidates = allocator.drain_candidates();
        let mut gained =
            candidates.iter().take(PAGES_A_TURN).filter(|one| empties(one)).count() > 0;
        if let Some(candidate) = allocator.drain_extent_candidate(u64::MAX) {
            gained |= self.empty(candidate.drain, NoPlace::Evict, now).is_some();
        }
        gained
    }

    /// Takes a page from blocks of this size: what is in it is moved, or evicted where there is no
    /// other place. True: its memory is free for any size.
    pub fn take_page_of(&self, bytes: usize, now: Millis) -> bool {
        match self.engine().allocator().emptiest_page(bytes) {
            Some(page) => self.empty(Drain::Page(page), NoPlace::Evict, now).is_some(),
            None => false,
        }
    }

    /// Moves everything out of a page or an extent. `Some(bytes moved)`: it is free now.
    pub(crate) fn empty(&self, drain: Drain, no_place: NoPlace, now: Millis) -> Option<u64> {
        let allocator = self.engine().allocator();
        if !allocator.begin_drain(drain) {
            return None;
        }
        self.slot().flush();
        let mut moved = 0;
        let mut elders = Elders::new(self);
        let mut next = Vec::with_capacity(BLOCKS_ASKED_FOR);
        let mut move_all = |blocks: &mut Vec<(Ref, Option<PageKind>)>| {
            self.ask_for_lines_of(blocks);
            for (block, kind) in blocks.drain(..) {
                moved += self.move_block(block, kind, no_place, &mut elders, now);
            }
        };
        allocator.drain_blocks(drain, |block, kind| {
            next.push((block, kind));
            if next.len() == BLOCKS_ASKED_FOR {
                move_all(&mut next);
            }
        });
        move_all(&mut next);
        self.slot().flush();
        allocator.end_drain(drain).then_some(moved)
    }

    /// Asks for the lines of the index that name these items. Blocks lie side by side and their lines anywhere: of a
    /// store of a gigabyte most of the time went by waiting for one line after the other.
    fn ask_for_lines_of(&self, blocks: &[(Ref, Option<PageKind>)]) {
        let mut fetches = Vec::with_capacity(BLOCKS_ASKED_FOR);
        let mut key = Vec::new();
        let roots = (0..self.engine().databases()).map(|db| self.view().root_of(Db(db)));
        let open: Vec<_> = roots.filter(|root| self.engine().is_open(*root)).collect();
        for (block, _) in blocks.iter().filter(|(_, kind)| *kind == Some(PageKind::Item)) {
            let Some(item) = Item::at(self.mem(), block.offset() as usize) else { continue };
            key.clear();
            item.copy_key(&mut key);
            let hash = self.engine().hash(&key);
            // Whose it is, is not known. Mostly one database is in use.
            fetches.extend(open.iter().map(|root| self.view().fetch_line(*root, hash)));
        }
        self.view().find_lines(&mut fetches);
    }

    fn move_block(
        &self,
        block: Ref,
        kind: Option<PageKind>,
        no_place: NoPlace,
        elders: &mut Elders<'_>,
        now: Millis,
    ) -> u64 {
        match kind {
            Some(PageKind::Index) => self.move_index_block(block, now),
            Some(PageKind::Item) => self.move_item(block, no_place, elders, now),
            // A large value, or the directory of a shard of very many keys.
            None => match self.move_item(block, no_place, elders, now) {
                0 => self.move_index_block(block, now),
                bytes => bytes,
            },
        }
    }

    /// Moves the item in a block, if there is one: the bytes.
    fn move_item(
        &self,
        block: Ref,
        no_place: NoPlace,
        elders: &mut Elders<'_>,
        now: Millis,
    ) -> u64 {
        let moved = || {
            self.with_item_in(block, now, |_, target, spot, hash| {
                let bytes = spot.item.head.block_len();
                match self.take_item(bytes) {
                    Ok(new) => Ok(self.relocate(spot, new)),
                    Err(_) => {
                        let readiness = self.readiness_at(target, spot.place(), || hash, now);
                        Err(Stuck { bytes, readiness })
                    }
                }
            })
        };
        let stuck = match moved() {
            None => return 0,
            Some(Ok(bytes)) => return bytes,
            Some(Err(_)) if no_place == NoPlace::Stay => return 0,
            Some(Err(stuck)) => stuck,
        };
        if elders.give_way(stuck, now)
            && let Some(Ok(bytes)) = moved()
        {
            return bytes;
        }
        self.with_item_in(block, now, |guard, target, spot, hash| {
            if self.may_evict(spot) && !self.is_kept(target.root, || hash) {
                self.evict_slot(guard, target, spot.segment, spot.line, spot.slot);
            }
        });
        0
    }

    /// Calls `act` with the item in a block and its key's hash, under its shard's lock. `None`: no item is there.
    pub(super) fn with_item_in<'s, R>(
        &'s self,
        block: Ref,
        now: Millis,
        act: impl FnOnce(&mut Guard<'s>, &Target<'s>, &Spot<'s>, u64) -> R,
    ) -> Option<R> {
        let at = block.offset() as usize;
        let item = Item::at(self.mem(), at)?;
        let mut bytes = Vec::with_capacity(item.head.key_len);
        item.copy_key(&mut bytes);
        let key = self.engine().key(&bytes);
        for db in (0..self.engine().databases()).map(Db) {
            if !self.engine().is_open(self.view().root_of(db)) {
                continue;
            }
            let Some(mut guard) = self.write_or_pass(db, &key, now) else { continue };
            let target = guard.target(db, key.hash);
            if let Some(spot) = guard.locate(&target, &key)
                && spot.item.at == at
            {
                return Some(act(&mut guard, &target, &spot, key.hash));
            }
        }
        None
    }

    /// Locks the shard of a key, unless this session holds locks and that one is taken.
    fn write_or_pass(&self, db: Db, key: &Key<'_>, now: Millis) -> Option<Guard<'_>> {
        if self.waits_for_locks.get() {
            return Some(self.write(db, key, now));
        }
        let view = self.view();
        let root = view.root_of(db);
        let shard = view.shard_of(root, key.hash);
        if !shard.lock().try_acquire() {
            return None;
        }
        let guard = Guard::adopt(self, shard, now);
        // SWAPDB may have given the database another root before the lock was had.
        (view.root_of(db) == root).then_some(guard)
    }

    fn may_evict(&self, spot: &Spot<'_>) -> bool {
        let policy = self.engine().policy();
        policy != crate::verbs::Policy::NoEviction
            && (!policy.only_volatile() || spot.item.head.has_ttl())
    }

    /// Copies an item to a new block and frees the old one. What a cut sees does not change.
    fn relocate(&self, spot: &Spot<'_>, new: u32) -> u64 {
        let (size, block) = (spot.item.head.size(), spot.item.head.block_len());
        // As in `item::write_item`.
        fence(Release);
        let to = new as usize * 8;
        for word in (0..size.next_multiple_of(8)).step_by(8) {
            let value = self.mem().u64_at(spot.item.at + word).load(Relaxed);
            self.mem().u64_at(to + word).store(value, Relaxed);
        }
        spot.bucket().set_reference(spot.slot, new);
        spot.bucket().bump_version();
        self.count_moved(size);
        self.engine().note_large_moved((spot.item.at / 8) as u32, new, block);
        self.give_item((spot.item.at / 8) as u32, block);
        size as u64
    }

    fn move_index_block(&self, block: Ref, now: Millis) -> u64 {
        let at = block.offset() as usize;
        let segment = Segment { words: self.mem(), at };
        if at.is_multiple_of(SEGMENT_BYTES)
            && let Some(owner) = segment.owner()
            && let Some((_guard, target)) =
                self.lock_root_shard(u32::from(owner.root), owner.shard, now)
        {
            let directory = target.shard.directory();
            if directory.is_empty() || owner.span.doublings > directory.doublings() {
                return 0;
            }
            let index = owner.span.first_in(directory);
            let named = index < directory.entries()
                && target.shard.segment(directory, index).at == at
                && segment.owner() == Some(owner);
            if named && self.engine().move_segment(self, &target, segment, owner).is_ok() {
                return SEGMENT_BYTES as u64;
            }
            return 0;
        }
        if let Some((root, shard)) = directory_owner(self.mem(), at)
            && let Some((_guard, target)) = self.lock_root_shard(u32::from(root), shard, now)
        {
            let directory = target.shard.directory();
            if !directory.is_empty()
                && directory.at() == at
                && self.engine().move_directory(self, &target).is_ok()
            {
                return directory.bytes() as u64;
            }
        }
        0
    }

    /// Locks a shard that a block claims to belong to. The claim may be garbage.
    fn lock_root_shard(
        &self,
        root: u32,
        shard_number: u16,
        now: Millis,
    ) -> Option<(Guard<'_>, Target<'_>)> {
        let view = self.view();
        let shard_number = usize::from(shard_number);
        if root >= 64 || !self.engine().is_open(root) || shard_number >= view.shard_count() {
            return None;
        }
        let shard = view.shard_at(root, shard_number);
        match self.waits_for_locks.get() {
            true => shard.lock().acquire(),
            false if shard.lock().try_acquire() => {}
            false => return None,
        }
        let guard = Guard::adopt(self, shard, now);
        // Which database the root is matters to nobody here: nothing is journalled.
        Some((guard, Target { db: Db(0), root, shard_number, shard }))
    }
}

#[cfg(shuttle)]
impl Session {
    /// For models: empties every page that is in use.
    pub fn empty_pages_in_use(&self, now: Millis) {
        for page in 0..32 {
            self.empty(Drain::Page(page), NoPlace::Stay, now);
        }
    }
}
