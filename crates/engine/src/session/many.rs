//! Reading several keys as of one moment.
//!
//! All are read without a lock, and then everything that was gone by is looked at once more. If all
//! of it is as it was, it was so at one moment: between the last read and the first look.

use super::Session;
use crate::counters::Counter;
use crate::index::bucket::META_FREQUENCY;
use crate::index::read::{Evidence, Shown, step};
use crate::sync::atomics::Ordering::Acquire;
use crate::sync::atomics::{fence, spin_turn};
use crate::verbs::*;

/// Attempts of an optimistic read of several keys before it takes the locks.
const READ_MANY_ATTEMPTS: usize = 16;

/// What a read of one of several keys went by: the shard's mark of writes of several, and the rest.
type Looked<'a> = (u64, Option<Evidence<'a>>, Option<Shown<'a>>);

impl Session {
    /// Several keys as of one moment. `head(i, found, out)` is called for every key, present or
    /// not, before its value is appended; all of it may be repeated.
    pub fn get_many(
        &self,
        db: Db,
        keys: &[Key<'_>],
        now: Millis,
        out: &mut Vec<u8>,
        mut head: impl FnMut(usize, Option<&Found>, &mut Vec<u8>),
    ) {
        let start = out.len();
        if !self.in_transaction() {
            let mut evidence: Vec<Looked<'_>> = Vec::with_capacity(keys.len());
            for _ in 0..READ_MANY_ATTEMPTS {
                out.truncate(start);
                evidence.clear();
                if self.read_all(db, keys, now, out, &mut head, &mut evidence)
                    && self.all_hold(db, keys, &evidence)
                {
                    self.count_many(db, keys, now);
                    return;
                }
                spin_turn();
            }
        }
        // Writers are too quick, or the locks are ours anyway.
        out.truncate(start);
        let places: Vec<(Db, u64)> = keys.iter().map(|key| (db, key.hash)).collect();
        let mut unused = Vec::new();
        let guard = self.write_many(&places, now);
        let complete = self.read_all(db, keys, now, out, &mut head, &mut unused);
        debug_assert!(complete, "nothing can change under the locks");
        drop(guard);
        self.count_many(db, keys, now);
    }

    /// False: something was seen that cannot be.
    fn read_all<'e>(
        &'e self,
        db: Db,
        keys: &[Key<'_>],
        now: Millis,
        out: &mut Vec<u8>,
        head: &mut impl FnMut(usize, Option<&Found>, &mut Vec<u8>),
        evidence: &mut Vec<Looked<'e>>,
    ) -> bool {
        let view = self.view();
        for (index, key) in keys.iter().enumerate() {
            let several = view.shard_of(view.root_of(db), key.hash).several();
            let Some((hit, seen)) = view.probe(db, key) else { return false };
            let mut shown = None;
            match hit.filter(|hit| !hit.item.is_due(now)) {
                None => head(index, None, out),
                Some(hit) => {
                    let (found, int) = hit.item.found(hit.line.meta(hit.slot));
                    // A length from a block that is being reused could be anything up to the
                    // arena's end: look before copying much.
                    if found.len > 4096 && seen.is_some_and(|seen| !view.holds(db, &seen)) {
                        return false;
                    }
                    head(index, Some(&found), out);
                    if hit.item.head.is_string() {
                        hit.item.copy_value(int, out);
                    }
                    shown = Some(Shown { hit, int, deadline: found.deadline });
                }
            }
            evidence.push((several, seen, shown));
        }
        true
    }

    fn all_hold(&self, db: Db, keys: &[Key<'_>], evidence: &[Looked<'_>]) -> bool {
        let view = self.view();
        // Orders the last read before the first look.
        fence(Acquire);
        keys.iter().zip(evidence).all(|(key, (several, seen, shown))| {
            let shard = view.shard_of(view.root_of(db), key.hash);
            let unchanged = match seen {
                Some(seen) => view.holds_exactly(db, seen, *shown),
                None => shard.directory().is_empty(),
            };
            // Odd: a write of several keys was under way.
            unchanged && step!(Several, several & 1 == 0 && shard.several() == *several)
        })
    }

    /// Hits and misses of a read of several keys, once it has succeeded.
    fn count_many(&self, db: Db, keys: &[Key<'_>], now: Millis) {
        let view = self.view();
        let mut hits = 0;
        for key in keys {
            if let Some((Some(hit), _)) = view.probe(db, key)
                && !hit.item.is_due(now)
            {
                if hit.line.meta(hit.slot) & META_FREQUENCY < META_FREQUENCY {
                    self.note_use(db, key, now);
                }
                hits += 1;
            }
        }
        self.count(Counter::Hits, hits);
        self.count(Counter::Misses, keys.len() as u64 - hits);
    }
}
