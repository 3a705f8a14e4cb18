//! The header of an item, and where its parts lie.
//!
//! An item is one block, 8-byte aligned, made of whole words. It is written completely before it
//! is published and replaced out of place afterwards; the exceptions are single words (the
//! integer, the deadline, the extension's, and the header's for the marks) and, while no read can
//! succeed, the bytes of a list or a set, a part of a string's with its length, and the key.
//!
//! ```text
//! narrow (key and value up to 255 bytes, nothing else to say):
//!   0 kind:4 | encoding:4   1 flags   2 key length   3 value length   4 key, value
//! wide:
//!   0 kind:4 | encoding:4   1 flags   2 key length u16   4 value length u32
//!   8 [integer i64]              if encoding = Int (the value length is 0 then)
//!     [deadline u64 ms]          if TTL
//!     [unique u64 | client flags u32, last use u32 s]   if EXT
//!     key, value                 if KEY_ROOM the value begins KEY_ROOM behind the key's beginning,
//!                                or behind the key if that is longer
//! ```
//! A long value has such room before it, so that the key can become another one without the value being
//! moved (`guard/carry.rs`).
//!
//! A block is as long as its item, rounded up to a size that there is; that of a string that has grown has room to
//! spare (decision 174).
//!
//! 16 bytes of key and 32 of value take 52 bytes: a block of 56.

use super::room::{ROOM_ITEM_BYTES_MIN, with_room};
use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::verbs::{Encoding, Kind};
use std::hint::cold_path;

pub(crate) const FLAG_WIDE: u8 = 1;
pub(crate) const FLAG_TTL: u8 = 2;
pub(crate) const FLAG_EXT: u8 = 4;
pub(crate) const FLAG_KEY_ROOM: u8 = 32;
/// The block was taken with room to spare: see [`Head::block_len`].
const FLAG_ROOM: u8 = 64;
/// Memcached's marks of an item, two bits: see `verbs::Found::marks`.
const MARKS_SHIFT: u32 = 3;
const MARKS_MASK: u8 = 0b11 << MARKS_SHIFT;

/// From a key to its value where the key has room: nearly all keys are shorter.
pub const KEY_ROOM: usize = 128;
/// Shortest value that is stored with room for its key: of one byte in 64 at most.
pub const KEY_ROOM_VALUE_MIN: usize = 8 * 1024;

const _: () = assert!(KEY_BYTES_MAX <= u16::MAX as usize);
// A multiplication tells the room, and there is no branch.
const _: () = assert!(KEY_ROOM.is_multiple_of(FLAG_KEY_ROOM as usize));
const _: () = assert!(KEY_ROOM <= KEY_ROOM_VALUE_MIN / 64);
const _: () = assert!(VALUE_BYTES_MAX <= u32::MAX as usize);

/// A header taken apart. Offsets count from the start of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub kind_code: u8,
    pub encoding_code: u8,
    pub flags: u8,
    pub key_len: usize,
    /// Bytes of the value in the block; 0 for an integer.
    pub value_len: usize,
    pub key_at: usize,
}

impl Head {
    /// The header that an item with these parts has.
    pub fn plan(
        encoding: Encoding,
        key_len: usize,
        value_len: usize,
        ttl: bool,
        ext: bool,
    ) -> Head {
        let wide = ttl || ext || encoding == Encoding::Int || key_len > 255 || value_len > 255;
        let flags = if wide { FLAG_WIDE } else { 0 }
            | if ttl { FLAG_TTL } else { 0 }
            | if ext { FLAG_EXT } else { 0 }
            | if has_key_room(key_len, value_len) { FLAG_KEY_ROOM } else { 0 };
        let mut head = Head {
            kind_code: Kind::String as u8,
            encoding_code: encoding as u8,
            flags,
            key_len,
            value_len,
            key_at: 0,
        };
        head.key_at = head.key_offset();
        head
    }

    /// Any word can be parsed: what comes from a block that was reused meanwhile is found out by
    /// the version check afterwards, and every length is bounded before it is used.
    pub fn parse(word: u64) -> Head {
        let flags = (word >> 8) as u8;
        let (key_len, value_len) = if flags & FLAG_WIDE == 0 {
            ((word >> 16) as u8 as usize, (word >> 24) as u8 as usize)
        } else {
            ((word >> 16) as u16 as usize, (word >> 32) as u32 as usize)
        };
        let mut head = Head {
            kind_code: (word & 0x0f) as u8,
            encoding_code: (word >> 4 & 0x0f) as u8,
            flags,
            key_len,
            value_len,
            key_at: 0,
        };
        head.key_at = head.key_offset();
        head
    }

