//! How an engine is created, why it could not be, and what it says of its memory.

use crate::arena::ArenaError;
use crate::verbs::Policy;

/// How to create an arena.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The most the arena may ever commit; address space is reserved for it at once.
    pub max_bytes: u64,
    /// Power of two, 16 to 1024.
    pub shards: u32,
    pub databases: u16,
    /// From a good random source: who knows it can choose keys that collide.
    pub hash_seed: [u64; 2],
    pub policy: Policy,
    /// Bytes of the change stream's ring, committed when it gets its first reader.
    pub journal_bytes: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            max_bytes: 1 << 30,
            // Miri interprets what walks every shard, some thousand times slower.
            shards: if cfg!(miri) { 16 } else { 256 },
            databases: 16,
            hash_seed: [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344],
            policy: Policy::NoEviction,
            journal_bytes: 4 << 20,
        }
    }
}

/// Why an engine could not be created.
#[derive(Debug)]
pub enum CreateError {
    Arena(ArenaError),
    Options(&'static str),
}

impl std::fmt::Display for CreateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CreateError::Arena(error) => error.fmt(f),
            CreateError::Options(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for CreateError {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// What `maxmemory` allows.
    pub max: u64,
    /// What the arena has taken from the system.
    pub committed: u64,
    /// Bytes in blocks in use, index included.
    pub live: u64,
    /// Of these, the index's.
    pub index: u64,
    pub items: u64,
    /// Bytes of the pages and runs that items lie in.
    pub item_pages: u64,
}
