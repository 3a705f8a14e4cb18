//! A session's slot in the arena: its magazines of free blocks and its statistics.
//!
//! ```text
//! 0       flush request u32 | flush done u32 | pid u32       64 .. 256 kept for intent records
//! 256     index magazines    87 x 32 B    count u32, 7 references
//! 3072    item magazines     87 x 128 B   count u32, 30 references
//! 14208   counters           128 x u64
//! 15360   histograms         24 x 256 x u64                  see statistics.rs
//! 64512   end (a slot is 64 KiB)
//! ```
//!
//! One thread writes to a slot; everybody may read it, also a process that only attached. Hence
//! all words are stored relaxed: a magazine concerns its owner alone, and statistics order nothing.
//! Claiming a slot (`Acquire`) pairs with the `Release` of whoever gave it back.

use super::Allocator;
use super::classes::{CLASSES, Class, MAGAZINE_MAX, SIZES, size_index};
use crate::arena::layout::SESSION_BYTES;
use crate::arena::{Arena, Mem, Ref};
use crate::limits::SESSIONS_MAX;
use crate::sync::atomics::Ordering;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

const FLUSH_REQUESTED_AT: u64 = 0;
const FLUSH_DONE_AT: u64 = 4;
const PID_AT: u64 = 8;
const INDEX_MAGAZINES_AT: u64 = 256;
const INDEX_MAGAZINE_BYTES: u64 = 32;
const MAGAZINES_AT: u64 = 3072;
const MAGAZINE_BYTES: u64 = 128;
const MAGAZINE: usize = MAGAZINE_BYTES as usize;
pub const COUNTERS_AT: u64 = MAGAZINES_AT + SIZES as u64 * MAGAZINE_BYTES;
pub const COUNTERS: usize = 128;
pub const HISTOGRAMS_AT: u64 = 15_360;
pub const HISTOGRAMS: usize = 24;
pub const HISTOGRAM_BYTES: u64 = 256 * 8;

/// Which slots are taken, one bit each.
pub(super) const CLAIMED_AT: u64 = 144;
/// Which slots were ever taken and hence are committed.
pub(super) const COMMITTED_AT: u64 = 152;

const _: () = {
    assert!(INDEX_MAGAZINES_AT + SIZES as u64 * INDEX_MAGAZINE_BYTES <= MAGAZINES_AT);
    assert!(COUNTERS_AT + COUNTERS as u64 * 8 <= HISTOGRAMS_AT);
    assert!(HISTOGRAMS_AT + HISTOGRAMS as u64 * HISTOGRAM_BYTES <= SESSION_BYTES);
    assert!(4 + MAGAZINE_MAX as u64 * 4 <= MAGAZINE_BYTES);
    assert!(4 + super::classes::INDEX_MAGAZINE_MAX as u64 * 4 <= INDEX_MAGAZINE_BYTES);
    assert!(SESSIONS_MAX <= 64);
    assert!((MAGAZINES_AT as usize).is_multiple_of(MAGAZINE));
};

/// A claimed slot. Its magazines are emptied and the slot given back when it is dropped.
#[derive(Debug)]
pub struct SessionSlot {
    pub(super) arena: Arc<Arena>,
    pub(super) at: u64,
    index: u32,
    /// One thread at a time: the words are stored without regard to other writers.
    _one_writer: PhantomData<Cell<()>>,
}

/// Where in a slot the block stands that was freed last of its class.
#[derive(Debug)]
pub struct TopPlace(usize);

/// Where the magazine of a class begins within a slot.
#[inline(always)]
pub(super) fn magazine_at(class: Class) -> u64 {
    let i = class.index() as u64;
    if i < SIZES as u64 {
        MAGAZINES_AT + i * MAGAZINE_BYTES
    } else {
        INDEX_MAGAZINES_AT + (i - SIZES as u64) * INDEX_MAGAZINE_BYTES
    }
}

/// Most bytes of an item whose magazine a table tells.
const SHORT_BYTES_MAX: usize = 512;

/// The same for an item of so many bytes.
#[inline(always)]
fn item_magazine_at(bytes: usize) -> usize {
    match SHORT_MAGAZINES_AT.get(bytes) {
        Some(&at) => usize::from(at),
        None => MAGAZINES_AT as usize + size_index(bytes) * MAGAZINE,
    }
}