    /// The header of the commonest form, if this word is one: a narrow string of bytes with nothing
    /// else to say. All that is constant about it is so for the compiler too.
    #[inline(always)]
    pub fn parse_plain(word: u64) -> Option<Head> {
        // Encodings 0 and 2 are those of bytes.
        const _: () = assert!(Encoding::Bytes as u8 == 0 && Encoding::Raw as u8 == 2);
        const _: () = assert!(Kind::String as u8 == 0);
        if word & 0xffdf != 0 {
            cold_path();
            return None;
        }
        Some(Head {
            kind_code: Kind::String as u8,
            encoding_code: (word >> 4) as u8 & 0x0f,
            flags: 0,
            key_len: (word >> 16) as u8 as usize,
            value_len: (word >> 24) as u8 as usize,
            key_at: 4,
        })
    }

    /// As `parse_plain`, if the key's length is this one: one comparison says both, and what lies behind the
    /// key is found before the header has come.
    #[inline(always)]
    pub fn parse_plain_of(word: u64, key_len: usize) -> Option<Head> {
        if word & 0x00ff_ffdf != (key_len as u64) << 16 {
            return None;
        }
        Some(Head { key_len, ..Head::parse_plain(word)? })
    }

    pub fn word(&self) -> u64 {
        let low = u64::from(self.kind_code)
            | u64::from(self.encoding_code) << 4
            | u64::from(self.flags) << 8;
        if self.is_wide() {
            low | (self.key_len as u64) << 16 | (self.value_len as u64) << 32
        } else {
            low | (self.key_len as u64) << 16 | (self.value_len as u64) << 24
        }
    }

    #[inline(always)]
    pub fn is_wide(&self) -> bool {
        self.flags & FLAG_WIDE != 0
    }

    pub fn has_ttl(&self) -> bool {
        self.flags & FLAG_TTL != 0
    }

    pub fn has_ext(&self) -> bool {
        self.flags & FLAG_EXT != 0
    }

    pub fn marks(&self) -> u8 {
        (self.flags & MARKS_MASK) >> MARKS_SHIFT
    }

    pub fn set_marks(&mut self, marks: u8) {
        self.flags = self.flags & !MARKS_MASK | marks << MARKS_SHIFT & MARKS_MASK;
    }

    pub fn is_int(&self) -> bool {
        self.encoding_code == Encoding::Int as u8
    }

    pub fn encoding(&self) -> Encoding {
        Encoding::from_code(self.encoding_code)
    }

    #[inline(always)]
    pub fn kind(&self) -> Kind {
        Kind::from_code(self.kind_code)
    }

    /// For the head of a collection, which `plan` takes for a string.
    pub fn set_kind(&mut self, kind: Kind) {
        self.kind_code = kind as u8;
    }

    /// A string: what a read by `get` may show.
    #[inline(always)]
    pub fn is_string(&self) -> bool {
        self.kind_code == Kind::String as u8
    }

    /// Where the integer lies (if there is one): right after the header, so that it is one word.
    pub const INT_AT: usize = 8;

    pub fn ttl_at(&self) -> usize {
        8 + if self.is_int() { 8 } else { 0 }
    }

    pub fn ext_at(&self) -> usize {
        self.ttl_at() + if self.has_ttl() { 8 } else { 0 }
    }

    fn key_offset(&self) -> usize {
        if self.is_wide() { self.ext_at() + if self.has_ext() { 16 } else { 0 } } else { 4 }
    }

    #[inline(always)]
    pub fn value_at(&self) -> usize {
        // What a late reader takes for a header may have a longer key: then, too, the key ends in the item.
        self.key_at + self.key_len.max(self.key_room())
    }

    #[inline(always)]
    fn key_room(&self) -> usize {
        usize::from(self.flags & FLAG_KEY_ROOM) * (KEY_ROOM / FLAG_KEY_ROOM as usize)
    }

    pub fn has_key_room(&self) -> bool {
        self.flags & FLAG_KEY_ROOM != 0
    }

    /// The header with a key of this length and the value where it is. `None`: it would have to move.
    pub fn with_key_len(&self, key_len: usize) -> Option<Head> {
        let head = Head { key_len, ..*self };
        (head.value_at() == self.value_at()).then_some(head)
    }

    /// Bytes of the whole item, before rounding up to a block.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.value_at() + self.value_len
    }

    /// Bytes for which its block was taken: those of the item, or more for one that has room to spare. It follows
    /// from them, so that nothing else has to be kept: as long as an item grows where it stands, it is the same.
    #[inline(always)]
    pub fn block_len(&self) -> usize {
        if self.flags & FLAG_ROOM == 0 { self.size() } else { with_room(self.size()) }
    }

    /// Has the block of an item that is to be written taken with room to spare, or without.
    pub fn set_room(&mut self, spare: bool) {
        // A narrow item is short, and those who know that it is one ask for nothing else.
        let spare = spare && self.is_wide() && self.size() >= ROOM_ITEM_BYTES_MIN;
        self.flags = self.flags & !FLAG_ROOM | if spare { FLAG_ROOM } else { 0 };
    }
}

