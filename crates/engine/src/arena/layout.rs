//! Where everything is in the arena: the one place that computes offsets.
//!
//! ```text
//! 0        HEADER        4 KiB     see header.rs
//! 4 KiB    CLASSES       32 KiB    one control block of 128 B per size class, see alloc/class.rs
//! 36 KiB   SUMMARIES     8 KiB     4 bitmaps with one bit per extent, see alloc/extent.rs
//! 44 KiB   REACHES       16 KiB    one byte per extent, see alloc/runs.rs
//!          SHARDS        8 MiB     64 databases x 1024 shards x 128 B, committed per database
//!          SESSIONS      4 MiB     64 slots x 64 KiB, committed per slot, see alloc/session.rs
//!          EXTENTS       64 B   x extents                committed as extents come into use
//!          PAGES         32 B   x 32 pages per extent    likewise
//!          BITMAPS       512 B  x 32 pages per extent    likewise
//!          JOURNAL       as asked for, committed by its first reader
//! data     EXTENTS of 2 MiB, each 32 pages of 64 KiB, each 4 units of 16 KiB
//! ```
//!
//! All of it is address space first: what nobody has touched costs nothing. What describes blocks
//! is kept away from the blocks in dense arrays, because headers at the same place of every page
//! crowd a few sets of the processor's caches.

use crate::limits::{ARENA_BYTES_MAX, DATABASES_MAX, SESSIONS_MAX};

/// A reference counts granules of this many bytes.
pub const GRANULE_SHIFT: u32 = 3;
/// The smallest piece that the page heap hands out.
pub const UNIT_SHIFT: u32 = 14;
/// A page of small blocks, and what one page descriptor describes.
pub const PAGE_SHIFT: u32 = 16;
/// A page of blocks above 4 KiB.
pub const WIDE_PAGE_SHIFT: u32 = 17;
/// The most memory that the write path commits in one go.
pub const STEP_SHIFT: u32 = 18;
/// A huge page of the processor, and what is given back to the system at once.
pub const EXTENT_SHIFT: u32 = 21;

pub const UNIT: u64 = 1 << UNIT_SHIFT;
pub const PAGE: u64 = 1 << PAGE_SHIFT;
pub const STEP: u64 = 1 << STEP_SHIFT;
pub const EXTENT: u64 = 1 << EXTENT_SHIFT;
pub const UNITS_PER_PAGE: u32 = 1 << (PAGE_SHIFT - UNIT_SHIFT);
pub const UNITS_PER_WIDE_PAGE: u32 = 1 << (WIDE_PAGE_SHIFT - UNIT_SHIFT);
pub const UNITS_PER_STEP: u32 = 1 << (STEP_SHIFT - UNIT_SHIFT);
pub const UNITS_PER_EXTENT: u32 = 1 << (EXTENT_SHIFT - UNIT_SHIFT);
pub const PAGES_PER_EXTENT: u32 = 1 << (EXTENT_SHIFT - PAGE_SHIFT);
pub const STEPS_PER_EXTENT: u32 = 1 << (EXTENT_SHIFT - STEP_SHIFT);

/// Offsets are cut to this: no arena is larger. A mapping reserves as much, whatever its file's
/// length, and what lies behind the file reads as zeros.
pub const REACH: u64 = ARENA_BYTES_MAX;
/// How far behind the start of a control block, an index line or an item something of it may be looked for:
/// an item's fields, and where its value begins.
pub const INNER_BYTES: usize = 128 << 10;
/// Reserved behind the reach: the longest run of bytes that any header can name, from wherever in an item
/// it begins.
pub const RUN_MAX: u64 = (1 << 32) + INNER_BYTES as u64;

const _: () = assert!(REACH.is_power_of_two());

/// Memory is committed and counted in the system's pages.
pub const SYSTEM_PAGE: u64 = 4096;

