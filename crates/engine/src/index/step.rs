//! Pass 1 of a batch for keys that come one at a time, as those of requests without a pipeline: a step a key.
//!
//! ```text
//! key n      hash -> shard                                   its line is asked for
//! key n - 1          shard -> directory                      its entry's line is asked for
//! key n - 2                   directory -> segment, home     the home line is asked for
//! ```
//! Between two such keys there is a system call, behind which none of these lines is near. A key alone would wait
//! for one after the other; what was asked for a call ago has come. The last of a batch take the steps that they
//! lack before pass 2, and whoever did not get on because four or more other keys came behind it does so in pass 2
//! (decision 148).

use super::batch::Fetch;
use super::read::View;
use super::segment::{SEGMENT_BYTES, Segment, home_of};
use super::shard::Shard;
use crate::sync::atomics::Ordering::Acquire;

/// How many keys back one may be under way that is given another step: other commands' keys, which are not fetched in
/// steps, may stand between.
const REACH: usize = 4;

impl Fetch {
    /// There are steps left to take.
    #[inline(always)]
    pub(super) fn is_under_way(&self) -> bool {
        self.home_at == 0 && self.shard_at != 0
    }
}

impl View<'_> {
    /// The first step of a key, and the next one of each that is under way among the last few before it. Who is going to write asks for the
    /// lock's line as well.
    #[inline(always)]
    pub fn fetch_in_steps(&self, root: u32, hash: u64, writes: bool, fetches: &mut Vec<Fetch>) {
        let shard = self.shard_of(root, hash);
        shard.prefetch();
        if writes {
            self.words.prefetch(shard.at);
        }
        for before in fetches.iter_mut().rev().take(REACH) {
            self.step(before);
        }
        fetches.push(Fetch { hash, root, shard_at: shard.at, ..Fetch::NONE });
    }

    /// Before pass 2, what the last keys of a batch lack, side by side.
    #[inline(always)]
    pub(super) fn end_steps(&self, fetches: &mut [Fetch]) {
        if !fetches.iter().rev().take(REACH).any(Fetch::is_under_way) {
            return;
        }
        for _ in 0..2 {
            for fetch in fetches.iter_mut().rev().take(REACH) {
                self.step(fetch);
            }
        }
    }

    /// The steps that a key lacks of which the keys behind it lost sight.
    #[cold]
    #[inline(never)]
    pub(super) fn step_on(&self, fetch: &mut Fetch) {
        while fetch.is_under_way() {
            self.step(fetch);
        }
    }

    #[inline(always)]
    fn step(&self, fetch: &mut Fetch) {
        if !fetch.is_under_way() {
            return;
        }
        if fetch.entry_at == 0 {
            let shard = Shard { words: self.words, at: fetch.shard_at };
            fetch.several = shard.several();
            let directory = shard.directory();
            fetch.directory = directory.0;
            fetch.entry_at = directory.entry_at(self.position(fetch.hash));
            // As in `fetch_line`.
            let is_there = fetch.several & 1 == 0 && !directory.is_empty();
            if !is_there || !self.words.may_load(fetch.entry_at, 4) {
                *fetch = Fetch { hash: fetch.hash, ..Fetch::NONE };
            }
            self.words.prefetch(fetch.entry_at);
            return;
        }
        // Pairs with the Release with which a split publishes the new segments.
        fetch.segment = self.words.u32_at(fetch.entry_at).load(Acquire);
        let at = fetch.segment as usize * 8;
        if !self.words.may_load(at, SEGMENT_BYTES) {
            *fetch = Fetch { hash: fetch.hash, ..Fetch::NONE };
            return;
        }
        let home = Segment { words: self.words, at }.line(home_of(fetch.hash));
        fetch.home_at = home.at;
        home.prefetch();
    }
}
