//! Expiry: every shard and every segment knows a time before which nothing in it is due.
//!
//! A sweep looks at one word per shard and one per segment, and only in segments that are due at
//! the items with a deadline. A segment is swept at most once in `SWEEP_EVERY_MS`, so that many
//! deadlines spread over time cost one visit for many items.
//!
//! ```text
//! shard     0          1                         2          ...        of all databases
//!           |          | segment segment segment |
//!                                      ^ the time was up here, and the next call begins here
//! ```
//! A call that always began at the first shard would never come to the last ones while the first
//! ones have something due again and again. Where very many items of a shard are due at once, its
//! lock is given back every few segments: who wants to read or write there waits for these only.

use crate::guard::{Guard, Spot, Target};
use crate::index::bucket::{META_TTL, SLOTS};
use crate::index::segment::{LINES, NO_DUE, Segment};
use crate::item::Item;
use crate::session::Session;
use crate::sync::atomics::yield_turn;
use crate::verbs::{Db, Event, Millis};

/// How long a segment is left alone after a sweep: the most by which an expiry is late.
pub(crate) const SWEEP_EVERY_MS: u64 = 100;
/// Segments swept while a shard's lock is held: of 130 to 310 items each, which take 20 to 100 us.
const SEGMENTS_A_HOLD: usize = 4;

/// Where expiry goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExpiryPlace {
    /// Counted through all databases.
    shard: usize,
    /// The first hash position in it that has not been swept, as in its directory: whichever segment
    /// has that by then.
    position: u64,
}

/// What a call came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expired {
    pub items: u64,
    /// The time was up, and something else is due.
    pub is_cut_short: bool,
}

impl Session {
    /// Removes what is due, a few segments at a time, while `go_on` says so; the first few in any case.
    pub(super) fn expire(&self, now: Millis, go_on: &dyn Fn() -> bool) -> Expired {
        let engine = self.engine();
        let view = engine.view();
        let shards = view.shard_count();
        let all = shards * usize::from(engine.databases());
        let mut place = self.expiry_place.get();
        let mut expired = Expired { items: 0, is_cut_short: false };
        let mut has_time = true;
        let mut left = all;
        while left > 0 {
            let db = Db((place.shard / shards) as u16);
            let shard_number = place.shard % shards;
            let root = view.root_of(db);
            if !engine.is_open(root) {
                let others = shards - shard_number;
                place = ExpiryPlace { shard: (place.shard + others) % all, position: 0 };
                left = left.saturating_sub(others);
                continue;
            }
            let shard = view.shard_at(root, shard_number);
            let mut rest = None;
            if shard.ttl_items() > 0 && shard.next_due() <= now {
                if !has_time {
                    expired.is_cut_short = true;
                    break;
                }
                shard.lock().acquire();
                let mut guard = Guard::adopt(self, shard, now);
                // After a SWAPDB meanwhile the next call sees to what the database has now.
                if view.root_of(db) == root {
                    let target = Target { db, root, shard_number, shard };
                    let (items, from) = self.expire_part(&mut guard, &target, place.position);
                    expired.items += items;
                    rest = from;
                }
                drop(guard);
                has_time = go_on();
            }
            match rest {
                Some(position) => {
                    place.position = position;
                    // Who slept for the lock would find it taken again.
                    yield_turn();
                }
                None => {
                    place = ExpiryPlace { shard: (place.shard + 1) % all, position: 0 };
                    left -= 1;
                }
            }
        }
        self.expiry_place.set(place);
        expired
    }

    /// Sweeps a few segments of a shard from a position on. Returns how many items went, and the
    /// position from which more is due, if it is: the shard's own word then stays as it is.
    fn expire_part<'s>(
        &'s self,
        guard: &mut Guard<'s>,
        target: &Target<'s>,
        from: u64,
    ) -> (u64, Option<u64>) {
        let directory = target.shard.directory();
        if directory.is_empty() {
            target.shard.set_next_due(NO_DUE);
            return (0, None);
        }
        let (mut expired, mut swept) = (0, 0);
        let mut shard_due = NO_DUE;
        let first = directory.entry_of(from);
        let (mut index, mut position) = (first, from);
        while index < directory.entries() {
            let segment = target.shard.segment(directory, index);
            if segment.next_due() <= guard.now {
                if swept == SEGMENTS_A_HOLD {
                    return (expired, Some(position));
                }
                swept += 1;
                expired += self.expire_segment(guard, target, segment);
            }
            shard_due = shard_due.min(segment.next_due());
            index = segment.span().end_in(directory);
            position = directory.end_of(segment.span());
        }
        // What was swept under an earlier hold may have been given new deadlines since.
        let mut index = 0;
        while index < first {
            let segment = target.shard.segment(directory, index);
            shard_due = shard_due.min(segment.next_due());
            index = segment.span().end_in(directory);
        }
        target.shard.set_next_due(shard_due);
        (expired, None)
    }

    fn expire_segment<'s>(
        &'s self,
        guard: &mut Guard<'s>,
        target: &Target<'s>,
        segment: Segment<'s>,
    ) -> u64 {
        let mut expired = 0;
        let mut next_due = NO_DUE;
        let mut left = segment.ttl_items();
        let mut key = Vec::new();
        for line in 1..LINES {
            if left == 0 {
                break;
            }
            let bucket = segment.line(line);
            let tags = bucket.load();
            for slot in (0..SLOTS).filter(|&slot| tags.tag(slot) != 0) {
                if bucket.meta(slot) & META_TTL == 0 {
                    continue;
                }
                left = left.saturating_sub(1);
                let item = Item::at(segment.words, bucket.reference(slot) as usize * 8)
                    .expect("an indexed item lies within the arena");
                if item.is_due(guard.now) {
                    key.clear();
                    item.copy_key(&mut key);
                    let spot = Spot { segment, line, slot, item };
                    guard.take_out(target, &key, &spot, Event::Expired);
                    expired += 1;
                } else if item.head.has_ttl() {
                    next_due = next_due.min(item.deadline());
                }
            }
        }
        if next_due != NO_DUE {
            next_due = next_due.max(guard.now + SWEEP_EVERY_MS);
        }
        segment.set_next_due(next_due);
        expired
    }
}
