//! What loads a Memcached server and judges every byte of what it answers. Used by tests of the
//! server within their own process and, by path, by tests of the program itself.
//!
//! ```text
//!   pipe      a connection that reads while it writes: pipelines of any size cannot deadlock
//!   speech    one set of requests in three protocols: text, meta, binary
//!   answers   what they answer
//!   value     a value that tells, by itself and its flags, whose it is and which
//!   content   many connections over shared keys; nothing torn, stale or another key's
//!   model     a connection alone with its keys, every verb against a map
//!   malformed requests that are none, from a seed
//!   torture   sizes that drift and all of the above at once, with
//!   administrator commands about memory without rest
//! ```
#![allow(dead_code)]

pub mod administrator;
pub mod answers;
pub mod content;
pub mod malformed;
pub mod model;
pub mod pipe;
pub mod speech;
pub mod torture;
pub mod value;

use std::time::Duration;

/// How long a load runs: `DOLIUM_TEST_LOAD_SECONDS`, or what the test asks for.
pub fn seconds(default: u64) -> Duration {
    let asked = std::env::var("DOLIUM_TEST_LOAD_SECONDS").ok().and_then(|n| n.parse().ok());
    Duration::from_secs(asked.unwrap_or(default))
}

/// What chance begins with: `DOLIUM_TEST_SEED`, or another number in each run.
pub fn seed() -> u64 {
    let asked = std::env::var("DOLIUM_TEST_SEED").ok().and_then(|n| n.parse().ok());
    let since = std::time::UNIX_EPOCH.elapsed().expect("it is later than 1970");
    let seed = asked.unwrap_or(since.as_nanos() as u64);
    println!("seed: DOLIUM_TEST_SEED={seed}");
    seed
}

/// Numbers that a seed repeats.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Random {
        Random(value::mix(seed, stream) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// From 0 on, below the end.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    pub fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}
