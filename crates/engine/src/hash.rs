//! The placement hash: rapidhash V3, seeded by the arena.
//!
//! Every process that attaches computes it, so that its results are part of the arena's layout;
//! version 3 of the algorithm is fixed by its author. The seed is secret to the outside, which is
//! what keeps a client from choosing keys that collide.

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

#[derive(Clone, Debug)]
pub(crate) struct Hasher {
    secrets: RapidSecrets,
}

impl Hasher {
    pub fn new(seed: [u64; 2]) -> Hasher {
        Hasher { secrets: RapidSecrets::seed(seed[0] ^ seed[1].rotate_left(32)) }
    }

    #[inline(always)]
    pub fn hash(&self, key: &[u8]) -> u64 {
        rapidhash_v3_seeded(key, &self.secrets)
    }
}
