//! The engine that a configuration asks for: how much address space it takes, and how many shards.

use super::StartFailure;
use crate::config::Config;
use crate::limits::JOURNAL_BYTES;
use crate::process;
use crate::server::random_bytes;
use dolium_engine::{Engine, EngineOptions, Policy, limits as engine_limits};
use std::sync::Arc;

/// Shards for each thread: enough that two seldom meet at a lock. Few, because each shard with keys
/// has a segment of its own: with 1024 of them a hundred thousand keys are spread over 2 MiB.
const SHARDS_PER_THREAD: u32 = 64;
const SHARDS: std::ops::RangeInclusive<u32> = 256..=1024;

pub(super) fn create_engine(config: &Config, threads: usize) -> Result<Arc<Engine>, StartFailure> {
    let seed: [u8; 16] =
        random_bytes().map_err(|e| StartFailure::Io("random numbers for the hash", e))?;
    let half = |at: usize| u64::from_ne_bytes(seed[at..at + 8].try_into().unwrap_or_default());
    let maxmemory = config.number("maxmemory").max(0) as u64;
    // Address space only; so that a later CONFIG SET maxmemory can go up as well as down.
    let max_bytes = (process::machine_bytes() / 4 * 3)
        .max(maxmemory + (4 << 20))
        .min(engine_limits::ARENA_BYTES_MAX);
    Engine::create(EngineOptions {
        max_bytes: max_bytes & !((2 << 20) - 1),
        shards: shards(config, threads, maxmemory),
        databases: config.number("databases") as u16,
        hash_seed: [half(0), half(8)],
        policy: Policy::from_name(&config.get("maxmemory-policy")).unwrap_or_default(),
        journal_bytes: JOURNAL_BYTES,
    })
    .map_err(StartFailure::Engine)
}

/// How many shards the index has. Where little memory is to be used there are fewer: each shard with a key takes a
/// segment of 2 KiB, which it keeps when its keys are evicted. With 256 of them, one megabyte was used up by segments,
/// and every write refused, whatever the policy. A Memcached has even fewer: those of its `-m` are meant for items.
fn shards(config: &Config, threads: usize, maxmemory: u64) -> u32 {
    const BYTES_A_SHARD: u64 = 32 << 10;
    const MEMCACHED_BYTES_A_SHARD: u64 = 4 << 20;
    const SHARDS_LEAST: u32 = 16;
    let wanted = (SHARDS_PER_THREAD * threads as u32).next_power_of_two();
    let shards = wanted.clamp(*SHARDS.start(), *SHARDS.end());
    let bytes_a_shard = match config.memcached {
        Some(_) => MEMCACHED_BYTES_A_SHARD,
        // No bound.
        None if maxmemory == 0 => return shards,
        None => BYTES_A_SHARD,
    };
    let fitting = u32::try_from(maxmemory / bytes_a_shard).unwrap_or(u32::MAX);
    shards.min(fitting.clamp(SHARDS_LEAST, *SHARDS.end()).next_power_of_two())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_all_shards_take_a_sixteenth_of_a_small_memory_at_most() {
        let config = Config::new();
        for (threads, maxmemory, number) in [
            (1, 0, 256),
            (16, 0, 1024),
            (1, 1 << 20, 32),
            (16, 1 << 20, 32),
            (1, 4 << 20, 128),
            (1, 8 << 20, 256),
            (16, 8 << 20, 256),
            (16, 32 << 20, 1024),
            (1, 1 << 40, 256),
        ] {
            assert_eq!(shards(&config, threads, maxmemory), number, "{threads} {maxmemory}");
        }
    }
}
