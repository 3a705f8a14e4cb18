//! A key by chance: the first one from a place by chance on.
//!
//! ```text
//! shard     by chance, if that one is well filled; else by its number of items, of all that there are
//! place     by chance; from there to the shard's end, then from its beginning; then the shards that follow
//! ```
//! Where most keys were deleted most lines are empty, and so only the tags of lines are looked at, until one has
//! something.

use super::{Attempts, Cursor, Homes, Place, Seen};
use crate::index::read::View;
use crate::index::segment::{HOME_LINES, SEGMENT_BYTES, STASH_LINES, Segment, stash_line};
use crate::session::Session;
use crate::sync::atomics::Ordering::Acquire;
use crate::verbs::{Db, Millis};

/// Shards of so many items have about as many as the others: the number differs by one in eight or less, as a rule.
/// To add up the items of all shards costs more than the rest.
const WELL_FILLED: u64 = 64;

impl Session {
    /// Appends a key chosen by `random` to `out`. False: the database is empty.
    pub fn random_key(&self, db: Db, random: u64, now: Millis, out: &mut Vec<u8>) -> bool {
        let Some(chosen) = self.random_shard(db, random) else { return false };
        let shards = self.view().shard_count() as u64;
        let spread = random.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let anywhere =
            Cursor { shard: chosen, position: spread >> 32, line: spread % HOME_LINES as u64 };
        let beginnings = (0..shards).map(|behind| (chosen + behind) % shards);
        let beginnings = beginnings.map(|shard| Cursor { shard, position: 0, line: 0 });
        std::iter::once(anywhere)
            .chain(beginnings)
            .any(|from| self.key_from(from, db, spread >> 20, now, out))
    }

    fn random_shard(&self, db: Db, random: u64) -> Option<u64> {
        let view = self.view();
        let root = view.root_of(db);
        let items = |shard: u64| view.shard_at(root, shard as usize).items();
        let any = random % view.shard_count() as u64;
        if self.engine().is_open(root) && items(any) >= WELL_FILLED {
            return Some(any);
        }
        let total = self.engine().len(db);
        let mut rest = random.checked_rem(total)?;
        let by_items = (0..view.shard_count() as u64).find(|&shard| {
            let items = items(shard);
            let is_here = rest < items;
            rest = rest.saturating_sub(items);
            is_here
        });
        // Items may have gone since they were added up.
        Some(by_items.unwrap_or(any))
    }

    /// Appends one of the keys of the first place from `at` on, to the end of the shard, that has some.
    fn key_from(
        &self,
        mut at: Cursor,
        db: Db,
        random: u64,
        now: Millis,
        out: &mut Vec<u8>,
    ) -> bool {
        let mut place = Place::default();
        let shard = at.shard;
        while let Some(full) = self.view().filled_place(db, at) {
            let one = Homes::from(full.line, 1);
            let keep: &mut dyn FnMut(&[u8]) -> bool = &mut |_| true;
            let seen = self.read_place(db, full, one, Attempts::FEWER, now, keep, &mut place);
            if seen.keys > 0 {
                let mut before = random as usize % seen.keys;
                place.visit(keep, &mut |key, found| {
                    if found.is_none() {
                        return;
                    }
                    if before == 0 {
                        out.extend_from_slice(key);
                    }
                    before = before.wrapping_sub(1);
                });
                return true;
            }
            at = full.behind(&seen);
            if at.shard != shard {
                return false;
            }
        }
        false
    }
}

impl View<'_> {
    /// The first place from `at` on, to the end of the shard, of which something in the index says that it has keys: a
    /// hint, which is to be looked at.
    fn filled_place(&self, db: Db, mut at: Cursor) -> Option<Cursor> {
        let shard = self.shard_at(self.root_of(db), at.shard as usize);
        loop {
            let directory = shard.directory();
            let entry_at = directory.entry_at(at.position);
            if directory.is_empty() || !self.words.may_load(entry_at, 4) {
                return None;
            }
            // Pairs with the Release with which a split publishes the new segments.
            let reference = self.words.u32_at(entry_at).load(Acquire);
            let segment = Segment { words: self.words, at: reference as usize * 8 };
            if !self.words.may_load(segment.at, SEGMENT_BYTES) {
                return None;
            }
            let homes = at.line as usize + 1..=HOME_LINES;
            if segment.line(*homes.start()).load().used() > 0 {
                return Some(at);
            }
            // Most of them are empty, if few of the keys that once were here are left.
            homes.clone().for_each(|line| segment.line(line).prefetch());
            let stashes =
                (1..=STASH_LINES).filter(|&n| segment.line(stash_line(n)).load().used() > 0);
            // A bit for each stash line that has something: it stays there when the home line itself is emptied.
            let stashed = stashes.fold(0u32, |bits, stash| bits | 1 << stash);
            let is_filled = |home: &usize| {
                let tags = segment.line(*home).load();
                tags.used() > 0 || stashed >> tags.stash() & 1 != 0
            };
            if let Some(home) = homes.clone().find(is_filled) {
                return Some(Cursor { line: home as u64 - 1, ..at });
            }
            let end = Some(directory.end_of(segment.span()));
            let next = Cursor { line: 0, ..at }.behind(&Seen { end, homes: HOME_LINES, keys: 0 });
            // A segment whose block is another's by now may say anything of where it ends.
            if next.shard != at.shard || next.position <= at.position {
                return None;
            }
            at = next;
        }
    }
}
