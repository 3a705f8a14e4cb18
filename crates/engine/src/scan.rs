//! Iteration: SCAN and KEYS; RANDOMKEY begins one anywhere.
//!
//! A cursor is a place in hash space: shard, then a key's position in it (the hash bits below the
//! shard's: where a segment begins), then a home line.
//!
//! ```text
//! bits 38.. shard    bits 6..37 position    bits 0..5 home lines done
//! ```
//! A key's home line does not depend on how often its segment was split, so that a cursor stays
//! good whatever happens between two steps: home lines below `line` of the segment at the cursor,
//! and all segments before it, have been visited. After a split the rest of the second half is
//! visited from its first line, so that some keys may be seen twice, as with Redis.
//!
//! A home line is read, with its stash line, like a key: without a lock, unless it changes all the time.

mod random;

use crate::hash::Hasher;
use crate::index::bucket::{Line, LineTags, SLOTS};
use crate::index::directory::POSITION_BITS;
use crate::index::read::{Contended, View};
use crate::index::segment::{HOME_LINES, SEGMENT_BYTES, STASH_LINES, Segment, home_of, stash_line};
use crate::index::shard::Shard;
use crate::item::Item;
use crate::session::Session;
use crate::sync::atomics::Ordering::Acquire;
use crate::sync::atomics::{fence, spin_turn};
use crate::sync::lock;
use crate::verbs::{Db, Found, Millis};

const LINE_BITS: u32 = 6;
/// Attempts to read a home line before its shard is locked.
const PLACE_ATTEMPTS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub shard: u64,
    pub position: u64,
    /// Home lines done.
    pub line: u64,
}

impl Cursor {
    pub fn decode(word: u64) -> Cursor {
        Cursor {
            shard: word >> (32 + LINE_BITS),
            position: word >> LINE_BITS & 0xffff_ffff,
            line: word & ((1 << LINE_BITS) - 1),
        }
    }

    pub fn encode(self) -> u64 {
        self.shard << (32 + LINE_BITS) | self.position << LINE_BITS | self.line
    }
}

/// Walks home lines from `at` until `count` keys were seen or ten times as many places (as Redis,
/// so that sparse data end a step too). `visit(at, home)` gives the position behind the segment that is
/// there (`None`: the shard is empty) and how many keys it saw. Returns the next place.
pub(crate) fn visit_places<E>(
    mut at: Cursor,
    count: usize,
    shards: usize,
    mut visit: impl FnMut(Cursor, usize) -> Result<(Option<u64>, usize), E>,
) -> Result<Option<Cursor>, E> {
    // A step of none would end where it began: for ever, or at 0, which means the end.
    let count = count.max(1);
    let places_max = count.saturating_mul(10).max(HOME_LINES);
    let (mut keys, mut places) = (0, 0);
    while at.shard < shards as u64 {
        if keys >= count || places >= places_max {
            return Ok(Some(at));
        }
        // A cursor that no scan gave may hold any line.
        let home = (at.line as usize).min(HOME_LINES - 1) + 1;
        let (end, seen) = visit(at, home)?;
        keys += seen;
        places += 1;
        let next_shard = Cursor { shard: at.shard + 1, position: 0, line: 0 };
        at = match end {
            None => next_shard,
            Some(_) if home < HOME_LINES => Cursor { line: home as u64, ..at },
            Some(position) if position < 1 << POSITION_BITS => Cursor { position, line: 0, ..at },
            Some(_) => next_shard,
        };
    }
    Ok(None)
}

/// What was read at one place.
pub(crate) struct Place {
    /// The position behind the segment; `None`: the shard is empty.
    pub end: Option<u64>,
    pub keys: Vec<(Vec<u8>, Found)>,
    /// Those that are over and still there.
    pub over: Vec<Vec<u8>>,
}

impl Place {
    fn of_empty_shard() -> Place {
        Place { end: None, keys: Vec::new(), over: Vec::new() }
    }
}

