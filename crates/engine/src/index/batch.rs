//! Reading several keys at once: what one key's pass has found is carried to the next pass.
//!
//! ```text
//! pass 1   hash -> shard        of 16 keys: -> directory's entry     then -> segment, home line, asked for
//!                                        for keys that come alone a step a key, see step.rs
//! pass 2   tags of the line -> candidate                             then 16 items are asked for, from afar
//! pass 2b  where the home line has none: the stash line's tags       the item is asked for
//! pass 2c  length in the item's header                               the rest of it is asked for
//! pass 3   four keys on: ask for the item once more
//!          is it the key? copy; is all that led here unchanged?
//! ```
//!
//! Pass 3 is in `candidate.rs`, for readers and for writers.

use crate::index::bucket::Line;
use crate::index::fetch::Fetch;
use crate::index::read::View;
use crate::index::segment::{STASH_LINES, Segment, stash_line};
use crate::index::tags::{LineTags, tag_of};
use crate::index::trail::granules;
use crate::index::typical::TypicalBytes;
use crate::item::Item;
use crate::lease::LEASED_BYTES_MIN;
use crate::sync::atomics::Ordering::Relaxed;
use std::hint::cold_path;

/// Keys of a batch: enough for memory to be the limit, few enough for what is fetched to stay.
pub(crate) const BATCH_KEYS: usize = 32;
/// So many keys' lines or items are asked for together, in a loop of a few instructions with nothing else
/// in it. A prefetch from a page whose translation is not at hand holds up what comes after it until
/// that is found, and only those that the processor has in its window at the same time are looked
/// up together. All of a batch at once would hold up too much when caches are near (decision 126).
pub(crate) const TOGETHER: usize = 16;
/// Longer items are not read on the short way: their lengths want a look before they are copied.
pub(super) const PLAIN_BYTES_MAX: usize = 2048;
// Who reads on the short way need not ask whether a value is to be leased.
const _: () = assert!(cfg!(shuttle) || PLAIN_BYTES_MAX < LEASED_BYTES_MIN);

impl<'a> View<'a> {
    /// The beginning of pass 1, which looks at no memory. [`View::find_lines`] does the rest, for many keys.
    #[inline(always)]
    pub fn fetch_line(&self, root: u32, hash: u64) -> Fetch {
        Fetch { hash, root, shard: granules(self.shard_of(root, hash).at), ..Fetch::NONE }
    }

    /// Passes 2 to 2c, for all keys of a batch.
    #[inline(always)]
    pub fn fetch_items(&self, fetches: &mut [Fetch], typical: &TypicalBytes) {
        self.fetch_beginnings(fetches, typical.get());
        self.fetch_rests(fetches, typical);
    }

    /// The same without pass 2c: of each item `bytes` are asked for.
    #[inline(always)]
    pub fn fetch_beginnings(&self, fetches: &mut [Fetch], bytes: usize) {
        // The others were asked for in pass 1.
        let few = fetches.len() % TOGETHER;
        let first = fetches.len() - few;
        self.find_lines(&mut fetches[first..]);
        let mut stashed = 0;
        for some in fetches.chunks_mut(TOGETHER) {
            for fetch in &mut *some {
                stashed += usize::from(self.look_at_home(fetch));
            }
            for fetch in &*some {
                self.ask_for_item(fetch.item_at(), bytes);
            }
        }
        if stashed > 0 {
            for fetch in fetches.iter_mut().filter(|fetch| fetch.is_stashed()) {
                self.look_at_stash(fetch);
                self.ask_for_item(fetch.item_at(), bytes);
            }
        }
    }

    /// Pass 2: the candidate of the home line. True: the stash line has to be looked at, which is on
    /// its way.
    #[inline(always)]
    pub(super) fn look_at_home(&self, fetch: &mut Fetch) -> bool {
        if fetch.home == 0 {
            cold_path();
            if !fetch.is_under_way() {
                return false;
            }
            self.step_on(fetch);
            if fetch.home == 0 {
                return false;
            }
        }
        let home = Line { words: self.words, at: fetch.home_at() };
        let tags = home.load();
        fetch.home_version = tags.version();
        if self.candidate(fetch, home, tags) {
            return false;
        }
        let stash = tags.stash();
        if stash == 0 || stash > STASH_LINES {
            return false;
        }
        let segment = Segment { words: self.words, at: fetch.segment as usize * 8 };
        let line = segment.line(stash_line(stash));
        fetch.line = granules(line.at);
        line.prefetch();
        true
    }

