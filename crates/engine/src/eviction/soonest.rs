//! `volatile-ttl`: of what the hand meets in a shard, the items with the soonest deadlines go.
//!
//! A slot says that its item has a deadline and not which: that stands in the item, which is in no cache. So what is
//! looked at for one eviction is what it costs. But items go by the dozen, and one look does for all of them: the
//! sample has so many items for each that is to go, and the soonest of all of it go. (One went of each sample of 64
//! lines, that is of 450 items, which took ten times as long as all else that a SET does.) The items of a segment are
//! asked for together before the first of them is read, so that they are waited for at the same time.
//!
//! ```text
//! segments  |          | ttl  t t | no deadlines | t  ttt t |
//!                      ^ the hand                           ^ where it stops
//! ```

use super::LINES_A_TURN;
use crate::guard::{Guard, Target};
use crate::hand::Hand;
use crate::index::bucket::{META_TTL, SLOTS};
use crate::index::segment::{LINES, Segment};
use crate::session::Session;
use crate::verbs::Millis;

/// Of so many items with a deadline that the hand meets, one goes, of some more as a rule: the hand stops at the end
/// of a segment. Redis looks at 5 keys for each that it evicts.
const ITEMS_A_CHOICE: usize = 24;
/// Where few keys have a deadline, the most lines that are looked through for each item that goes.
const LINES_A_CHOICE: usize = 64;
/// Most items that go while a shard's lock is held: some 1,700 are looked at for them.
const ITEMS_A_HOLD: usize = 64;

/// An item that may go.
struct Candidate<'s> {
    due: Millis,
    segment: Segment<'s>,
    line: usize,
    slot: usize,
}

impl Session {
    /// Evicts up to `items` items of a shard.
    pub(super) fn evict_soonest<'s>(
        &'s self,
        guard: &mut Guard<'s>,
        target: &Target<'s>,
        items: usize,
    ) -> usize {
        // Of a shard with few deadlines no larger part goes: the next shard has its turn.
        let one_in = target.shard.ttl_items() as usize / ITEMS_A_CHOICE;
        let items = one_in.clamp(1, items.min(ITEMS_A_HOLD));
        let mut sample = self.sample(target, items);
        let items = items.min(sample.len());
        if items < sample.len() {
            sample.select_nth_unstable_by_key(items, |candidate| candidate.due);
        }
        for &Candidate { segment, line, slot, .. } in &sample[..items] {
            self.evict_slot(guard, target, segment, line, slot);
        }
        items
    }

    /// What the hand meets in the next few segments, once around the shard at most. It stops between two segments,
    /// so that no item is met twice.
    fn sample<'s>(&'s self, target: &Target<'s>, items: usize) -> Vec<Candidate<'s>> {
        let shard = target.shard;
        let directory = shard.directory();
        let wanted = items * ITEMS_A_CHOICE;
        let mut sample = Vec::with_capacity(wanted + LINES * SLOTS);
        if directory.is_empty() {
            return sample;
        }
        let mut hand = Hand::of(shard.hand());
        // The shard may have been flushed since it was there, or have grown.
        let index = if hand.index < directory.entries() { hand.index } else { 0 };
        let begin = shard.segment(directory, index).span().first_in(directory);
        let mut lines = 0;
        (hand.index, hand.line) = (begin, 1);
        loop {
            let segment = shard.segment(directory, hand.index);
            if segment.ttl_items() > 0 {
                let met = sample.len();
                ask_for_items(segment, &mut sample);
                self.read_deadlines(target.root, met, &mut sample);
                lines += LINES;
            } else {
                // In one stride: where few keys have a deadline, the hand would seldom come to one.
                lines += 1;
            }
            hand.index = segment.span().end_in(directory) % directory.entries();
            let is_enough = sample.len() >= wanted
                || lines >= LINES_A_CHOICE * items && sample.len() >= items
                || lines >= LINES_A_TURN;
            if is_enough || hand.index == begin {
                break;
            }
        }
        shard.set_hand(hand.word());
        sample
    }

    /// Puts in the deadlines of those from `met` on, and leaves out what is not to go now.
    fn read_deadlines(&self, root: u32, met: usize, sample: &mut Vec<Candidate<'_>>) {
        for Candidate { due, segment, line, slot } in &mut sample[met..] {
            *due = self.item_in(*segment, *line, *slot).deadline();
        }
        if !self.kept.borrow().is_empty() {
            let is_kept = |one: &Candidate<'_>| {
                self.is_kept(root, || self.hash_in(one.segment, one.line, one.slot))
            };
            sample.retain(|one| !is_kept(one));
        }
    }
}

/// Adds a segment's items that have a deadline, which is not read yet.
fn ask_for_items<'s>(segment: Segment<'s>, sample: &mut Vec<Candidate<'s>>) {
    for line in 1..LINES {
        let bucket = segment.line(line);
        let tags = bucket.load();
        for slot in 0..SLOTS {
            if tags.tag(slot) != 0 && bucket.meta(slot) & META_TTL != 0 {
                segment.words.prefetch(bucket.reference(slot) as usize * 8);
                sample.push(Candidate { due: 0, segment, line, slot });
            }
        }
    }
}
