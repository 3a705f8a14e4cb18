//! Growth: a full segment is copied into two, which are then published by directory stores.
//!
//! Readers go on in the old segment until they see the new entry; writers of the same shard wait,
//! some 7 us. The old segment's block is free as soon as its directory entries are gone: a reader
//! that is still in it finds at its final check that the entry has changed.

use crate::engine::Engine;
use crate::guard::Target;
use crate::index::bucket::SLOTS;
use crate::index::directory::{DIRECTORY_HEADER_BYTES, DOUBLINGS_MAX, DirectoryWord, Span};
use crate::index::directory::{begin_directory, cells_of, directory_bytes};
use crate::index::draft::SegmentDraft;
use crate::index::segment::{Owner, likely_stash, stash_line};
use crate::index::segment::{SEGMENT_BYTES, STASH_LINES, Segment, home_of};
use crate::session::Session;
use crate::sync::atomics::Ordering::{Relaxed, Release};
use crate::sync::atomics::fence;
use crate::verbs::StoreError;

/// Splits in a row for the sake of one insert. Each halves the chance that the keys in the way
/// stay together; who needs more has chosen keys by their hash, and is refused.
const SPLITS_MAX: u32 = 6;

/// How many items more than the emptiest stash line has, a home line's likely one may have when it is
/// given. With 3, seven of eight items in stash lines are in the likely one, and a segment is split with 3 % fewer
/// items than if each home line were given the emptiest.
const LIKELY_FULLER_MAX: usize = 3;

