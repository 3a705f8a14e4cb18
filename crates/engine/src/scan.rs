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
//! Home lines are read, with their stash lines, like a key: without a lock, unless they change all the time.

mod place;
mod random;

use crate::index::bucket::SLOTS;
use crate::index::directory::POSITION_BITS;
use crate::index::read::Contended;
use crate::index::segment::HOME_LINES;
use crate::session::Session;
use crate::sync::atomics::spin_turn;
use crate::verbs::{Db, Found, Millis};
pub(crate) use place::{Homes, Place};

const LINE_BITS: u32 = 6;

/// Attempts to read home lines before their shard is locked.
#[derive(Clone, Copy)]
struct Attempts {
    most: u32,
    /// All of them or none, as of one moment; else each attempt is at half as many as the one before.
    is_whole: bool,
}

impl Attempts {
    const FEWER: Attempts = Attempts { most: 100, is_whole: false };
    const WHOLE: Attempts = Attempts { most: 4, is_whole: true };
}

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

    /// The next place, after what was seen here.
    pub fn behind(self, seen: &Seen) -> Cursor {
        let next_shard = Cursor { shard: self.shard + 1, position: 0, line: 0 };
        // A cursor that no scan gave may hold any line.
        let done = self.line.min(HOME_LINES as u64 - 1) + seen.homes as u64;
        match seen.end {
            None => next_shard,
            Some(_) if done < HOME_LINES as u64 => Cursor { line: done, ..self },
            Some(position) if position < 1 << POSITION_BITS => Cursor { position, line: 0, ..self },
            Some(_) => next_shard,
        }
    }
}

/// What a step of a walk has seen of a segment.
pub(crate) struct Seen {
    /// The position behind the segment; `None`: the shard is empty.
    pub end: Option<u64>,
    /// The home lines that were read.
    pub homes: usize,
    pub keys: usize,
}

/// Walks home lines from `at` until `count` keys were seen or ten times as many places (as Redis,
/// so that sparse data end a step too). `visit(at, homes)` reads some of these home lines, from the first of
/// them on. Returns the next place.
pub(crate) fn visit_places<E>(
    mut at: Cursor,
    count: usize,
    shards: usize,
    mut visit: impl FnMut(Cursor, Homes) -> Result<Seen, E>,
) -> Result<Option<Cursor>, E> {
    // A step of none would end where it began: for ever, or at 0, which means the end.
    let count = count.max(1);
    let places_max = count.saturating_mul(10).max(HOME_LINES);
    let (mut keys, mut places) = (0, 0);
    while at.shard < shards as u64 {
        if keys >= count || places >= places_max {
            return Ok(Some(at));
        }
        // As many as hold no more keys than are wanted, those in their stash lines aside.
        let most = ((count - keys) / SLOTS).min(places_max - places);
        let seen = visit(at, Homes::from(at.line, most))?;
        keys += seen.keys;
        places += seen.homes;
        at = at.behind(&seen);
    }
    Ok(None)
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
        self.scan_past(db, cursor, count, now, &mut |_| true, |key, found| {
            if let Some(found) = found {
                visit(key, found);
            }
        })
    }

    /// The same of the keys that `keep` wants. It may be asked several times of one key, and of bytes that
    /// are none. Told are also the keys that are over and still there: `None`.
    pub fn scan_past(
        &self,
        db: Db,
        cursor: u64,
        count: usize,
        now: Millis,
        keep: &mut dyn FnMut(&[u8]) -> bool,
        mut visit: impl FnMut(&[u8], Option<&Found>),
    ) -> u64 {
        let view = self.view();
        let mut place = Place::default();
        let next = visit_places(Cursor::decode(cursor), count, view.shard_count(), |at, homes| {
            let seen = self.read_place(db, at, homes, Attempts::FEWER, now, keep, &mut place);
            place.visit(keep, &mut visit);
            Ok::<_, Contended>(seen)
        });
        next.ok().flatten().map_or(0, Cursor::encode)
    }

    /// All keys that `keep` wants, each of them once: of whole segments, one after the other. A key that is
    /// there all the time is visited. `keep` as for `scan_past`.
    pub fn scan_all(
        &self,
        db: Db,
        now: Millis,
        keep: &mut dyn FnMut(&[u8]) -> bool,
        mut visit: impl FnMut(&[u8]),
    ) {
        let view = self.view();
        let mut place = Place::default();
        let mut at = Cursor::decode(0);
        while at.shard < view.shard_count() as u64 {
            let homes = Homes::from(0, HOME_LINES);
            let seen = self.read_place(db, at, homes, Attempts::WHOLE, now, keep, &mut place);
            place.visit(keep, &mut |key, found| {
                // After a FLUSHDB a segment may reach over positions that were visited before.
                let is_behind = || view.position(self.engine().hasher().hash(key)) < at.position;
                if found.is_some() && (at.position == 0 || !is_behind()) {
                    visit(key);
                }
            });
            at = at.behind(&seen);
        }
    }

    /// Reads some of these home lines, from the first on, into `place`: of the keys those that `keep` wants.
    #[expect(clippy::too_many_arguments, reason = "a place, and what of it")]
    fn read_place(
        &self,
        db: Db,
        at: Cursor,
        homes: Homes,
        attempts: Attempts,
        now: Millis,
        keep: &mut dyn FnMut(&[u8]) -> bool,
        place: &mut Place,
    ) -> Seen {
        let view = self.view();
        let hasher = self.engine().hasher();
        // In a transaction its own shards look as if a write were under way, and it is.
        let most = if self.in_transaction() { 0 } else { attempts.most };
        for attempt in 0..most {
            let homes = if attempts.is_whole { homes } else { homes.after(attempt) };
            if let Some(seen) = view.read_homes(db, at, homes, now, hasher, Some(keep), place) {
                return seen;
            }
            spin_turn();
        }
        // Somebody stores here all the time.
        let homes = if attempts.is_whole { homes } else { homes.after(most) };
        loop {
            let shard = view.shard_at(view.root_of(db), at.shard as usize);
            let is_ours = self.transaction_holds(shard.at);
            if !is_ours {
                shard.lock().acquire();
            }
            // Under the lock only a swap of databases can come between. What is wanted is asked later: it may
            // take long.
            let seen = view.read_homes_locked(db, at, homes, now, hasher, None, place);
            if !is_ours {
                shard.lock().release();
            }
            if let Some((seen, _)) = seen.filter(|(_, read)| read.at == shard.at) {
                return seen;
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
