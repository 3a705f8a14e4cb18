//! Work that nobody asked for but everybody needs, in small pieces.

mod expiry;

use crate::session::Session;
use crate::verbs::Millis;

/// What maintenance did in one call, so that the caller can pace itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub expired: u64,
    pub evicted: u64,
    pub moved_bytes: u64,
    pub committed_bytes: u64,
    pub collapsed_bytes: u64,
    /// Call again at once: there is more of it.
    pub more: bool,
}

/// Segments of flushed databases given back between two looks at the clock.
const RECLAIM_SEGMENTS: usize = 16;

impl Session {
    /// Expiry, eviction ahead of need, commit ahead of need, compaction, huge pages: about
    /// `budget_us` of it, measured by `elapsed_us` (the engine has no clock).
    pub fn maintain(&self, now: Millis, budget_us: u64, elapsed_us: &dyn Fn() -> u64) -> Work {
        let go_on = || elapsed_us() < budget_us;
        let mut work = Work { expired: self.expire(now, &go_on), ..Work::default() };
        while go_on() {
            work.more = self.engine().reclaim(self, RECLAIM_SEGMENTS);
            if !work.more {
                break;
            }
        }
        work
    }

    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.engine().arena().committed() + bytes as u64 + (8 << 20) < self.engine().arena().limit()
    }

    pub(crate) fn compact_for(&self, _bytes: usize, _now: Millis) -> bool {
        false
    }
}
