//! What the server counts, read where it counts it: in the arena.

use crate::store::Store;
use dolium_engine::Statistics;
use dolium_engine::alloc::statistics::{Histogram, histogram_sum};
use dolium_engine::arena::header::{COMMITTED_AT, LIMIT_AT};
use dolium_engine::published::{Latency, ServerCounter};
use std::sync::atomic::Ordering::Relaxed;

/// Sums since the server began; they only ever grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// The engine's: changes, hits, misses and so on. Attached reads are in none of them.
    pub engine: Statistics,
    /// The server's, by name; the server publishes them once a second.
    pub server: Vec<(&'static str, u64)>,
    /// Bytes of the arena that are backed by memory.
    pub committed: u64,
    /// The most that may be (`maxmemory`).
    pub limit: u64,
}

impl Store {
    /// The counters of the engine and of the server, without asking it.
    pub fn counters(&self) -> Counters {
        let reader = self.reader();
        let server = ServerCounter::ALL
            .map(|(name, counter)| (name, reader.server_counter(counter as usize)))
            .to_vec();
        Counters {
            engine: reader.statistics(),
            server,
            committed: reader.arena().load64(COMMITTED_AT, Relaxed),
            limit: reader.arena().load64(LIMIT_AT, Relaxed),
        }
    }

    /// How long commands ran in the server, by sort, without asking it.
    pub fn latencies(&self) -> Vec<(&'static str, Histogram)> {
        let of = |latency: Latency| histogram_sum(self.reader().arena(), latency as usize);
        Latency::ALL.map(|(name, latency)| (name, of(latency))).to_vec()
    }
}
