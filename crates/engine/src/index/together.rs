//! Reading several keys at once, by a reader who attached.
//!
//! ```text
//! pass 1   hash -> shard, directory, segment -> home line            then 16 lines are asked for
//! pass 2   tags of the line -> item                                  then 16 items are asked for
//! pass 2b  where the home line has none: the stash line's tags       the item is asked for
//! pass 2c  length in the item's header                               the rest of it is asked for
//! pass 3   is it the key? copy; is all that led here unchanged?
//! ```
//!
//! The passes are those of `batch.rs`, by the short way of `trail.rs`: what counts is how many
//! instructions stand between one key's miss and the next one's. What is asked for in a loop of its own, and
//! why 16 keys at a time, says decision 126.

use crate::hash::Hasher;
use crate::index::batch::{BATCH_KEYS, PLAIN_BYTES_MAX, TOGETHER};
use crate::index::read::{Contended, View};
use crate::index::trail::{Trail, offset};
use crate::index::typical::TypicalBytes;
use crate::item::Item;
use crate::reader::Copied;
use crate::verbs::{Db, Key, Millis};
use std::mem::MaybeUninit;

/// How many keys before its turn a key's item is asked for once more (decision 122): twice as many as in
/// the server, since there is half as much to do in between.
const SOON_KEYS: usize = 8;
/// How much of an item is asked for at first: of 32 items at once more would not stay.
const FIRST_BYTES: usize = 256;
/// The longest value of a plain item.
const PLAIN_VALUE_MAX: usize = 255;

/// What is the same for all keys of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'b> {
    pub db: Db,
    pub hasher: &'b Hasher,
    pub typical: &'b TypicalBytes,
}

impl<'a> View<'a> {
    /// Reads up to [`BATCH_KEYS`] keys and hands each value to `visit` in order; those that are not plain
    /// go through `long`. A key that is no string has no value.
    #[inline(always)]
    pub fn read_together<K: AsRef<[u8]>>(
        &self,
        batch: Batch<'_>,
        keys: &[K],
        now: impl Fn() -> Millis,
        long: &mut Vec<u8>,
        mut visit: impl FnMut(usize, Result<Option<&[u8]>, Contended>),
    ) {
        let keys = &keys[..keys.len().min(BATCH_KEYS)];
        let root = self.root_of(batch.db);
        let mut trails = [const { MaybeUninit::uninit() }; BATCH_KEYS];
        // Keys that no trail was found for.
        let mut lost = 0u32;
        let mut hashes = [0; BATCH_KEYS];
        let some = trails.chunks_mut(TOGETHER).zip(hashes.chunks_mut(TOGETHER));
        for (turn, (keys, (trails, hashes))) in keys.chunks(TOGETHER).zip(some).enumerate() {
            let first = turn * TOGETHER;
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = batch.hasher.hash(key.as_ref());
                self.shard_of(root, *hash).prefetch();
            }
            let trails = &mut trails[..keys.len()];
            for (number, (trail, hash)) in trails.iter_mut().zip(&*hashes).enumerate() {
                // Written in either case by itself: as one value it would be put together on the
                // stack and then copied.
                if let Some(found) = self.set_out(root, *hash) {
                    trail.write(found);
                } else {
                    lost |= 1 << ((first + number) % BATCH_KEYS);
                    trail.write(self.nowhere());
                }
            }
            // SAFETY: a trail was written for each of these keys.
            for (number, trail) in unsafe { trails.assume_init_mut() }.iter_mut().enumerate() {
                if !self.enter(trail) {
                    lost |= 1 << ((first + number) % BATCH_KEYS);
                }
                self.words.prefetch(offset(trail.line));
            }
        }
        // SAFETY: a trail was written for each key.
        let trails = unsafe { trails[..keys.len()].assume_init_mut() };
        self.find_items(trails, batch.typical.get().min(FIRST_BYTES));
        if lost != 0 {
            // What a line that is none seemed to name.
            for (number, trail) in trails.iter_mut().enumerate() {
                if lost >> number & 1 != 0 {
                    trail.item = 0;
                }
            }
        }
        self.ask_for_rests(trails, batch.typical);

