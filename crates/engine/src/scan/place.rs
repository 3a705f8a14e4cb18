//! What is read at a place of an iteration: home lines of one segment in a row, as of one moment.
//!
//! ```text
//! line      1  2  3  4  5 ... 26 | 27 .. 30
//! asked for       2 lines ahead: their items
//! read      |--------------------> |-------->   the stash lines that these home lines have, each once
//! ```
//! An item lies anywhere in memory, so most of the time would go by waiting for one after the other. While the items
//! of a line are looked at, those of the lines that follow are on their way.

use super::{Cursor, Seen};
use crate::hash::Hasher;
use crate::index::bucket::Line;
use crate::index::read::View;
use crate::index::segment::{HOME_LINES, SEGMENT_BYTES, STASH_LINES, Segment, home_of, stash_line};
use crate::index::shard::Shard;
use crate::index::tags::LineTags;
use crate::item::Item;
use crate::sync::atomics::Ordering::Acquire;
use crate::sync::atomics::fence;
use crate::verbs::{Db, Found, Millis};
use std::ops::RangeInclusive;

/// Of so many lines ahead the items are asked for: 20 of them or so, as many as processors load at once.
const LINES_AHEAD: usize = 2;
/// Most keys begin and end within these bytes of an item, which may be in two lines of the cache.
const BEGINNING_BYTES: usize = 32;

/// Home lines in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Homes {
    first: usize,
    last: usize,
}

impl Homes {
    /// From a cursor's line on, at least one and at most so many.
    pub fn from(line: u64, most: usize) -> Homes {
        // A cursor that no scan gave may hold any line.
        let first = (line as usize).min(HOME_LINES - 1) + 1;
        Homes { first, last: (first - 1 + most.max(1)).min(HOME_LINES) }
    }

    /// Half as many for each attempt that was in vain.
    pub fn after(self, attempts: u32) -> Homes {
        let fewer = self.len().checked_shr(attempts).unwrap_or(0).max(1);
        Homes { first: self.first, last: self.first + fewer - 1 }
    }

    fn all(self) -> RangeInclusive<usize> {
        self.first..=self.last
    }

    fn len(self) -> usize {
        self.last + 1 - self.first
    }

    fn contains(self, home: usize) -> bool {
        self.first <= home && home <= self.last
    }
}

/// Keys that were read at one place. It is used again for the next one, so that keys cost no allocation each.
#[derive(Default)]
pub(crate) struct Place {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Those that are not wanted are left out already.
    is_sifted: bool,
}

struct Entry {
    /// Where the key ends; it begins where the one before ends.
    end: usize,
    /// `None`: it is over, and still there.
    found: Option<Found>,
}

impl Place {
    /// Tells of the keys that are wanted.
    pub fn visit(
        &self,
        keep: &mut dyn FnMut(&[u8]) -> bool,
        visit: &mut impl FnMut(&[u8], Option<&Found>),
    ) {
        let mut start = 0;
        for Entry { end, found } in &self.entries {
            let key = &self.bytes[start..*end];
            start = *end;
            if self.is_sifted || keep(key) {
                visit(key, found.as_ref());
            }
        }
    }
}

/// Which keys of a line are wanted.
struct Sieve<'a> {
    now: Millis,
    /// `None`: all.
    keep: Option<&'a mut dyn FnMut(&[u8]) -> bool>,
}

