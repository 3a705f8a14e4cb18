//! Reading an item: by a reader that holds no lock, or by a writer that holds the shard's.
//!
//! A reader may meet a block that was freed and filled anew a moment ago. It never trusts what it
//! reads: every length is bounded by the arena before it is followed, and the caller's version
//! check decides afterwards whether any of it counts (see `index::read`).

use crate::arena::{Frame, Mem};
use crate::item::Head;
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release};
use crate::verbs::{Found, Millis, NEVER};
use std::mem::MaybeUninit;

/// An item at a place. Its extent lies within the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub words: Mem<'a>,
    /// Byte offset of the block in the arena.
    pub at: usize,
    pub head: Head,
}

impl<'a> Item<'a> {
    /// The item at `at`, or `None` if what stands there would reach beyond the arena (which only
    /// a reader that lost a race can see).
    #[inline(always)]
    pub fn at(words: Mem<'a>, at: usize) -> Option<Item<'a>> {
        if !words.may_load(at, 8) {
            return None;
        }
        let head = Head::parse(words.u64_at(at).load(Relaxed));
        if !words.may_load(at, head.size()) {
            return None;
        }
        Some(Item { words, at, head })
    }

    /// The item at `at`, if it is of the commonest form (see [`Head::parse_plain`]): 514 bytes at
    /// most, which lie within what can be loaded wherever it begins.
    #[inline(always)]
    pub fn plain_at(words: Mem<'a>, at: usize) -> Option<Item<'a>> {
        if !words.may_load(at, 8) {
            return None;
        }
        let head = Head::parse_plain(words.u64_at(at).load(Relaxed))?;
        words.may_load(at, head.size()).then_some(Item { words, at, head })
    }

    /// The same, if its key is of this length.
    #[inline(always)]
    pub fn plain_of(words: Mem<'a>, at: usize, key_len: usize) -> Option<Item<'a>> {
        if !words.may_load(at, 8) {
            return None;
        }
        let head = Head::parse_plain_of(words.u64_at(at).load(Relaxed), key_len)?;
        words.may_load(at, head.size()).then_some(Item { words, at, head })
    }

    #[inline(always)]
    fn load(&self, offset: usize) -> u64 {
        self.words.u64_in(self.at, offset).load(Relaxed)
    }

    /// Whether the item's key is `key`.
    #[inline(always)]
    pub fn has_key(&self, key: &[u8]) -> bool {
        if self.head.key_len != key.len() {
            return false;
        }
        self.words.bytes_equal_in(self.at, self.head.key_at, key)
    }

    pub fn copy_key(&self, out: &mut Vec<u8>) {
        self.words.copy_out(self.at + self.head.key_at, self.head.key_len, out);
    }

    /// The integer of an item whose encoding is `Int`.
    #[inline]
    pub fn int(&self) -> i64 {
        // Pairs with the Release in `set_int`.
        self.words.u64_in(self.at, Head::INT_AT).load(Acquire) as i64
    }

    /// Under the shard's lock only.
    pub fn set_int(&self, value: i64) {
        // Pairs with the Acquire in `int`.
        self.words.u64_in(self.at, Head::INT_AT).store(value as u64, Release);
    }

    #[inline(always)]
    pub fn deadline(&self) -> Millis {
        if self.head.has_ttl() { self.load(self.head.ttl_at()) } else { NEVER }
    }

    /// Under the shard's lock only, and only if the item has a deadline.
    pub fn set_deadline(&self, deadline: Millis) {
        self.words.u64_in(self.at, self.head.ttl_at()).store(deadline, Release);
    }

    #[inline(always)]
    pub fn is_due(&self, now: Millis) -> bool {
        self.head.has_ttl() && self.deadline() <= now
    }

    pub fn unique(&self) -> u64 {
        if self.head.has_ext() { self.load(self.head.ext_at()) } else { 0 }
    }

    pub fn client_flags(&self) -> u32 {
        if self.head.has_ext() { self.load(self.head.ext_at() + 8) as u32 } else { 0 }
    }

    /// Second of the last use of an item with an extension, 0 if it was not used since stored.
    pub fn last_use_s(&self) -> u32 {
        if self.head.has_ext() { (self.load(self.head.ext_at() + 8) >> 32) as u32 } else { 0 }
    }

    /// Notes a use. Under the shard's lock only: a reader without it could change the bytes of
    /// another item that has taken the block since.
    pub fn note_use(&self, now_s: u32) {
        if self.head.has_ext() {
            let word = self.words.u64_in(self.at, self.head.ext_at() + 8);
            let old = word.load(Relaxed);
            let new = old & 0xffff_ffff | u64::from(now_s) << 32;
            if old != new {
                let _ = word.compare_exchange(old, new, Relaxed, Relaxed);
            }
        }
    }

    /// What a lookup tells of the item; `meta` is its byte in the index. The integer, if it is
    /// one, comes along: it may change in place at any moment, so that it must be loaded once for
    /// its length and its digits to agree.
    #[inline(always)]
    pub fn found(&self, meta: u8) -> (Found, i64) {
        let (len, int) = if self.head.is_int() {
            let int = self.int();
            (decimal_len(int), int)
        } else {
            (self.head.value_len, 0)
        };
        let (unique, client_flags, last_use_s) = if self.head.has_ext() {
            (self.unique(), self.client_flags(), self.last_use_s())
        } else {
            (0, 0, 0)
        };
        let found = Found {
            kind: self.head.kind(),
            encoding: self.head.encoding(),
            len,
            deadline: self.deadline(),
            flags: client_flags,
            unique,
            marks: self.head.marks(),
            last_use_s,
            frequency: meta & 3,
            is_proven: meta & crate::index::bucket::META_MAIN != 0,
            age: meta >> 4,
            block_bytes: self.head.block_len().next_multiple_of(8),
        };
        (found, int)
    }

    /// Appends the value, with what `found` gave.
    #[inline(always)]
    pub fn copy_value(&self, int: i64, out: &mut Vec<u8>) {
        if self.head.is_int() {
            out.extend_from_slice(decimal(int, &mut [0; 20]));
        } else {
            self.words.copy_out_in(self.at, self.head.value_at(), self.head.value_len, out);
        }
    }

    /// Copies the value to the beginning of `room` if it fits there, and says how long it is.
    #[inline(always)]
    pub fn copy_value_to(&self, int: i64, room: &mut [MaybeUninit<u8>]) -> usize {
        if self.head.is_int() {
            let mut text = [0; 20];
            let decimal = decimal(int, &mut text);
            if let Some(room) = room.get_mut(..decimal.len()) {
                room.write_copy_of_slice(decimal);
            }
            decimal.len()
        } else {
            let len = self.head.value_len;
            if let Some(room) = room.get_mut(..len) {
                self.words.copy_to_in(self.at, self.head.value_at(), room);
            }
            len
        }
    }

    /// Appends the value of an item of bytes, which is no integer, in its frame.
    #[inline(always)]
    pub fn copy_framed(&self, frame: &Frame, out: &mut Vec<u8>) {
        let (offset, len) = (self.head.value_at(), self.head.value_len);
        self.words.copy_framed_in(self.at, offset, len, frame, out);
    }

    /// Appends the bytes `start..end` of the value (cut to what there is).
    pub fn copy_range(&self, int: i64, start: usize, end: usize, out: &mut Vec<u8>) {
        if self.head.is_int() {
            let mut text = [0; 20];
            let text = decimal(int, &mut text);
            let end = end.min(text.len());
            out.extend_from_slice(&text[start.min(end)..end]);
        } else {
            let end = end.min(self.head.value_len);
            let start = start.min(end);
            self.words.copy_out(self.at + self.head.value_at() + start, end - start, out);
        }
    }

    /// A header with which key and value stay where they are. Under the shard's lock only, while no read can
    /// succeed.
    pub fn set_head(&self, head: &Head) {
        debug_assert_eq!((head.key_at, head.value_at()), (self.head.key_at, self.head.value_at()));
        // A narrow item's key begins in the same word.
        let key = if head.is_wide() { 0 } else { self.load(0) >> 32 << 32 };
        self.words.u64_at(self.at).store(key | head.word(), Relaxed);
    }

    /// Another key, and the header with its length. Under the shard's lock only, while no read can succeed.
    pub fn set_key(&self, head: &Head, key: &[u8]) {
        debug_assert_eq!(head.key_len, key.len());
        self.set_head(head);
        self.words.store_bytes(self.at + head.key_at, key);
    }

    /// Under the shard's lock only.
    pub fn set_marks(&self, marks: u8) {
        let mut head = self.head;
        head.set_marks(marks);
        self.words
            .u64_at(self.at)
            .store(self.load(0) & !0xff00 | u64::from(head.flags) << 8, Release);
    }
}

/// Characters of `value` in decimal.
fn decimal_len(value: i64) -> usize {
    let digits = value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
    digits + usize::from(value < 0)
}

/// `value` in decimal, written to the end of `text`.
fn decimal(value: i64, text: &mut [u8; 20]) -> &[u8] {
    let mut at = text.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        text[at] = b'-';
    }
    &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_agree_with_the_standard_library() {
        for value in [0, 1, -1, 9, 10, -10, 99, 100, i64::MAX, i64::MIN] {
            let mut text = [0; 20];
            let text = decimal(value, &mut text);
            assert_eq!(text, value.to_string().as_bytes());
            assert_eq!(decimal_len(value), text.len());
        }
    }
}
