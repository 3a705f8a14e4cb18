//! Every capacity of the command layer.

/// Longest piece of an unknown command's arguments that its error repeats, as in Redis.
pub const UNKNOWN_ARGUMENTS_PREVIEW_BYTES: usize = 128;
/// OBJECT ENCODING answers `embstr` up to this length, as Redis does.
pub const EMBSTR_BYTES_MAX: usize = 44;
/// Stars with something after them that a glob pattern may use up, as in Redis.
pub const GLOB_STARS_MAX: usize = 1000;
/// Latest deadline, in Unix milliseconds: PTTL and PEXPIRETIME tell of it in a signed number.
pub const DEADLINE_MAX: u64 = i64::MAX as u64;
/// What one item of several takes beside the bytes of key and value, at most, where these are few: 8 of
/// its header and 8 of an integer that came as one digit, up to 7 of rounding, and 12 to 15 of the index,
/// whose lines of 64 bytes hold ten items and are seldom full.
pub const ITEM_EXTRA_BYTES: usize = 40;
/// Rounding takes up to one byte in so many of an item whose size has a class of its own.
pub const ITEM_ROUNDING_ONE_IN: usize = 8;
/// Items above this are rounded to whole units of memory.
pub const CLASSED_BYTES_MAX: usize = 32 << 10;
/// A unit of memory.
pub const UNIT_BYTES: usize = 16 << 10;
/// What a deadline and a unique number can add to a list or a set.
pub const REWRITE_GROWTH_BYTES_MAX: usize = 64;
/// How often a request makes room that others take from it before it gives up.
pub const ROOM_TRIES: usize = 64;
/// What a subscription, a watched key or a key that is waited for takes beside the bytes of its name.
pub const KEPT_NAME_BYTES: usize = 128;
/// Keys that one step of SCAN visits when COUNT is not given.
pub const SCAN_COUNT_DEFAULT: usize = 10;
/// Most members that SRANDMEMBER answers with when they may come again: nothing else bounds the reply.
pub const RANDOM_MEMBERS_MAX: i64 = 10_000_000;