impl View<'_> {
    /// The keys at home in some lines, those in their stash lines included, as of one moment. `None`: a writer was
    /// quicker, try again.
    #[expect(clippy::too_many_arguments, reason = "a place, and what of it")]
    pub fn read_homes(
        &self,
        db: Db,
        at: Cursor,
        homes: Homes,
        now: Millis,
        hasher: &Hasher,
        keep: Option<&mut dyn FnMut(&[u8]) -> bool>,
        place: &mut Place,
    ) -> Option<Seen> {
        let before = self.shard_at(self.root_of(db), at.shard as usize);
        let several = before.several();
        if several & 1 != 0 {
            return None;
        }
        let (seen, shard) = self.read_homes_locked(db, at, homes, now, hasher, keep, place)?;
        // Neither a write of several keys nor a swap of databases has come between.
        (shard.at == before.at && shard.several() == several).then_some(seen)
    }

    /// The same, with its shard, where no write of several keys is under way but of who asks, if at all.
    #[expect(clippy::too_many_arguments, reason = "a place, and what of it")]
    pub fn read_homes_locked(
        &self,
        db: Db,
        at: Cursor,
        homes: Homes,
        now: Millis,
        hasher: &Hasher,
        keep: Option<&mut dyn FnMut(&[u8]) -> bool>,
        place: &mut Place,
    ) -> Option<(Seen, Shard<'_>)> {
        place.bytes.clear();
        place.entries.clear();
        place.is_sifted = keep.is_some();
        let root = self.root_of(db);
        let shard = self.shard_at(root, at.shard as usize);
        let directory = shard.directory();
        if directory.is_empty() {
            // The database may have had another root since, and this one be flushed.
            fence(Acquire);
            let holds = shard.directory() == directory && self.root_of(db) == root;
            return holds.then_some((Seen { end: None, homes: 1, keys: 0 }, shard));
        }
        let entry_at = directory.entry_at(at.position);
        if !self.words.may_load(entry_at, 4) {
            return None;
        }
        // Pairs with the Release with which a split publishes the new segments.
        let reference = self.words.u32_at(entry_at).load(Acquire);
        let segment = Segment { words: self.words, at: reference as usize * 8 };
        if !self.words.may_load(segment.at, SEGMENT_BYTES) {
            return None;
        }
        let mut sieve = Sieve { now, keep };
        let mut seen = Seen { end: None, homes: homes.len(), keys: 0 };
        let mut versions = [0; HOME_LINES + STASH_LINES + 1];
        // A bit for each stash line that one of the home lines has.
        let mut stashes = 0u32;
        for home in homes.all() {
            segment.line(home).prefetch();
        }
        for ahead in homes.first..(homes.first + LINES_AHEAD).min(homes.last + 1) {
            self.ask_for_items(segment.line(ahead));
        }
        for home in homes.all() {
            if home + LINES_AHEAD <= homes.last {
                self.ask_for_items(segment.line(home + LINES_AHEAD));
            }
            let line = segment.line(home);
            let tags = line.load();
            versions[home] = tags.version();
            if tags.stash() > STASH_LINES {
                return None;
            }
            if tags.stash() != 0 && stashes >> tags.stash() & 1 == 0 {
                stashes |= 1 << tags.stash();
                segment.line(stash_line(tags.stash())).prefetch();
            }
            seen.keys += self.collect(line, tags, &mut sieve, place, |_| true)?;
        }
        // Behind a line, whose version says of which life of the block this is.
        seen.end = Some(directory.end_of(segment.span()));
        let stashes = (1..=STASH_LINES).filter(|stash| stashes >> stash & 1 != 0);
        for line in stashes.clone().map(|stash| segment.line(stash_line(stash))) {
            self.ask_for_items(line);
        }
        let all = homes.len() == HOME_LINES;
        for stash in stashes.clone().map(stash_line) {
            let line = segment.line(stash);
            let tags = line.load();
            versions[stash] = tags.version();
            seen.keys += self.collect(line, tags, &mut sieve, place, |key| {
                all || homes.contains(home_of(hasher.hash(key)))
            })?;
        }
        // As in `View::holds`.
        fence(Acquire);
        let mut lines = homes.all().chain(stashes.map(stash_line));
        let holds = self.is_entry(entry_at, reference)
            && lines.all(|line| segment.line(line).version() == versions[line])
            && shard.directory() == directory
            && self.root_of(db) == root;
        holds.then_some((seen, shard))
    }

    /// Asks for the keys of a line.
    fn ask_for_items(&self, line: Line<'_>) {
        for slot in line.load().used_slots() {
            let at = line.reference(slot) as usize * 8;
            self.words.prefetch(at);
            self.words.prefetch(at + BEGINNING_BYTES - 1);
        }
    }

    /// Adds the keys of a line that are wanted; how many there are that are not over, wanted or not.
    #[inline(always)]
    fn collect(
        &self,
        line: Line<'_>,
        tags: LineTags,
        sieve: &mut Sieve<'_>,
        place: &mut Place,
        mut belongs: impl FnMut(&[u8]) -> bool,
    ) -> Option<usize> {
        let mut count = 0;
        for slot in tags.used_slots() {
            let item = Item::at(self.words, line.reference(slot) as usize * 8)?;
            let start = place.bytes.len();
            item.copy_key(&mut place.bytes);
            let key = &place.bytes[start..];
            if !belongs(key) {
                place.bytes.truncate(start);
                continue;
            }
            let is_over = item.is_due(sieve.now);
            count += usize::from(!is_over);
            if !sieve.keep.as_mut().is_none_or(|keep| keep(key)) {
                place.bytes.truncate(start);
                continue;
            }
            let found = (!is_over).then(|| item.found(line.meta(slot)).0);
            place.entries.push(Entry { end: place.bytes.len(), found });
        }
        Some(count)
    }
}