pub const HEADER_BYTES: u64 = 4096;
pub const CLASS_CTL_BYTES: u64 = 128;
pub const CLASSES_BYTES: u64 = 32 << 10;
pub const SUMMARY_BYTES: u64 = 2048;
pub const SUMMARIES: u64 = 4;
pub const REACHES_BYTES: u64 = 16 << 10;
pub const SHARD_CTL_BYTES: u64 = 128;
pub const SHARDS_MAX: u32 = 1024;
pub const SESSION_BYTES: u64 = 64 << 10;
pub const EXTENT_DESC_BYTES: u64 = 64;
pub const PAGE_DESC_BYTES: u64 = 32;
/// One bit for every block of 16 bytes in a page of 64 KiB.
pub const PAGE_BITMAP_BYTES: u64 = 512;

/// Changes whenever an attacher of an older build would misread the arena.
pub const LAYOUT_VERSION: u32 = 7;

pub const CLASSES_AT: u64 = HEADER_BYTES;
pub const SUMMARIES_AT: u64 = CLASSES_AT + CLASSES_BYTES;
pub const REACHES_AT: u64 = SUMMARIES_AT + SUMMARIES * SUMMARY_BYTES;
pub const SHARDS_AT: u64 = (REACHES_AT + REACHES_BYTES).next_multiple_of(SYSTEM_PAGE);
pub const SESSIONS_AT: u64 = SHARDS_AT + DATABASES_MAX as u64 * SHARDS_MAX as u64 * SHARD_CTL_BYTES;
pub const EXTENTS_AT: u64 = SESSIONS_AT + SESSIONS_MAX as u64 * SESSION_BYTES;

const _: () = {
    assert!(SESSIONS_AT.is_multiple_of(SYSTEM_PAGE));
    assert!(EXTENTS_AT.is_multiple_of(SYSTEM_PAGE));
    assert!(PAGE / 16 / 8 == PAGE_BITMAP_BYTES);
    assert!(ARENA_BYTES_MAX >> EXTENT_SHIFT <= SUMMARY_BYTES * 8);
    assert!(ARENA_BYTES_MAX >> EXTENT_SHIFT <= REACHES_BYTES);
    assert!(ARENA_BYTES_MAX >> GRANULE_SHIFT == 1 << 32);
    assert!(UNITS_PER_EXTENT == 128);
    assert!(STEPS_PER_EXTENT == 8);
};

/// The offsets that depend on an arena's size. An attacher computes the same ones from the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of extents that can ever be used.
    pub extents: u32,
    pub journal_bytes: u64,
    pub pages_at: u64,
    pub bitmaps_at: u64,
    pub journal_at: u64,
    pub data_at: u64,
    /// The memory file. What was never committed of it reads as zero, and so does all that a reference can
    /// name behind it: nothing is compared with this when memory is read (decision 18).
    pub len: u64,
}

impl Layout {
    /// `max_bytes` is rounded up to whole extents, and down to what references can reach.
    pub fn new(max_bytes: u64, journal_bytes: u64) -> Layout {
        let journal_bytes = journal_bytes.next_multiple_of(SYSTEM_PAGE);
        let mut extents = max_bytes.min(ARENA_BYTES_MAX).div_ceil(EXTENT).max(1);
        loop {
            let layout = Layout::of_extents(extents as u32, journal_bytes);
            if layout.len <= ARENA_BYTES_MAX || extents == 1 {
                return layout;
            }
            extents -= (layout.len - ARENA_BYTES_MAX).div_ceil(EXTENT).min(extents - 1);
        }
    }

    /// The layout of exactly this many extents.
    pub fn of_extents(extents: u32, journal_bytes: u64) -> Layout {
        let n = extents as u64;
        let up = |at: u64| at.next_multiple_of(SYSTEM_PAGE);
        let pages_at = up(EXTENTS_AT + n * EXTENT_DESC_BYTES);
        let bitmaps_at = up(pages_at + n * PAGES_PER_EXTENT as u64 * PAGE_DESC_BYTES);
        let journal_at = up(bitmaps_at + n * PAGES_PER_EXTENT as u64 * PAGE_BITMAP_BYTES);
        let data_at = (journal_at + journal_bytes).next_multiple_of(EXTENT);
        let len = data_at + n * EXTENT;
        Layout { extents, journal_bytes, pages_at, bitmaps_at, journal_at, data_at, len }
    }