fn has_key_room(key_len: usize, value_len: usize) -> bool {
    value_len >= KEY_ROOM_VALUE_MIN && key_len <= KEY_ROOM
}

/// The header of an item of a key and bytes and nothing else: what a writer needs of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainHead {
    pub word: u64,
    pub key_at: usize,
    /// Bytes of the whole item, before rounding up to a block.
    pub size: usize,
}

impl PlainHead {
    /// Where the key of a narrow item begins.
    pub const NARROW_KEY_AT: usize = 4;
    /// Bytes of the longest narrow item.
    pub const NARROW_MAX: usize = Self::NARROW_KEY_AT + 2 * u8::MAX as usize;

    /// The header of a narrow item. `None`: the item is too long for one.
    #[inline(always)]
    pub fn narrow(key_len: usize, value_len: usize) -> Option<PlainHead> {
        if key_len | value_len > 255 {
            return None;
        }
        let word = (key_len as u64) << 16 | (value_len as u64) << 24;
        let key_at = Self::NARROW_KEY_AT;
        Some(PlainHead { word, key_at, size: key_at + key_len + value_len })
    }

    /// Whether an item's first word begins with this header, which is a narrow one: kind, encoding,
    /// flags and both lengths are the same.
    #[inline(always)]
    pub fn is_of(&self, word: u64) -> bool {
        word as u32 == self.word as u32
    }

    /// As [`Head::plan`], with fewer cases.
    #[inline(always)]
    pub fn plan(key_len: usize, value_len: usize) -> PlainHead {
        if let Some(head) = Self::narrow(key_len, value_len) {
            return head;
        }
        let head = Head::plan(Encoding::Bytes, key_len, value_len, false, false);
        PlainHead { word: head.word(), key_at: head.key_at, size: head.size() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_and_thirty_two_bytes_fit_in_fifty_two() {
        let head = Head::plan(Encoding::Bytes, 16, 32, false, false);
        assert_eq!(head.size(), 52);
        assert_eq!(Head::parse(head.word()), head);
    }

    #[test]
    fn plain_heads_are_those_of_plain_items() {
        for (key_len, value_len) in [(0, 0), (16, 32), (255, 255), (256, 1), (1, 256), (9, 4096)] {
            let head = Head::plan(Encoding::Bytes, key_len, value_len, false, false);
            let plain = PlainHead::plan(key_len, value_len);
            let wanted = (head.word(), head.key_at, head.size());
            assert_eq!((plain.word, plain.key_at, plain.size), wanted);
        }
    }

    #[test]
    fn every_form_survives_its_word() {
        for encoding in [Encoding::Bytes, Encoding::Int, Encoding::Raw] {
            for key_len in [0, 1, 255, 256, 65_535] {
                for value_len in [0, 1, 255, 256, 512 << 20] {
                    for bits in 0..4 {
                        let head =
                            Head::plan(encoding, key_len, value_len, bits & 1 != 0, bits & 2 != 0);
                        assert_eq!(Head::parse(head.word()), head);
                        let is_long = key_len <= KEY_ROOM && value_len >= KEY_ROOM_VALUE_MIN;
                        let room = if is_long { KEY_ROOM } else { key_len };
                        assert_eq!(head.value_at() - head.key_at, room);
                        let is_plain = encoding != Encoding::Int && !head.is_wide();
                        assert_eq!(Head::parse_plain(head.word()), is_plain.then_some(head));
                        let plain_of = |len| Head::parse_plain_of(head.word(), len);
                        assert_eq!(plain_of(key_len), is_plain.then_some(head));
                        assert_eq!(plain_of(key_len ^ 1), None);
                        assert_eq!(plain_of(key_len + 256), None);
                    }
                }
            }
        }
    }

    #[test]
    fn a_value_stays_where_its_key_has_room_or_is_as_long() {
        let stays = |value_len, key_len, new_len| {
            let old = Head::plan(Encoding::Raw, key_len, value_len, true, true);
            let new = old.with_key_len(new_len);
            if let Some(new) = new {
                assert_eq!(
                    (new.key_len, new.value_at(), new.size()),
                    (new_len, old.value_at(), old.size())
                );
                assert_eq!(Head::parse(new.word()), new);
            }
            new.is_some()
        };
        let long = KEY_ROOM_VALUE_MIN;
        assert!(stays(long, 5, 1) && stays(long, 1, KEY_ROOM) && stays(long, KEY_ROOM, 0));
        assert!(!stays(long, 5, KEY_ROOM + 1) && !stays(long, KEY_ROOM + 1, 5));
        assert!(stays(long, 300, 300) && stays(long - 1, 5, 5) && stays(3, 7, 7));
        assert!(!stays(long - 1, 5, 4) && !stays(3, 7, 8));
    }
}
