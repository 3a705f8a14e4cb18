//! What has left the store by itself: how much from each of Memcached's classes, and which keys
//! lately, so that a miss can say why it is one (`get_expired`, `get_flushed`).

use dolium_commands::memcache::classes::CLASSES_MAX;
use dolium_commands::memcache::{Departed, Reason, Settings};
use dolium_engine::{Departure, Event, NEVER};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Keys remembered, one at each place: a later one takes it over.
const PLACES: usize = 4096;

#[derive(Debug, Default)]
struct Counts {
    evicted: AtomicU64,
    evicted_nonzero: AtomicU64,
    evicted_unfetched: AtomicU64,
    expired: AtomicU64,
    expired_unfetched: AtomicU64,
}

/// Numbers for people, each true by itself: Relaxed everywhere.
#[derive(Debug)]
pub struct Departures {
    classes: [Counts; CLASSES_MAX + 1],
    /// A hash whose lowest bit says why: 1 flushed, 0 expired. 0: nothing.
    lately: Vec<AtomicU64>,
}

impl Default for Departures {
    fn default() -> Self {
        Departures {
            classes: std::array::from_fn(|_| Counts::default()),
            lately: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Departures {
    /// An item goes. Under its shard's lock: only counting is done here.
    pub fn count(&self, settings: &Settings, gone: &Departure<'_>) -> usize {
        let found = &gone.found;
        let bytes = settings.classes.item_bytes(gone.key.len(), found.len, found.flags != 0);
        let class = settings.classes.class_of(bytes);
        let counts = &self.classes[class];
        let one = |counter: &AtomicU64| counter.fetch_add(1, Relaxed);
        if gone.event == Event::Evicted {
            one(&counts.evicted);
            if found.deadline != NEVER {
                one(&counts.evicted_nonzero);
            }
            if found.frequency == 0 {
                one(&counts.evicted_unfetched);
            }
        } else {
            one(&counts.expired);
            if found.frequency == 0 {
                one(&counts.expired_unfetched);
            }
            self.remember(gone.hash, Reason::Expired);
        }
        class
    }

    pub fn classes(&self) -> [Departed; CLASSES_MAX + 1] {
        std::array::from_fn(|class| {
            let counts = &self.classes[class];
            Departed {
                evicted: counts.evicted.load(Relaxed),
                evicted_nonzero: counts.evicted_nonzero.load(Relaxed),
                evicted_unfetched: counts.evicted_unfetched.load(Relaxed),
                evicted_time: 0,
                expired: counts.expired.load(Relaxed),
                expired_unfetched: counts.expired_unfetched.load(Relaxed),
                out_of_memory: 0,
            }
        })
    }

    pub fn reset(&self) {
        for counts in &self.classes {
            for counter in [
                &counts.evicted,
                &counts.evicted_nonzero,
                &counts.evicted_unfetched,
                &counts.expired,
                &counts.expired_unfetched,
            ] {
                counter.store(0, Relaxed);
            }
        }
    }

    fn place(&self, hash: u64) -> &AtomicU64 {
        &self.lately[(hash >> 20) as usize % PLACES]
    }

    pub fn remember(&self, hash: u64, reason: Reason) {
        let bit = u64::from(reason == Reason::Flushed);
        self.place(hash).store(hash & !1 | bit, Relaxed);
    }

    /// Why the key is gone, if it is remembered; it is told once.
    #[inline]
    pub fn reason(&self, hash: u64) -> Option<Reason> {
        let word = self.place(hash).load(Relaxed);
        if word == 0 || (word ^ hash) > 1 {
            return None;
        }
        self.place(hash).store(0, Relaxed);
        Some(if word & 1 == 1 { Reason::Flushed } else { Reason::Expired })
    }
}