impl Engine {
    /// Finds a slot for a new key, growing the index as needed. Under the shard's lock.
    pub(crate) fn place_for<'a>(
        &'a self,
        session: &Session,
        target: &Target<'a>,
        hash: u64,
    ) -> Result<(Segment<'a>, usize, usize), StoreError> {
        let position = self.view().position(hash);
        if target.shard.directory().is_empty() {
            self.first_segment(session, target)?;
        }
        for splits in 0..=SPLITS_MAX {
            let directory = target.shard.directory();
            let segment = target.shard.segment_of(directory, position);
            let home = home_of(hash);
            if let Some(slot) = segment.line(home).load().first_empty() {
                return Ok((segment, home, slot));
            }
            if let Some((line, slot)) = self.stash_place(target, segment, home) {
                return Ok((segment, line, slot));
            }
            if splits < SPLITS_MAX {
                self.split(session, target, segment)?;
            }
        }
        Err(StoreError::Full)
    }

    /// A free slot in the home line's stash line, which it is given if it has none.
    fn stash_place(
        &self,
        target: &Target<'_>,
        segment: Segment<'_>,
        home: usize,
    ) -> Option<(usize, usize)> {
        let stash = segment.line(home).load().stash();
        if stash != 0 {
            let line = stash_line(stash);
            return segment.line(line).load().first_empty().map(|slot| (line, slot));
        }
        let used = |stash: &usize| segment.line(stash_line(*stash)).load().used();
        let mut stash = likely_stash(home);
        // The other three are not in the cache, as a rule.
        if used(&stash) > LIKELY_FULLER_MAX {
            let emptiest = (1..=STASH_LINES).min_by_key(used)?;
            let is_full = used(&stash) == SLOTS;
            if is_full || used(&stash) > used(&emptiest) + LIKELY_FULLER_MAX {
                stash = emptiest;
            }
        }
        let line = stash_line(stash);
        let slot = segment.line(line).load().first_empty()?;
        self.before_change(target, segment, home);
        segment.line(home).set_stash(stash);
        Some((line, slot))
    }

    pub(super) fn new_segment<'a>(
        &'a self,
        session: &Session,
        target: &Target<'a>,
        span: Span,
    ) -> Result<Segment<'a>, StoreError> {
        let reference = session.take_index(SEGMENT_BYTES)?;
        let segment = Segment { words: self.mem(), at: reference as usize * 8 };
        // As in `item::write_item`: a reader of the block's former content must see it gone.
        fence(Release);
        let owner = Owner { root: target.root as u16, shard: target.shard_number as u16, span };
        segment.reset(owner, self.segment_seed());
        segment.set_cut(self.cut_number(), u64::MAX);
        Ok(segment)
    }

    fn new_directory(
        &self,
        session: &Session,
        target: &Target<'_>,
        doublings: u32,
    ) -> Result<u32, StoreError> {
        let reference = session.take_index(directory_bytes(doublings))?;
        fence(Release);
        let at = reference as usize * 8;
        begin_directory(self.mem(), at, target.root as u16, target.shard_number as u16);
        Ok(reference)
    }

    fn first_segment(&self, session: &Session, target: &Target<'_>) -> Result<(), StoreError> {
        let cells = cells_of(target.shard_number, self.view().shard_count());
        let reference = self.new_directory(session, target, 0)?;
        let span = Span::whole(cells);
        let segment = match self.new_segment(session, target, span) {
            Ok(segment) => segment,
            Err(error) => {
                session.give_index(reference, directory_bytes(0));
                return Err(error);
            }
        };
        let directory = target.shard.directory().next(reference, cells, 0);
        publish(directory, segment, span);
        target.shard.set_directory(directory);
        Ok(())
    }

    /// Twice as many entries, each of the old ones twice.
    pub(super) fn double_directory(
        &self,
        session: &Session,
        target: &Target<'_>,
    ) -> Result<(), StoreError> {
        let old = target.shard.directory();
        let doublings = old.doublings() + 1;
        if doublings > DOUBLINGS_MAX {
            return Err(StoreError::Full);
        }
        let reference = self.new_directory(session, target, doublings)?;
        let entries = reference as usize * 8 + DIRECTORY_HEADER_BYTES;
        for index in 0..old.entries() {
            let segment = target.shard.segment(old, index).reference();
            self.mem().u32_at(entries + 8 * index).store(segment, Relaxed);
            self.mem().u32_at(entries + 8 * index + 4).store(segment, Relaxed);
        }
        target.shard.set_directory(old.next(reference, old.cells(), doublings));
        session.give_index((old.at() / 8) as u32, old.bytes());
        Ok(())
    }

    /// Copies a segment to another block (compaction). Under the shard's lock.
    pub(crate) fn move_segment(
        &self,
        session: &Session,
        target: &Target<'_>,
        old: Segment<'_>,
        owner: Owner,
    ) -> Result<(), StoreError> {
        self.before_split(target, old);
        let new = self.new_segment(session, target, owner.span)?;
        SegmentDraft::of(old).write_to(new);
        publish(target.shard.directory(), new, owner.span);
        session.give_index(old.reference(), SEGMENT_BYTES);
        Ok(())
    }

    /// Copies a shard's directory to another block (compaction). Under the shard's lock.
    pub(crate) fn move_directory(
        &self,
        session: &Session,
        target: &Target<'_>,
    ) -> Result<(), StoreError> {
        let old = target.shard.directory();
        let reference = self.new_directory(session, target, old.doublings())?;
        let entries = reference as usize * 8 + DIRECTORY_HEADER_BYTES;
        for index in 0..old.entries() {
            let segment = target.shard.segment(old, index).reference();
            self.mem().u32_at(entries + 4 * index).store(segment, Relaxed);
        }
        target.shard.set_directory(old.next(reference, old.cells(), old.doublings()));
        session.give_index((old.at() / 8) as u32, old.bytes());
        Ok(())
    }
}

/// Stores a segment into all directory entries of its span.
pub(super) fn publish(directory: DirectoryWord, segment: Segment<'_>, span: Span) {
    for index in span.first_in(directory)..span.end_in(directory) {
        let entry = directory.at() + DIRECTORY_HEADER_BYTES + 4 * index;
        // Pairs with the Acquire of the entry in `View::probe`: who sees the segment sees it full.
        segment.words.u32_at(entry).store(segment.reference(), Release);
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests;
