//! The capacities of the engine that its users may meet, and how they relate. What an algorithm bounds for its own
//! sake stands in its file.

/// Longest key: its length is stored in two bytes.
pub const KEY_BYTES_MAX: usize = 65_535;
/// Longest string value, as in Redis.
pub const VALUE_BYTES_MAX: usize = 512 << 20;
/// Most logical databases of one arena.
pub const DATABASES_MAX: u16 = 64;
/// Most threads that hold a session at once.
pub const SESSIONS_MAX: usize = 64;
/// Blocks that one session can read where they lie at a time. In models few, since each is a word
/// at whose every load others may run.
pub const HAZARDS_A_SESSION: usize = if cfg!(shuttle) { 64 } else { 256 };
/// What a u32 reference in 8-byte granules can reach.
pub const ARENA_BYTES_MAX: u64 = 32 << 30;
