//! Iteration: SCAN, KEYS and RANDOMKEY.
//!
//! A cursor is a place in hash space: shard, then the hash bits below it (a segment's prefix, left
//! aligned), then a home line.
//!
//! ```text
//! bits 6.. of the cursor: shard << 32 | upper 32 bits of the shifted hash       bits 0..5: line
//! ```
//! A key's home line does not depend on how often its segment was split, so that a cursor stays
//! good whatever happens between two steps: home lines below `line` of the segment at the cursor,
//! and all segments before it, have been visited. After a split the rest of the second half is
//! visited from its first line, so that some keys may be seen twice, as with Redis.

use crate::engine::Engine;
use crate::index::bucket::{SLOTS, tag_of};
use crate::index::segment::{HOME_LINES, Segment, home_of, stash_line};
use crate::item::Item;
use crate::session::Session;
use crate::sync::lock;
use crate::verbs::{Db, Found, Millis};

const LINE_BITS: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    shard: u64,
    /// Upper 32 bits of the shifted hash.
    prefix: u64,
    /// Home lines done.
    line: u64,
}

impl Cursor {
    fn decode(word: u64) -> Cursor {
        Cursor {
            shard: word >> (32 + LINE_BITS),
            prefix: word >> LINE_BITS & 0xffff_ffff,
            line: word & ((1 << LINE_BITS) - 1),
        }
    }

    fn encode(self) -> u64 {
        self.shard << (32 + LINE_BITS) | self.prefix << LINE_BITS | self.line
    }
}

impl Session {
    /// One step of an iteration over a database. Start with cursor 0; a returned 0 is the end.
    /// A key present during the whole iteration is visited at least once. `visit` runs without
    /// locks.
    pub fn scan(
        &self,
        db: Db,
        cursor: u64,
        count: usize,
        now: Millis,
        mut visit: impl FnMut(&[u8], &Found),
    ) -> u64 {
        let engine = self.engine();
        let view = engine.view();
        let root = view.root_of(db);
        let mut at = Cursor::decode(cursor);
        let mut batch: Vec<(Vec<u8>, Found)> = Vec::new();
        let mut seen = 0;
        let mut lines = 0usize;
        // As Redis: ten times as many places as keys asked for, so that sparse data end a step.
        let lines_max = count.saturating_mul(10).max(HOME_LINES);
        while engine.is_open(root) && at.shard < view.shard_count() as u64 {
            let shard = view.shard_at(root, at.shard as usize);
            lock::acquire(shard.lock());
            let directory = shard.directory();
            let mut next_segment = None;
            if !directory.is_empty() {
                let segment = shard.segment_of(directory, at.prefix << 32);
                let depth = segment.depth();
                while (at.line as usize) < HOME_LINES
                    && seen + batch.len() < count
                    && lines < lines_max
                {
                    engine.collect_home(segment, at.line as usize + 1, now, &mut batch);
                    at.line += 1;
                    lines += 1;
                }
                if (at.line as usize) < HOME_LINES {
                    next_segment = Some(at);
                } else {
                    // The prefix of the next segment, if the shard has one.
                    let span = 1u64 << (32 - depth);
                    let prefix = (at.prefix & !(span - 1)) + span;
                    if prefix < 1 << 32 {
                        next_segment = Some(Cursor { prefix, line: 0, ..at });
                    }
                }
            }
            lock::release(shard.lock());
            seen += batch.len();
            for (key, found) in batch.drain(..) {
                visit(&key, &found);
            }
            at = next_segment.unwrap_or(Cursor { shard: at.shard + 1, prefix: 0, line: 0 });
            if directory.is_empty() {
                lines += 1;
            }
            if seen >= count || lines >= lines_max {
                break;
            }
        }
        if !engine.is_open(root) || at.shard >= view.shard_count() as u64 { 0 } else { at.encode() }
    }

    /// Appends a key chosen by `random` to `out`. False: the database is empty.
    pub fn random_key(&self, db: Db, random: u64, now: Millis, out: &mut Vec<u8>) -> bool {
        let engine = self.engine();
        let view = engine.view();
        let root = view.root_of(db);
        let total = engine.len(db);
        if total == 0 {
            return false;
        }
        // The shard by its number of items, then a place in it.
        let mut rest = random % total;
        let mut start = 0;
        for number in 0..view.shard_count() {
            let items = view.shard_at(root, number).items();
            if rest < items {
                start = number;
                break;
            }
            rest -= items;
        }
        let place = random.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut batch = Vec::new();
        for step in 0..view.shard_count() {
            let number = (start + step) % view.shard_count();
            let shard = view.shard_at(root, number);
            lock::acquire(shard.lock());
            let directory = shard.directory();
            if !directory.is_empty() {
                let first = (place >> 40) as usize % directory.entries();
                for entry in 0..directory.entries() {
                    let index = (first + entry) % directory.entries();
                    let segment = shard.segment(directory, index);
                    let line = place as usize % HOME_LINES;
                    for home in (0..HOME_LINES).map(|h| (line + h) % HOME_LINES + 1) {
                        engine.collect_home(segment, home, now, &mut batch);
                        if !batch.is_empty() {
                            break;
                        }
                    }
                    if !batch.is_empty() {
                        break;
                    }
                }
            }
            lock::release(shard.lock());
            if !batch.is_empty() {
                let chosen = (place >> 20) as usize % batch.len();
                out.extend_from_slice(&batch[chosen].0);
                return true;
            }
        }
        false
    }
}

impl Engine {
    /// The keys at home in a line, those in its stash line included. Under the lock.
    fn collect_home(
        &self,
        segment: Segment<'_>,
        home: usize,
        now: Millis,
        batch: &mut Vec<(Vec<u8>, Found)>,
    ) {
        let stash = segment.line(home).load().stash();
        let stash = (stash != 0).then(|| stash_line(stash));
        for line in [Some(home), stash].into_iter().flatten() {
            let bucket = segment.line(line);
            let tags = bucket.load();
            for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
                let item = Item::at(self.mem(), bucket.reference(slot) as usize * 8)
                    .expect("an indexed item lies within the arena");
                if item.is_due(now) {
                    continue;
                }
                let mut key = Vec::with_capacity(item.head.key_len);
                item.copy_key(&mut key);
                if line != home {
                    let hash = self.hash(&key);
                    debug_assert_eq!(tag_of(hash), tags.tag(slot));
                    if home_of(hash) != home {
                        continue;
                    }
                }
                batch.push((key, item.found(bucket.meta(slot)).0));
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
            for prefix in [0, 1 << 31, 0xffff_ffff] {
                for line in [0, 1, 55] {
                    let cursor = Cursor { shard, prefix, line };
                    assert_eq!(Cursor::decode(cursor.encode()), cursor);
                }
            }
        }
    }
}