    /// Pass 2b.
    #[inline(always)]
    pub(super) fn look_at_stash(&self, fetch: &mut Fetch) {
        let line = Line { words: self.words, at: fetch.line_at() };
        self.candidate(fetch, line, line.load());
    }

    /// Pass 2c, for a batch: what lies behind that.
    #[inline(always)]
    fn fetch_rests(&self, fetches: &[Fetch], typical: &TypicalBytes) {
        if fetches.is_empty() || typical.passes_over() {
            return;
        }
        let (mut items, mut sum, mut longest) = (0, 0, 0);
        for fetch in fetches {
            if let Some(bytes) = self.fetch_rest(fetch.item_at(), typical.get()) {
                items += 1;
                sum += bytes;
                longest = longest.max(bytes);
            }
        }
        typical.note(items, sum, longest);
    }

    /// The same for one of its keys. Returns how long the item is, if there is one.
    #[inline(always)]
    pub(super) fn fetch_rest(&self, item_at: usize, bytes: usize) -> Option<usize> {
        if item_at == 0 {
            return None;
        }
        let item = Item::at(self.words, item_at)?;
        let size = item.head.size().min(PLAIN_BYTES_MAX);
        let mut at = (item_at + bytes) | 63;
        while at < item_at + size {
            at += 1;
            self.words.prefetch(at);
            at += 63;
        }
        Some(size)
    }

    /// The first word of the item, whatever there is by now; 0: there is none.
    pub fn load_head(&self, fetch: &Fetch) -> u64 {
        let is_there = fetch.item != 0 && self.words.may_load(fetch.item_at(), 8);
        // Relaxed: for the cache's sake only.
        if is_there { self.words.u64_at(fetch.item_at()).load(Relaxed) } else { 0 }
    }

    /// What the passes have asked for, once more: it may have left the cache meanwhile.
    pub fn fetch_again(&self, fetch: &Fetch) {
        if fetch.home == 0 {
            return;
        }
        let places = [fetch.shard_at(), fetch.entry_at, fetch.home_at(), fetch.item_at()];
        places.into_iter().for_each(|at| self.words.prefetch(at));
    }

    #[inline(always)]
    fn candidate(&self, fetch: &mut Fetch, line: Line<'a>, tags: LineTags) -> bool {
        let matches = tags.matches(tag_of(fetch.hash));
        if matches == 0 {
            return false;
        }
        let slot = matches.trailing_zeros();
        fetch.line = granules(line.at);
        fetch.line_version = tags.version();
        fetch.slot = slot;
        fetch.item = line.reference(slot as usize);
        let others = matches & (matches - 1);
        if others != 0 {
            cold_path();
            self.ask_for_others(line, others);
        }
        true
    }

    /// Other items of this tag, one of which is the key's where the first is not: who finds that out has
    /// them near.
    #[inline(never)]
    fn ask_for_others(&self, line: Line<'a>, others: u32) {
        let mut others = others;
        while others != 0 {
            let at = line.reference(others.trailing_zeros() as usize) as usize * 8;
            self.words.prefetch(at);
            self.words.prefetch(at + 64);
            others &= others - 1;
        }
    }

    /// Pass 2, for an item of `bytes`: into the second cache, from where `near.rs` brings most of them in time. Of 64
    /// items at once the first cache would keep little (decision 183).
    #[inline(always)]
    fn ask_for_item(&self, item_at: usize, bytes: usize) {
        self.words.prefetch_far(item_at);
        lines_behind_first(item_at, bytes, |at| self.words.prefetch_far(at));
    }

    /// Asks for the lines of an item of `bytes` behind its first.
    #[inline(always)]
    pub(super) fn prefetch_rest(&self, item_at: usize, bytes: usize) {
        lines_behind_first(item_at, bytes, |at| self.words.prefetch(at));
    }
}

/// A place in each line of an item of `bytes` but the one in which it begins.
#[inline(always)]
pub(super) fn lines_behind_first(item_at: usize, bytes: usize, ask: impl Fn(usize)) {
    if bytes <= 128 {
        if bytes > 64 {
            ask(item_at + 64);
        }
        // The last byte's line, which may be one of those. Of 0, which is "not known", as of 64.
        ask(item_at + if bytes == 0 { 63 } else { bytes - 1 });
        return;
    }
    let (mut at, end) = ((item_at | 63) + 1, item_at + bytes);
    while at < end {
        ask(at);
        at += 64;
    }
}