/// The same of short items, which are stored most: one load in place of ten instructions.
static SHORT_MAGAZINES_AT: [u16; SHORT_BYTES_MAX + 1] = {
    let mut places = [0; SHORT_BYTES_MAX + 1];
    let mut bytes = 0;
    while bytes < places.len() {
        places[bytes] = (MAGAZINES_AT as usize + size_index(bytes) * MAGAZINE) as u16;
        bytes += 1;
    }
    places
};

impl Allocator {
    /// Claims a session slot. `None`: all are taken, or there is no memory for one.
    pub fn claim(&self, pid: u32) -> Option<SessionSlot> {
        let claimed = self.arena.u64_at(CLAIMED_AT);
        // Acquire: pairs with the Release in `SessionSlot::drop`.
        let before = claimed
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |bits| {
                let free = (!bits).trailing_zeros() as usize;
                (free < SESSIONS_MAX).then(|| bits | 1 << free)
            })
            .ok()?;
        let index = (!before).trailing_zeros();
        let at = self.arena.layout().session(index);
        if self.arena.load64(COMMITTED_AT, Ordering::Relaxed) >> index & 1 == 0 {
            if !self.arena.commit_fixed(at, SESSION_BYTES) {
                claimed.fetch_and(!(1 << index), Ordering::Relaxed);
                return None;
            }
            // Release: pairs with the Acquire of those who read the slots' statistics.
            self.arena.u64_at(COMMITTED_AT).fetch_or(1 << index, Ordering::Release);
        }
        self.arena.u32_at(at + PID_AT).store(pid, Ordering::Relaxed);
        Some(SessionSlot { arena: self.arena.clone(), at, index, _one_writer: PhantomData })
    }

    /// Asks every session to give the free blocks in its magazines back. Each does so at its next
    /// [`SessionSlot::poll`].
    pub fn request_flush(&self) {
        let mut claimed = self.arena.load64(CLAIMED_AT, Ordering::Relaxed);
        while claimed != 0 {
            let at = self.arena.layout().session(claimed.trailing_zeros());
            self.arena.u32_at(at + FLUSH_REQUESTED_AT).fetch_add(1, Ordering::Relaxed);
            claimed &= claimed - 1;
        }
    }
}

impl Allocator {
    /// Whether every session has done what [`Allocator::request_flush`] asked.
    pub fn is_flushed(&self) -> bool {
        let mut claimed = self.arena.load64(CLAIMED_AT, Ordering::Relaxed);
        while claimed != 0 {
            let at = self.arena.layout().session(claimed.trailing_zeros());
            let word = |place| self.arena.load32(at + place, Ordering::Relaxed);
            if word(FLUSH_REQUESTED_AT) != word(FLUSH_DONE_AT) {
                return false;
            }
            claimed &= claimed - 1;
        }
        true
    }
}

impl SessionSlot {
    /// The number of this slot, 0 to `SESSIONS_MAX - 1`.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Does what others asked of this session. Cheap; to be called now and then.
    #[inline]
    pub fn poll(&self) {
        let asked = self.arena.load32(self.at + FLUSH_REQUESTED_AT, Ordering::Relaxed);
        let done = self.arena.u32_at(self.at + FLUSH_DONE_AT);
        if asked != done.load(Ordering::Relaxed) {
            self.flush();
            done.store(asked, Ordering::Relaxed);
        }
    }

    /// Gives all free blocks in the magazines back.
    #[cold]
    pub fn flush(&self) {
        let allocator = Allocator { arena: self.arena.clone() };
        for class in Class::all() {
            let mut blocks = [0; MAGAZINE_MAX];
            let count = self.take_oldest(class, MAGAZINE_MAX, &mut blocks);
            allocator.give_back(class, &blocks[..count]);
        }
    }

    #[inline(always)]
    fn get(&self, at: u64) -> u32 {
        self.arena.load32(at, Ordering::Relaxed)
    }

    #[inline(always)]
    fn set(&self, at: u64, value: u32) {
        self.arena.u32_at(at).store(value, Ordering::Relaxed);
    }

