//! Expiry: every shard and every segment knows a time before which nothing in it is due.
//!
//! A sweep looks at one word per shard and one per segment, and only in segments that are due at
//! the items with a deadline. A segment is swept at most once in `SWEEP_EVERY_MS`, so that many
//! deadlines spread over time cost one visit for many items.

use crate::guard::{Guard, Spot, Target};
use crate::index::bucket::{META_TTL, SLOTS};
use crate::index::segment::{LINES, NO_DUE, Segment};
use crate::item::Item;
use crate::session::Session;
use crate::sync::lock;
use crate::verbs::{Db, Event, Millis};

/// How long a segment is left alone after a sweep: the most by which an expiry is late.
const SWEEP_EVERY_MS: u64 = 100;

impl Session {
    /// Removes what is due, segment by segment, while `go_on` says so. Returns how many items.
    pub(crate) fn expire(&self, now: Millis, go_on: &dyn Fn() -> bool) -> u64 {
        let engine = self.engine();
        let view = engine.view();
        let mut expired = 0;
        for db in (0..engine.databases()).map(Db) {
            let root = view.root_of(db);
            if !engine.is_open(root) {
                continue;
            }
            for shard_number in 0..view.shard_count() {
                let shard = view.shard_at(root, shard_number);
                if shard.ttl_items() == 0 || shard.next_due() > now {
                    continue;
                }
                lock::acquire(shard.lock());
                let mut guard = Guard::adopt(self, shard, now);
                if view.root_of(db) != root {
                    continue;
                }
                let target = Target { db, root, shard_number, shard };
                expired += self.expire_shard(&mut guard, &target);
                drop(guard);
                if !go_on() {
                    return expired;
                }
            }
        }
        expired
    }

    fn expire_shard<'s>(&'s self, guard: &mut Guard<'s>, target: &Target<'s>) -> u64 {
        let directory = target.shard.directory();
        let mut expired = 0;
        let mut shard_due = NO_DUE;
        let mut index = 0;
        while !directory.is_empty() && index < directory.entries() {
            let segment = target.shard.segment(directory, index);
            index = segment.span().end_in(directory);
            if segment.next_due() <= guard.now {
                expired += self.expire_segment(guard, target, segment);
            }
            shard_due = shard_due.min(segment.next_due());
        }
        target.shard.set_next_due(shard_due);
        expired
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
