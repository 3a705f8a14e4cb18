//! What time it is, without asking the kernel.

use rustix::time::{ClockId, clock_gettime};

/// The clock by which an attached reader knows what is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Clock {
    /// The system's coarse clock: a few loads from a page that the kernel maps into every process
    /// (the vDSO), a few milliseconds behind at most. Not a word in the arena that the server
    /// would have to keep fresh: readers go on without it.
    #[default]
    System,
    /// Always the same moment, in Unix milliseconds; for tests.
    Fixed(u64),
}

impl Clock {
    /// Unix milliseconds.
    #[inline]
    pub fn now(self) -> u64 {
        match self {
            Clock::System => {
                let now = clock_gettime(ClockId::RealtimeCoarse);
                // Before 1970 nothing was due.
                (now.tv_sec as u64).wrapping_mul(1000).wrapping_add(now.tv_nsec as u64 / 1_000_000)
            }
            Clock::Fixed(now) => now,
        }
    }
}