    /// Takes the block that was freed last.
    #[inline(always)]
    pub(super) fn pop(&self, class: Class) -> Option<Ref> {
        let magazine = self.at + magazine_at(class);
        let count = self.get(magazine);
        if count == 0 {
            return None;
        }
        self.set(magazine, count - 1);
        // The next one, which is written to next. Of the last one this is the count: a place that is harmless.
        let next = u64::from(self.get(magazine + 4 * (count as u64 - 1))) * 8;
        self.arena.prefetch(next);
        self.arena.prefetch(next + 63);
        Ref::from_raw(self.get(magazine + 4 * count as u64))
    }

    /// The block of an item of `bytes` that was freed last, left where it is, and its place:
    /// [`SessionSlot::replace`] is to follow.
    #[inline(always)]
    pub(super) fn top(&self, mem: Mem<'_>, bytes: usize) -> Option<(Ref, TopPlace)> {
        let magazine = item_magazine_at(bytes);
        let count = mem.u32_in(self.at as usize, magazine).load(Ordering::Relaxed);
        let place = TopPlace(magazine + 4 * count as usize);
        // With none in it, what is loaded is the count itself: 0, which is no block.
        let block = mem.u32_in(self.at as usize, place.0).load(Ordering::Relaxed);
        Some((Ref::from_raw(block)?, place))
    }

    /// Puts a free block in the place of the one that [`SessionSlot::top`] gave, which is in use now.
    #[inline(always)]
    pub(super) fn replace(&self, mem: Mem<'_>, place: TopPlace, block: Ref) {
        debug_assert!(
            (place.0 / MAGAZINE * MAGAZINE..=place.0)
                .step_by(4)
                .skip(1)
                .all(|at| self.get(self.at + at as u64) != block.raw()),
            "a block that is free already was freed: {block:?}"
        );
        mem.u32_in(self.at as usize, place.0).store(block.raw(), Ordering::Relaxed);
    }

    /// Puts a free block into the magazine. False: it is full.
    #[inline(always)]
    pub(super) fn push(&self, class: Class, block: Ref) -> bool {
        let magazine = self.at + magazine_at(class);
        let count = self.get(magazine);
        if count as usize >= class.magazine_capacity() {
            return false;
        }
        debug_assert!(
            (1..=count as u64).all(|i| self.get(magazine + 4 * i) != block.raw()),
            "a block that is free already was freed: {block:?}"
        );
        self.set(magazine + 4 * (count as u64 + 1), block.raw());
        self.set(magazine, count + 1);
        true
    }

    /// Fills an empty magazine.
    pub(super) fn refill(&self, class: Class, blocks: &[u32]) {
        let magazine = self.at + magazine_at(class);
        for (i, block) in blocks.iter().enumerate() {
            self.set(magazine + 4 * (i as u64 + 1), *block);
        }
        self.set(magazine, blocks.len() as u32);
    }

    /// Takes up to `most` of the blocks that lie in the magazine for longest; the ones freed last
    /// stay, since the processor still has them in its cache.
    pub(super) fn take_oldest(
        &self,
        class: Class,
        most: usize,
        out: &mut [u32; MAGAZINE_MAX],
    ) -> usize {
        let magazine = self.at + magazine_at(class);
        let count = self.get(magazine) as usize;
        let taken = count.min(most);
        for (i, slot) in out.iter_mut().enumerate().take(taken) {
            *slot = self.get(magazine + 4 * (i as u64 + 1));
        }
        for i in taken..count {
            let block = self.get(magazine + 4 * (i as u64 + 1));
            self.set(magazine + 4 * ((i - taken) as u64 + 1), block);
        }
        self.set(magazine, (count - taken) as u32);
        taken
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        self.flush();
        // Release: pairs with the Acquire in `Allocator::claim`, so that the next owner sees the
        // magazines as we left them.
        self.arena.u64_at(CLAIMED_AT).fetch_and(!(1 << self.index), Ordering::Release);
    }
}

const _: () = assert!(CLASSES == 2 * SIZES);

#[cfg(test)]
mod tests {
    use super::super::classes::{BLOCK_MAX, PageKind};
    use super::*;

    #[test]
    fn an_items_magazine_is_that_of_its_class() {
        for bytes in 1..=BLOCK_MAX {
            let class = Class::of(bytes, PageKind::Item);
            assert_eq!(item_magazine_at(bytes) as u64, magazine_at(class), "{bytes} bytes");
        }
    }
}