    /// The most that can be committed: all extents, and what is from the start. What else is fixed
    /// (shards, sessions, the journal, descriptors) is committed as it is needed and counts as well, so
    /// a limit of no more than this is met before the extents are used up.
    pub fn most_committed(&self) -> u64 {
        SHARDS_AT + self.extents as u64 * EXTENT
    }

    /// The control block of a shard.
    #[inline]
    pub fn shard_ctl(&self, database: u32, shard: u32) -> u64 {
        debug_assert!(database < DATABASES_MAX as u32 && shard < SHARDS_MAX);
        SHARDS_AT + (database as u64 * SHARDS_MAX as u64 + shard as u64) * SHARD_CTL_BYTES
    }

    #[inline]
    pub fn session(&self, slot: u32) -> u64 {
        SESSIONS_AT + slot as u64 * SESSION_BYTES
    }

    #[inline]
    pub fn extent_desc(&self, extent: u32) -> u64 {
        EXTENTS_AT + extent as u64 * EXTENT_DESC_BYTES
    }

    #[inline]
    pub fn page_desc(&self, page: u32) -> u64 {
        self.pages_at + page as u64 * PAGE_DESC_BYTES
    }

    #[inline]
    pub fn page_bitmap(&self, page: u32) -> u64 {
        self.bitmaps_at + page as u64 * PAGE_BITMAP_BYTES
    }

    #[inline]
    pub fn page_start(&self, page: u32) -> u64 {
        self.data_at + ((page as u64) << PAGE_SHIFT)
    }

    /// The page (as a count of 64 KiB from the first extent) that an offset lies in.
    #[inline]
    pub fn page_of(&self, offset: u64) -> u32 {
        ((offset - self.data_at) >> PAGE_SHIFT) as u32
    }

    #[inline]
    pub fn extent_start(&self, extent: u32) -> u64 {
        self.data_at + ((extent as u64) << EXTENT_SHIFT)
    }

    #[inline]
    pub fn unit_start(&self, unit: u32) -> u64 {
        self.data_at + ((unit as u64) << UNIT_SHIFT)
    }
}

/// A fingerprint of every constant that an attacher relies on.
pub const LAYOUT_HASH: u64 = {
    let parts = [
        LAYOUT_VERSION as u64,
        GRANULE_SHIFT as u64,
        UNIT_SHIFT as u64,
        PAGE_SHIFT as u64,
        EXTENT_SHIFT as u64,
        WIDE_PAGE_SHIFT as u64,
        CLASSES_AT,
        SUMMARIES_AT,
        REACHES_AT,
        SHARDS_AT,
        SESSIONS_AT,
        EXTENTS_AT,
        SESSION_BYTES,
        SHARD_CTL_BYTES,
        crate::alloc::session::COUNTERS_AT,
        crate::alloc::session::HISTOGRAMS_AT,
        crate::index::segment::SEGMENT_BYTES as u64,
        crate::index::segment::HEAD_BYTES as u64,
        crate::index::segment::HOME_LINES as u64,
    ];
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < parts.len() {
        hash = (hash ^ parts[i]).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
        i += 1;
    }
    hash
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_arena_stays_within_reach_of_references() {
        let layout = Layout::new(u64::MAX, 64 << 20);
        assert!(layout.len <= ARENA_BYTES_MAX);
        assert!(layout.len > ARENA_BYTES_MAX - 2 * EXTENT);
        assert!(layout.data_at < 512 << 20);
    }

    #[test]
    fn areas_do_not_overlap() {
        for bytes in [1, 3 << 20, 512 << 20, 8 << 30] {
            let l = Layout::new(bytes, 5000);
            let pages = l.extents * PAGES_PER_EXTENT;
            assert!(l.shard_ctl(63, 1023) + SHARD_CTL_BYTES <= l.session(0));
            assert!(l.session(63) + SESSION_BYTES <= l.extent_desc(0));
            assert!(l.extent_desc(l.extents) <= l.page_desc(0));
            assert!(l.page_desc(pages) <= l.page_bitmap(0));
            assert!(l.page_bitmap(pages) <= l.journal_at);
            assert!(l.journal_at + l.journal_bytes <= l.data_at);
            assert_eq!(l.page_start(pages), l.len);
            assert!(l.len - l.data_at >= bytes);
        }
    }
}