impl View<'_> {
    /// The keys at home in a line, those in its stash line included, as of one moment. `None`: a writer was
    /// quicker, try again.
    pub fn read_home(
        &self,
        db: Db,
        at: Cursor,
        home: usize,
        now: Millis,
        hasher: &Hasher,
    ) -> Option<Place> {
        let before = self.shard_at(self.root_of(db), at.shard as usize);
        let several = before.several();
        if several & 1 != 0 {
            return None;
        }
        let (place, shard) = self.read_home_locked(db, at, home, now, hasher)?;
        // Neither a write of several keys nor a swap of databases has come between.
        (shard.at == before.at && shard.several() == several).then_some(place)
    }

    /// The same, with its shard, where no write of several keys is under way but of who asks, if at all.
    fn read_home_locked(
        &self,
        db: Db,
        at: Cursor,
        home: usize,
        now: Millis,
        hasher: &Hasher,
    ) -> Option<(Place, Shard<'_>)> {
        let root = self.root_of(db);
        let shard = self.shard_at(root, at.shard as usize);
        let directory = shard.directory();
        if directory.is_empty() {
            // The database may have had another root since, and this one be flushed.
            fence(Acquire);
            let holds = shard.directory() == directory && self.root_of(db) == root;
            return holds.then_some((Place::of_empty_shard(), shard));
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
        let line = segment.line(home);
        let tags = line.load();
        // Behind the line, whose version says of which life of the block this is.
        let end = directory.end_of(segment.span());
        let mut place = Place { end: Some(end), keys: Vec::new(), over: Vec::new() };
        self.collect(line, tags, now, &mut place, |_| true)?;
        let mut stash_seen = None;
        if tags.stash() != 0 {
            if tags.stash() > STASH_LINES {
                return None;
            }
            let stash = segment.line(stash_line(tags.stash()));
            let stash_tags = stash.load();
            self.collect(stash, stash_tags, now, &mut place, |key| {
                home_of(hasher.hash(key)) == home
            })?;
            stash_seen = Some((stash, stash_tags));
        }
        // As in `View::holds`.
        fence(Acquire);
        let holds = self.is_entry(entry_at, reference)
            && line.version() == tags.version()
            && stash_seen.is_none_or(|(line, tags)| line.version() == tags.version())
            && shard.directory() == directory
            && self.root_of(db) == root;
        holds.then_some((place, shard))
    }

    fn collect(
        &self,
        line: Line<'_>,
        tags: LineTags,
        now: Millis,
        place: &mut Place,
        mut belongs: impl FnMut(&[u8]) -> bool,
    ) -> Option<()> {
        for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
            let item = Item::at(self.words, line.reference(slot) as usize * 8)?;
            let mut key = Vec::with_capacity(item.head.key_len);
            item.copy_key(&mut key);
            match belongs(&key) {
                false => {}
                true if item.is_due(now) => place.over.push(key),
                true => place.keys.push((key, item.found(line.meta(slot)).0)),
            }
        }
        Some(())
    }
}

impl Session {
    /// One step of an iteration over a database. Start with cursor 0; a returned 0 is the end.
    /// A key present during the whole iteration is visited at least once.
    pub fn scan(
        &self,
        db: Db,
        cursor: u64,
        count: usize,
        now: Millis,
        mut visit: impl FnMut(&[u8], &Found),
    ) -> u64 {
        self.scan_past(db, cursor, count, now, |key, found| {
            if let Some(found) = found {
                visit(key, found);
            }
        })
    }

    /// The same, which tells also of the keys that are over and still there: `None`.
    pub fn scan_past(
        &self,
        db: Db,
        cursor: u64,
        count: usize,
        now: Millis,
        mut visit: impl FnMut(&[u8], Option<&Found>),
    ) -> u64 {
        let view = self.view();
        let next = visit_places(Cursor::decode(cursor), count, view.shard_count(), |at, home| {
            let place = self.place_at(db, at, home, now);
            for (key, found) in &place.keys {
                visit(key, Some(found));
            }
            for key in &place.over {
                visit(key, None);
            }
            Ok::<_, Contended>((place.end, place.keys.len()))
        });
        next.ok().flatten().map_or(0, Cursor::encode)
    }

    fn place_at(&self, db: Db, at: Cursor, home: usize, now: Millis) -> Place {
        let view = self.view();
        // In a transaction its own shards look as if a write were under way, and it is.
        let attempts = if self.in_transaction() { 0 } else { PLACE_ATTEMPTS };
        for _ in 0..attempts {
            if let Some(place) = view.read_home(db, at, home, now, self.engine().hasher()) {
                return place;
            }
            spin_turn();
        }
        // Somebody stores here all the time.
        loop {
            let shard = view.shard_at(view.root_of(db), at.shard as usize);
            let is_ours = self.transaction_holds(shard.at);
            if !is_ours {
                lock::acquire(shard.lock());
            }
            // Under the lock only a swap of databases can come between.
            let place = view.read_home_locked(db, at, home, now, self.engine().hasher());
            if !is_ours {
                lock::release(shard.lock());
            }
            if let Some((place, _)) = place.filter(|(_, read)| read.at == shard.at) {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_survive_their_word() {
        for shard in [0, 1, 1023] {
            for position in [0, 1 << 31, 0xffff_ffff] {
                for line in [0, 1, 55] {
                    let cursor = Cursor { shard, position, line };
                    assert_eq!(Cursor::decode(cursor.encode()), cursor);
                }
            }
        }
    }
}
