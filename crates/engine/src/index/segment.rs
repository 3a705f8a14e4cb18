//! The segment: 2 KiB that the index grows by.
//!
//! ```text
//!  128 B        head, of two lines (words below)
//! lines 1..26   home lines: a key's home is chosen by the low half of its hash, so that it is
//!               the same line in both halves after a split
//! lines 27..30  stash lines 1..4: each home line may be given one, so that a lookup touches two
//!               lines at most
//!
//! head     0 u64  which entries of the directory name it: first | how many << 32
//!          8 u64  of a directory with so many doublings | shard << 16 | database root << 32 | magic << 48
//!         16 u64  items with a deadline
//!         24 u64  no deadline here comes before this (ms; u64::MAX = none)
//!         32 u64  cut: the number of the last cut that knows this segment
//!         40 u64  cut: a bit for each line that it has
//!         48 u64 x 9  which half the items go to at the next split, as far as is known: sides.rs
//! ```

use crate::arena::Mem;
use crate::index::bucket::{LINE_BYTES, Line};
use crate::index::directory::Span;
use crate::index::sides::{Depth, SIDES_AT, SIDES_WORDS};
use crate::sync::atomics::Ordering::{Relaxed, Release};
use crate::verbs::Millis;

// A model has small segments: the same algorithm, with splits that take fewer steps.
pub(crate) const SEGMENT_BYTES: usize = HEAD_BYTES + (LINES - 1) * LINE_BYTES;
pub(crate) const HOME_LINES: usize = if cfg!(shuttle) { 4 } else { 26 };
pub(crate) const STASH_LINES: usize = if cfg!(shuttle) { 2 } else { 4 };
/// One more than the number of the last line: the first one has number 1.
pub(crate) const LINES: usize = 1 + HOME_LINES + STASH_LINES;
/// Two lines, in a model too, which would do with one: so that it sees who takes a line's number for its place.
pub(crate) const HEAD_BYTES: usize = 2 * LINE_BYTES;
const _: () = assert!(SIDES_AT + 8 * SIDES_WORDS <= HEAD_BYTES);
pub(crate) const NO_DUE: u64 = u64::MAX;
const MAGIC: u64 = 0xd01a;

const _: () = assert!(SEGMENT_BYTES == 2048 || cfg!(shuttle));

/// The home line of a hash, 1 to 26.
#[inline(always)]
pub(crate) fn home_of(hash: u64) -> usize {
    1 + (((hash & 0xffff_ffff) * HOME_LINES as u64) >> 32) as usize
}

/// The stash that a home line is given if it is not much fuller than others: who looks for a key asks for it
/// together with the home line.
#[inline(always)]
pub(crate) fn likely_stash(home: usize) -> usize {
    1 + home % STASH_LINES
}

/// The line of stash number 1 to 4.
#[inline(always)]
pub(crate) fn stash_line(stash: usize) -> usize {
    HOME_LINES + stash
}

/// Where a line begins, in bytes from the segment's beginning.
#[inline(always)]
pub(crate) fn line_offset(line: usize) -> usize {
    HEAD_BYTES - LINE_BYTES + LINE_BYTES * line
}

/// The number of the line that begins so many bytes from the segment's beginning.
#[inline(always)]
pub(crate) fn line_at(offset: usize) -> usize {
    (offset - (HEAD_BYTES - LINE_BYTES)) / LINE_BYTES
}

/// A segment, by its byte offset in the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub words: Mem<'a>,
    pub at: usize,
}

/// Whose a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub root: u16,
    pub shard: u16,
    pub span: Span,
}

impl<'a> Segment<'a> {
    pub fn reference(&self) -> u32 {
        (self.at / 8) as u32
    }

    #[inline(always)]
    pub fn line(&self, line: usize) -> Line<'a> {
        Line { words: self.words, at: self.at + line_offset(line) }
    }

    fn get(&self, at: usize) -> u64 {
        self.words.u64_in(self.at, at).load(Relaxed)
    }

    fn set(&self, at: usize, value: u64) {
        self.words.u64_in(self.at, at).store(value, Release);
    }

    /// Makes an empty segment of this block.
    pub fn reset(&self, owner: Owner, version_seed: u32) {
        let Span { doublings, first, count } = owner.span;
        self.set(0, u64::from(first) | u64::from(count) << 32);
        self.set(
            8,
            u64::from(doublings)
                | u64::from(owner.shard) << 16
                | u64::from(owner.root) << 32
                | MAGIC << 48,
        );
        self.set(16, 0);
        self.set(24, NO_DUE);
        self.set(32, 0);
        self.set(40, 0);
        self.begin_sides(Depth::of(owner.span), |_| 0);
        for line in 1..LINES {
            self.line(line).reset(version_seed);
        }
    }

    /// `None`: this is no segment.
    pub fn owner(&self) -> Option<Owner> {
        let word = self.get(8);
        (word >> 48 == MAGIC).then(|| Owner {
            root: (word >> 32) as u16,
            shard: (word >> 16) as u16,
            span: self.span(),
        })
    }

    pub fn span(&self) -> Span {
        let entries = self.get(0);
        Span {
            doublings: u32::from(self.get(8) as u8),
            first: entries as u32,
            count: (entries >> 32) as u32,
        }
    }

    pub fn ttl_items(&self) -> u64 {
        self.get(16)
    }

    pub fn add_ttl_items(&self, change: i64) {
        self.set(16, self.get(16).wrapping_add_signed(change));
    }

    pub fn next_due(&self) -> Millis {
        self.get(24)
    }

    pub fn set_next_due(&self, due: Millis) {
        self.set(24, due);
    }

    pub fn cut_number(&self) -> u64 {
        self.get(32)
    }

    pub fn cut_lines(&self) -> u64 {
        self.get(40)
    }

    pub fn set_cut(&self, number: u64, lines: u64) {
        self.set(32, number);
        self.set(40, lines);
    }
}