        let near = batch.typical.get();
        let mut room = [MaybeUninit::uninit(); PLAIN_VALUE_MAX];
        for (number, (trail, key)) in trails.iter().zip(keys).enumerate() {
            if let Some(soon) = trails.get(number + SOON_KEYS) {
                self.words.prefetch(offset(soon.item));
                self.prefetch_rest(offset(soon.item), near);
            }
            let bytes = key.as_ref();
            if let Some(item) = self.plain_item(trail, bytes) {
                let value = &mut room[..item.head.value_len & PLAIN_VALUE_MAX];
                item.copy_value_to(0, value);
                if self.is_still_so(batch.db, root, trail) {
                    // SAFETY: the value is as long as this, and was copied to all of it.
                    visit(number, Ok(Some(unsafe { value.assume_init_ref() })));
                    continue;
                }
            }
            let is_there = self.read_other(batch, root, trail, bytes, &now, long);
            visit(number, is_there.map(|is_there| is_there.then_some(&long[..])));
        }
    }

    /// Passes 2 and 2b: of each item `bytes` are asked for.
    #[inline(always)]
    fn find_items(&self, trails: &mut [Trail<'a>], bytes: usize) {
        let mut stashed = [0u8; BATCH_KEYS];
        let mut count = 0;
        for (turn, some) in trails.chunks_mut(TOGETHER).enumerate() {
            for (number, trail) in some.iter_mut().enumerate() {
                stashed[count % BATCH_KEYS] = (turn * TOGETHER + number) as u8;
                count += usize::from(!self.look(trail));
            }
            for trail in &*some {
                self.words.prefetch(offset(trail.item));
                self.prefetch_rest(offset(trail.item), bytes);
            }
        }
        let stashed = &stashed[..count.min(BATCH_KEYS)];
        for number in stashed {
            self.go_on(&mut trails[usize::from(*number)]);
        }
        for number in stashed {
            let trail = &mut trails[usize::from(*number)];
            if trail.home != 0 {
                self.look(trail);
                self.words.prefetch(offset(trail.item));
                self.prefetch_rest(offset(trail.item), bytes);
            }
        }
    }

    /// Pass 2c.
    #[inline(always)]
    fn ask_for_rests(&self, trails: &[Trail<'a>], typical: &TypicalBytes) {
        if !trails.is_empty() && !typical.passes_over() {
            self.look_at_lengths(trails, typical);
        }
    }

    #[inline(never)]
    fn look_at_lengths(&self, trails: &[Trail<'a>], typical: &TypicalBytes) {
        let (mut items, mut sum, mut longest) = (0, 0, 0);
        for trail in trails {
            if let Some(bytes) = self.fetch_rest(offset(trail.item), typical.get()) {
                items += 1;
                sum += bytes;
                longest = longest.max(bytes);
            }
        }
        typical.note(items, sum, longest);
    }

    /// What is not plain: by the trail, if it is a string in any other form of two thousand bytes at most,
    /// and else from the start. Whether there is a value; it is in `long`.
    #[inline(never)]
    fn read_other(
        &self,
        batch: Batch<'_>,
        root: u32,
        trail: &Trail<'a>,
        bytes: &[u8],
        now: &impl Fn() -> Millis,
        long: &mut Vec<u8>,
    ) -> Result<bool, Contended> {
        long.clear();
        if trail.item != 0
            && let Some(item) = Item::at(self.words, offset(trail.item))
            && item.head.is_string()
            && !item.head.is_int()
            && item.head.size() <= PLAIN_BYTES_MAX
            && item.has_key(bytes)
        {
            let is_there = !item.head.has_ttl() || !item.is_due(now());
            if is_there {
                item.copy_value(0, long);
            }
            if self.is_still_so(batch.db, root, trail) {
                return Ok(is_there);
            }
        }
        let key = Key::from_parts(bytes, batch.hasher.hash(bytes));
        let read = self.read_string(batch.db, &key, now, |item, int| {
            long.clear();
            item.copy_value(int, long);
            long.len()
        });
        read.map(|copied| matches!(copied, Copied::Value(_)))
    }
}

const _: () = assert!(BATCH_KEYS == u32::BITS as usize);

/// An attached reader's short ways, for models: nobody can attach to their memory.
#[cfg(shuttle)]
impl crate::session::Session {
    /// As [`crate::Reader::copy`], as far as the short way leads; `None`: it leads nowhere.
    pub fn copy_as_attached(&self, db: Db, key: &Key<'_>) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let typical = TypicalBytes::default();
        self.view().read_plain(db, key, &typical, |item| item.copy_value(0, &mut out))?;
        Some(out)
    }

    /// As [`crate::Reader::get_batch`].
    pub fn get_batch_as_attached(
        &self,
        db: Db,
        keys: &[&str],
        now: Millis,
        visit: impl FnMut(usize, Result<Option<&[u8]>, Contended>),
    ) {
        let (hasher, typical) = (self.engine().hasher(), &TypicalBytes::default());
        let batch = Batch { db, hasher, typical };
        self.view().read_together(batch, keys, || now, &mut Vec::new(), visit);
    }
}
