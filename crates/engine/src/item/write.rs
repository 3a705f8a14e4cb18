//! Writing an item into a block that nobody can see yet.
//!
//! On x86-64 by unaligned stores (`arena/unaligned/`). Elsewhere, and under Miri, the bytes are gathered into words in a register and stored word by word, so that every access
//! to the arena is an aligned atomic one of eight bytes: a late reader of the block's former item
//! reads garbage, never undefined behaviour.

use crate::arena::Mem;
#[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
use crate::item::KEY_ROOM;
use crate::item::{Head, Item, PlainHead};
use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::atomics::{Ordering, fence};
use crate::verbs::Millis;

/// All that an item is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemParts<'a> {
    pub head: Head,
    pub int: i64,
    pub deadline: Millis,
    pub unique: u64,
    pub client_flags: u32,
    /// Unix second in which it is written: its first use.
    pub used_s: u32,
    pub key: &'a [u8],
    pub value: [&'a [u8]; 3],
}

/// Fills the block at `at` (at least `head.size()` bytes, rounded up to a word).
pub(crate) fn write_item(words: Mem<'_>, at: usize, parts: &ItemParts<'_>) {
    // Whoever reads one of the bytes stored below in a block that it still takes for the former
    // item must see that item's bucket changed: this fence comes after the version bump that
    // unlinked it (through the free list, in whichever thread). Pairs with the Acquire fence in
    // `index::read`.
    fence(Ordering::Release);
    let head = &parts.head;
    write_parts(words, at, parts, head);
}

/// As `write_item`, with the value of another item behind the first part of this one's, and before the second. The
/// caller has the lock of the other one's shard. Of an integer there is no value to take.
pub(crate) fn write_item_around(words: Mem<'_>, at: usize, parts: &ItemParts<'_>, old: &Item<'_>) {
    let [before, behind, none] = parts.value;
    debug_assert!(none.is_empty(), "a value of four parts");
    let len = old.head.value_len;
    debug_assert_eq!(parts.head.value_len, before.len() + len + behind.len());
    write_item(words, at, &ItemParts { value: [before, b"", b""], ..*parts });
    let to = at + parts.head.value_at() + before.len();
    words.copy_across(old.at + old.head.value_at(), to, len);
    if !behind.is_empty() {
        words.store_bytes(to + len, behind);
    }
}

/// As `write_item`, of an item that has nothing but its key and its bytes.
#[inline(always)]
pub(crate) fn write_plain_item(
    words: Mem<'_>,
    at: usize,
    head: &PlainHead,
    key: &[u8],
    value: &[u8],
) {
    // As above.
    fence(Ordering::Release);
    #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
    {
        words.u64_in(at, 0).store(head.word, Relaxed);
        words.store_unaligned_in(at, head.key_at, key);
        words.store_unaligned_in(at, head.key_at + key.len(), value);
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
    {
        let mut to = WordWriter { words, at, gathered: 0, bits: 0 };
        if head.key_at == 8 {
            to.word(head.word);
        } else {
            to.gathered = head.word;
            to.bits = 32;
        }
        to.bytes(key);
        to.bytes(value);
        to.finish();
    }
}

/// The header as one word, its fields as words, and the bytes where they come to lie.
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
#[inline(always)]
fn write_parts(words: Mem<'_>, at: usize, parts: &ItemParts<'_>, head: &Head) {
    words.u64_at(at).store(head.word(), Relaxed);
    if head.is_wide() {
        let mut field_at = at + 8;
        let mut field = |value: u64| {
            words.u64_at(field_at).store(value, Relaxed);
            field_at += 8;
        };
        if head.is_int() {
            field(parts.int as u64);
        }
        if head.has_ttl() {
            field(parts.deadline);
        }
        if head.has_ext() {
            field(parts.unique);
            field(u64::from(parts.used_s) << 32 | u64::from(parts.client_flags));
        }
    }
    words.store_unaligned(at + head.key_at, parts.key);
    let mut to = at + head.value_at();
    for part in parts.value {
        if !part.is_empty() {
            words.store_unaligned(to, part);
            to += part.len();
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
fn write_parts(words: Mem<'_>, at: usize, parts: &ItemParts<'_>, head: &Head) {
    let mut to = WordWriter { words, at, gathered: 0, bits: 0 };
    if head.is_wide() {
        to.word(head.word());
        if head.is_int() {
            to.word(parts.int as u64);
        }
        if head.has_ttl() {
            to.word(parts.deadline);
        }
        if head.has_ext() {
            to.word(parts.unique);
            to.word(u64::from(parts.used_s) << 32 | u64::from(parts.client_flags));
        }
    } else {
        to.gathered = head.word();
        to.bits = 32;
    }
    to.bytes(parts.key);
    // Up to where the value begins.
    to.bytes(&[0; KEY_ROOM][..head.value_at() - head.key_at - head.key_len]);
    for part in parts.value {
        to.bytes(part);
    }
    to.finish();
}

#[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
struct WordWriter<'a> {
    words: Mem<'a>,
    at: usize,
    gathered: u64,
    bits: u32,
}

#[cfg(not(all(target_arch = "x86_64", not(any(miri, shuttle, loom)))))]
impl<'a> WordWriter<'a> {
    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.words.u64_at(self.at).store(word, Relaxed);
        self.at += 8;
    }

    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        if self.bits == 0 {
            for chunk in &mut chunks {
                self.word(u64::from_le_bytes(chunk.try_into().expect("8 bytes")));
            }
        } else {
            for chunk in &mut chunks {
                let next = u64::from_le_bytes(chunk.try_into().expect("8 bytes"));
                self.word(self.gathered | next << self.bits);
                self.gathered = next >> (64 - self.bits);
            }
        }
        let rest = chunks.remainder();
        if rest.is_empty() {
            return;
        }
        let mut last = [0u8; 8];
        last[..rest.len()].copy_from_slice(rest);
        let last = u64::from_le_bytes(last);
        let new_bits = rest.len() as u32 * 8;
        self.gathered |= last << self.bits;
        if self.bits + new_bits >= 64 {
            self.word(self.gathered);
            let left = self.bits + new_bits - 64;
            self.gathered = if left == 0 { 0 } else { last >> (new_bits - left) };
            self.bits = left;
        } else {
            self.bits += new_bits;
        }
    }

    fn finish(mut self) {
        if self.bits > 0 {
            self.word(self.gathered);
        }
    }
}
