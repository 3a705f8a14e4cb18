//! Arenas for tests of what lies below the index, with the least of everything else.
#![allow(dead_code)]

use dolium_engine::alloc::Allocator;
use dolium_engine::arena::{Arena, ArenaOptions};
use std::sync::Arc;

pub fn options(max_bytes: u64) -> ArenaOptions {
    ArenaOptions {
        max_bytes,
        journal_bytes: 4096,
        shards: 16,
        databases: 1,
        hash_seed: [1, 2],
        uuid: [3, 4],
    }
}

pub fn arena(max_bytes: u64) -> Arena {
    Arena::create(&options(max_bytes)).unwrap()
}

pub fn allocator(max_bytes: u64) -> Allocator {
    Allocator::new(Arc::new(arena(max_bytes)))
}
