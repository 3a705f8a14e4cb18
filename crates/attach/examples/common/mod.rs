//! What the measuring examples share: the rule by which they repeat, as the floor does, and a store's maintenance
//! as a server does it.

use dolium_engine::Engine;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Operations of one repetition: as many as the floor's reads.
pub const OPERATIONS: usize = 1 << 19;
pub const BATCH: usize = 32;
/// As many as a server of up to four threads makes.
pub const SHARDS: u32 = 256;
/// The best of this many repetitions in a round, as the floor does.
const REPETITIONS: u64 = 3;
/// Rounds of maintenance as a server of a growing store makes them, and how long each may work.
const MAINTENANCE_ROUND: Duration = Duration::from_millis(5);
const MAINTENANCE_US: u64 = 2_000;

/// The middle one; of an even number the upper one of the two.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The least of a few repetitions, each of which is told its number.
pub fn best(run: impl FnMut(u64) -> f64) -> f64 {
    (0..REPETITIONS).map(run).fold(f64::INFINITY, f64::min)
}

/// SplitMix64's last step: a well mixed word of any word.
#[inline(always)]
pub fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// As a server's maintenance does it.
pub fn maintain_until(engine: &Arc<Engine>, is_over: &AtomicBool) {
    let session = engine.session().expect("a session");
    while !is_over.load(Relaxed) {
        let begun = Instant::now();
        session.maintain(1, MAINTENANCE_US, &|| begun.elapsed().as_micros() as u64);
        std::thread::sleep(MAINTENANCE_ROUND);
    }
}
