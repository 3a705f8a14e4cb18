//! The first 4 KiB of the arena: what it is, and the words that all of the engine shares.
//!
//! ```text
//!   0 magic u64 | 8 layout_version u32 | 12 shifts u32 | 16 layout_hash u64 | 24 uuid u64 x 2
//!  40 length u64 | 48 extents u32 | 52 databases u32 | 56 journal_bytes u64
//!  64 hash_seed u64 x 2 | 80 hash_kind u32 | 84 shards u32
//! 128 state u32 | 132 server_sleeping u32 | 136 server_generation u32
//! 144 session slots claimed u64 | 152 session slots committed u64
//! 192 committed u64 | 200 limit u64
//! 256 heap lock u32 | 260 known extents u32 | 264 free units u64 | 272 collapse cursor u32
//!     276 collapse refusals u32 | 280 units in large blocks u64 | 288 the heap lock's "asleep" u32
//! 320 drain u32 | 324 releases u32 | 328 faults u64
//! 1024 .. 4096 the engine's own words (index, guard, journal): see the modules that use them
//! ```
//!
//! Lines 0 and 64 never change after creation. The rest is grouped so that words which are
//! written under the same lock share a line and words that everybody reads do not.

use super::layout::{EXTENT_SHIFT, GRANULE_SHIFT, PAGE_SHIFT, UNIT_SHIFT};

pub const MAGIC: u64 = u64::from_le_bytes(*b"DOLIUM\x01\0");

pub const MAGIC_AT: u64 = 0;
pub const LAYOUT_VERSION_AT: u64 = 8;
pub const SHIFTS_AT: u64 = 12;
pub const LAYOUT_HASH_AT: u64 = 16;
pub const UUID_AT: u64 = 24;
pub const LENGTH_AT: u64 = 40;
pub const EXTENTS_COUNT_AT: u64 = 48;
pub const DATABASES_AT: u64 = 52;
pub const JOURNAL_BYTES_AT: u64 = 56;
pub const HASH_SEED_AT: u64 = 64;
pub const HASH_KIND_AT: u64 = 80;
pub const SHARD_COUNT_AT: u64 = 84;

pub const STATE_AT: u64 = 128;
pub const SERVER_SLEEPING_AT: u64 = 132;
pub const SERVER_GENERATION_AT: u64 = 136;

pub const COMMITTED_AT: u64 = 192;
pub const LIMIT_AT: u64 = 200;

pub const HEAP_LOCK_AT: u64 = 256;
pub const KNOWN_EXTENTS_AT: u64 = 260;
pub const FREE_UNITS_AT: u64 = 264;
pub const COLLAPSE_CURSOR_AT: u64 = 272;
pub const COLLAPSE_REFUSALS_AT: u64 = 276;
pub const RUN_UNITS_AT: u64 = 280;
pub const HEAP_ASLEEP_AT: u64 = 288;

pub const DRAIN_AT: u64 = 320;
pub const RELEASES_AT: u64 = 324;
pub const FAULTS_AT: u64 = 328;

/// The engine's own words lie from here to the end of the header.
pub const ENGINE_WORDS_AT: u64 = 1024;

/// The shifts that references and pages are made with, in one word for the attacher to compare.
pub const SHIFTS: u32 = GRANULE_SHIFT | UNIT_SHIFT << 8 | PAGE_SHIFT << 16 | EXTENT_SHIFT << 24;
