//! A million mutated requests for each protocol, from fixed seeds.
//!
//! Whatever the bytes, a parser must not panic, must consume no more than it was given, must ask
//! for more than it has, and must read the consumed prefix alone as the same request.

mod http;
mod memcache;
mod resp;

/// Each protocol's share. Set `DOLIUM_MUTATIONS` to look at more.
const REQUESTS: usize = 1_000_000;

fn requests() -> usize {
    match std::env::var("DOLIUM_MUTATIONS") {
        Ok(count) => count.parse().expect("DOLIUM_MUTATIONS is a number of requests"),
        Err(_) => REQUESTS,
    }
}

/// A small generator of its own, so that a failure's seed says everything.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound
    }
}

/// Changes `bytes` in one to four places, with a taste for what protocols are made of.
fn mutate(bytes: &mut Vec<u8>, dictionary: &[&[u8]], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at),
            3 => {
                let end = (at + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let from = random.below(bytes.len() + 1).min(at);
                let copy = bytes[from..at.min(from + 40)].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let word = dictionary[random.below(dictionary.len())];
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
}

/// Mutates pipelines of `seeds` until enough requests were looked at by `check`, which answers
/// how many it saw.
fn run(seed: u64, seeds: &[&[u8]], dictionary: &[&[u8]], mut check: impl FnMut(&[u8]) -> usize) {
    let mut random = Random(seed);
    let (mut looked_at, requests) = (0, requests());
    let mut input = Vec::new();
    while looked_at < requests {
        input.clear();
        for _ in 0..1 + random.below(4) {
            input.extend_from_slice(seeds[random.below(seeds.len())]);
        }
        mutate(&mut input, dictionary, &mut random);
        looked_at += check(&input).max(1);
    }
}
