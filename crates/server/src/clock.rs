//! Time, read here and passed on: neither the engine nor a command looks at a clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Microseconds since the Unix epoch.
pub fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as u64)
}

/// Milliseconds since the Unix epoch: the `now` of commands.
pub fn unix_ms() -> u64 {
    unix_us() / 1000
}

/// A point from which durations are counted; never goes back.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch(Instant::now())
    }

    pub fn ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    pub fn us(&self) -> u64 {
        self.0.elapsed().as_micros() as u64
    }

    pub fn ms(&self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}
