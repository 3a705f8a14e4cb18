//! The queue of large items, with what tells an entry of an earlier time from one of now.
//!
//! ```text
//!   entries   1 (db, hash, block)  2 (db, hash, block)  3 (db, hash, block) ...
//!   last_of   block -> the number of its last entry, which is the only one of it that counts
//! ```
//! A block that was freed is taken again, often by the very key that had it: the lowest free place
//! serves first. Its entry of that earlier time would then be true again, and would make the newest
//! item the oldest. Hence the numbers: what does not count is passed over, and taken out in time.

use crate::verbs::Db;
use std::collections::{HashMap, VecDeque};

/// Entries that are kept, stale ones included. Beyond them the oldest are left to the hand.
const ENTRIES_MAX: usize = 1 << 16;
/// Entries that do not count are taken out when there are so many more of them than of others: then
/// that costs each store a few steps, and an item stored over and over drives nobody out.
const UNCOUNTED_MIN: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Counts up in the order of the queue, from 1.
    pub number: u64,
    pub db: Db,
    pub hash: u64,
    pub block: u32,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    /// The last entry of each block. All of these are in the queue.
    last_of: HashMap<u32, u64>,
    /// The number of the newest entry.
    newest: u64,
}

impl Queue {
    pub fn push(&mut self, db: Db, hash: u64, block: u32) {
        if self.entries.len() >= 2 * self.counted() + UNCOUNTED_MIN {
            let last_of = &self.last_of;
            self.entries.retain(|entry| last_of.get(&entry.block) == Some(&entry.number));
        }
        if self.entries.len() >= ENTRIES_MAX
            && let Some(oldest) = self.entries.pop_front()
        {
            self.forget(&oldest);
        }
        self.newest += 1;
        self.last_of.insert(block, self.newest);
        self.entries.push_back(Entry { number: self.newest, db, hash, block });
    }

    /// How many entries count.
    pub fn counted(&self) -> usize {
        self.last_of.len()
    }

    /// Whether nothing was entered for its block since.
    pub fn counts(&self, entry: &Entry) -> bool {
        self.last_of.get(&entry.block) == Some(&entry.number)
    }

    /// The oldest entry that counts behind the one with this number.
    pub fn first_behind(&mut self, number: u64) -> Option<Entry> {
        while self.entries.front().is_some_and(|entry| !self.counts(entry)) {
            self.entries.pop_front();
        }
        let from = self.entries.partition_point(|entry| entry.number <= number);
        self.entries.range(from..).find(|entry| self.counts(entry)).copied()
    }

    /// The entry counts no more, if it still did.
    pub fn forget(&mut self, entry: &Entry) {
        if self.counts(entry) {
            self.last_of.remove(&entry.block);
        }
    }

    /// The item goes behind the newest, unless its block has become another's.
    pub fn renew(&mut self, entry: &Entry) {
        if self.counts(entry) {
            self.push(entry.db, entry.hash, entry.block);
        }
    }

    /// What lay in one block lies in another now.
    pub fn rename(&mut self, from: u32, to: u32) {
        let Some(number) = self.last_of.remove(&from) else { return };
        if let Ok(place) = self.entries.binary_search_by_key(&number, |entry| entry.number) {
            self.entries[place].block = to;
            self.last_of.insert(to, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An item's key stands for its hash.
    fn queue(stores: impl IntoIterator<Item = (u64, u32)>) -> Queue {
        let mut queue = Queue::default();
        stores.into_iter().for_each(|(key, block)| queue.push(Db(0), key, block));
        queue
    }

    /// Keys and blocks of the entries that count, oldest first.
    fn order(queue: &mut Queue) -> Vec<(u64, u32)> {
        let mut passed = 0;
        std::iter::from_fn(|| {
            let entry = queue.first_behind(passed)?;
            passed = entry.number;
            Some((entry.hash, entry.block))
        })
        .collect()
    }

    /// Stored three times in turns of two blocks, an item lies where it lay at first: that first entry
    /// was found true, and the newest item went in place of the oldest.
    #[test]
    fn a_block_that_its_key_has_again_makes_it_no_older() {
        let mut queue = queue([(0, 100), (1, 101), (2, 102), (0, 110), (0, 100)]);
        assert_eq!(order(&mut queue), [(1, 101), (2, 102), (0, 110), (0, 100)]);
    }

    #[test]
    fn what_is_moved_keeps_its_place_and_not_that_of_an_earlier_time() {
        let mut queue = queue([(0, 100), (1, 101), (2, 100), (3, 103)]);
        queue.rename(100, 90);
        assert_eq!(order(&mut queue), [(1, 101), (2, 90), (3, 103)]);
        // Where there is no entry any more there is nothing to move.
        queue.rename(100, 101);
        assert_eq!(order(&mut queue), [(1, 101), (2, 90), (3, 103)]);
    }

    #[test]
    fn an_item_whose_block_has_become_anothers_is_neither_renewed_nor_takes_that_ones_place() {
        let mut queue = queue([(0, 100), (1, 101)]);
        let met = queue.first_behind(0).expect("two are there");
        queue.push(Db(0), 2, 100);
        queue.renew(&met);
        queue.forget(&met);
        assert_eq!(order(&mut queue), [(1, 101), (2, 100)]);
        let met = queue.first_behind(0).expect("two are there");
        queue.renew(&met);
        assert_eq!(order(&mut queue), [(2, 100), (1, 101)]);
    }

    /// The entries of an item that was stored anew and anew drove all others out of the order.
    #[cfg(not(miri))]
    #[test]
    fn an_item_stored_anew_many_times_drives_no_other_out() {
        let anew = (0..2 * ENTRIES_MAX).map(|turn| (1, 101 + turn as u32 % 2));
        let mut queue = queue(std::iter::once((0, 100)).chain(anew));
        assert!(queue.entries.len() <= 3 * UNCOUNTED_MIN, "{} entries", queue.entries.len());
        assert_eq!(order(&mut queue), [(0, 100), (1, 101), (1, 102)]);
    }

    #[cfg(not(miri))]
    #[test]
    fn more_than_there_is_room_for_are_left_to_the_hand_the_oldest_first() {
        let more = ENTRIES_MAX as u64 + 10;
        let mut queue = queue((0..more).map(|key| (key, key as u32)));
        let order = order(&mut queue);
        assert_eq!((order[0].0, order.len()), (10, ENTRIES_MAX));
        assert_eq!(queue.counted(), ENTRIES_MAX);
    }
}
