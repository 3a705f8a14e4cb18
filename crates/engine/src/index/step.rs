//! Pass 1 of a batch: the steps from a key's hash to its home line.
//!
//! ```text
//! many keys: find_lines       16 shards -> directory         their entries' lines are asked for
//!                             16 directories -> homes        the home lines are asked for
//!
//! one at a time, as those of requests without a pipeline, a step a key: fetch_in_steps
//! key n      hash -> shard                                   its line is asked for
//! key n - 1          shard -> directory                      its entry's line is asked for
//! key n - 2                   directory -> segment, home     the home line is asked for
//! ```
//! Between two such keys there is a system call, behind which none of these lines is near. A key alone would wait
//! for one after the other; what was asked for a call ago has come. The last of a batch take the steps that they
//! lack before pass 2, and whoever did not get on because four or more other keys came behind it does so in pass 2
//! (decision 148).

use super::fetch::Fetch;
use super::read::View;
use super::segment::{SEGMENT_BYTES, Segment, home_of};
use super::shard::Shard;
use super::trail::granules;
use crate::sync::atomics::Ordering::Acquire;
use std::hint::cold_path;

/// How many keys back one may be under way that is given another step: other commands' keys, which are not fetched in
/// steps, may stand between.
const REACH: usize = 4;

impl Fetch {
    /// There are steps left to take.
    #[inline(always)]
    pub(super) fn is_under_way(&self) -> bool {
        self.home == 0 && self.shard != 0
    }

    /// The first of them is.
    #[inline(always)]
    fn lacks_entry(&self) -> bool {
        self.entry_at == 0 && self.shard != 0
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
        fetches.push(Fetch { hash, root, shard: granules(shard.at), ..Fetch::NONE });
    }

    /// The steps that keys lack, side by side, each in a short loop: the words that one key's step loads do not wait
    /// for those of another (decision 182).
    #[inline(always)]
    pub fn find_lines(&self, fetches: &mut [Fetch]) {
        for fetch in fetches.iter_mut().filter(|fetch| fetch.lacks_entry()) {
            self.find_entry(fetch);
        }
        for fetch in fetches.iter_mut().filter(|fetch| fetch.is_under_way()) {
            self.find_home(fetch);
        }
    }

    /// The steps that a key lacks of which the keys behind it lost sight.
    #[cold]
    #[inline(never)]
    pub(super) fn step_on(&self, fetch: &mut Fetch) {
        // There are two. Of what only seems to be an entry, where memory has another use by now, a home line may
        // come out that is none, however often it is looked at.
        self.step(fetch);
        self.step(fetch);
    }

    #[inline(always)]
    fn step(&self, fetch: &mut Fetch) {
        if fetch.lacks_entry() {
            self.find_entry(fetch);
        } else if fetch.is_under_way() {
            self.find_home(fetch);
        }
    }

    #[inline(always)]
    fn find_entry(&self, fetch: &mut Fetch) {
        let shard = Shard { words: self.words, at: fetch.shard_at() };
        fetch.several = shard.several();
        let directory = shard.directory();
        fetch.directory = directory.0;
        fetch.entry_at = directory.entry_at(self.position(fetch.hash));
        // A shard without segments has no entries: what would be taken for one is the arena's header.
        let is_there = fetch.several & 1 == 0 && !directory.is_empty();
        if !is_there || !self.words.may_load(fetch.entry_at, 4) {
            cold_path();
            *fetch = Fetch { hash: fetch.hash, ..Fetch::NONE };
        }
        self.words.prefetch(fetch.entry_at);
    }

    #[inline(always)]
    fn find_home(&self, fetch: &mut Fetch) {
        // Pairs with the Release with which a split publishes the new segments.
        fetch.segment = self.words.u32_at(fetch.entry_at).load(Acquire);
        let at = fetch.segment as usize * 8;
        if !self.words.may_load(at, SEGMENT_BYTES) {
            *fetch = Fetch { hash: fetch.hash, ..Fetch::NONE };
            return;
        }
        let home = Segment { words: self.words, at }.line(home_of(fetch.hash));
        fetch.home = granules(home.at);
        home.prefetch();
    }
}
