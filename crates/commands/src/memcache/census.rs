//! How the items of a database spread over Memcached's classes: counted by looking at all of them.
//!
//! Nothing is kept up to date for this while items come and go, which would cost every store; who
//! asks pays. A small database is counted when somebody asks, a large one in the background; the server keeps the
//! last count for a while.

use super::Settings;
use super::classes::CLASSES_MAX;
use dolium_engine::{Db, Found, Millis, NEVER, Session};
use std::sync::atomic::Ordering::Relaxed;

/// Keys that one step of the walk visits.
const STEP_KEYS: usize = 512;

/// One class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCount {
    pub items: u64,
    /// What Memcached would have asked for to keep them.
    pub bytes: u64,
    /// Those on trial: not yet found in use by eviction.
    pub hot: u64,
    /// Proven ones that were used since eviction last came by.
    pub warm: u64,
    /// Proven ones that were not.
    pub cold: u64,
    /// With so short a time to live that they are not evicted (`-o temporary_ttl`).
    pub temporary: u64,
}

#[derive(Clone, Debug)]
pub struct Census {
    pub classes: [ClassCount; CLASSES_MAX + 1],
    /// Items by Memcached's size, in steps of 32 bytes.
    pub sizes: std::collections::BTreeMap<u64, u64>,
}

impl Default for Census {
    fn default() -> Self {
        let classes = [ClassCount::default(); CLASSES_MAX + 1];
        Census { classes, sizes: Default::default() }
    }
}

/// A walk through a database that can be interrupted.
#[derive(Debug, Default)]
pub struct Walk {
    cursor: u64,
    census: Census,
}

impl Walk {
    /// Visits some more keys. The census, when all have been visited.
    pub fn step(
        &mut self,
        settings: &Settings,
        session: &Session,
        db: Db,
        now: Millis,
    ) -> Option<Census> {
        let census = &mut self.census;
        self.cursor = session.scan(db, self.cursor, STEP_KEYS, now, |key, found| {
            census.enter(settings, key, found, now);
        });
        (self.cursor == 0).then(|| std::mem::take(census))
    }
}

impl Census {
    /// Counts now: everything, or as many items as this, which then stand for all.
    pub fn take(settings: &Settings, session: &Session, db: Db, now: Millis, most: u64) -> Census {
        let mut walk = Walk::default();
        loop {
            if let Some(census) = walk.step(settings, session, db, now) {
                return census;
            }
            let counted = walk.census.classes.iter().map(|class| class.items).sum::<u64>();
            if counted >= most {
                // Where an item lies depends on its hash: those that were met are any.
                walk.census.scale(session.engine().len(db), counted);
                return walk.census;
            }
        }
    }

    /// Takes `of` items for `all`.
    fn scale(&mut self, all: u64, of: u64) {
        let scaled = |n: u64| (u128::from(n) * u128::from(all) / u128::from(of.max(1))) as u64;
        for class in &mut self.classes {
            let ClassCount { items, bytes, hot, warm, cold, temporary } = class;
            for count in [items, bytes, hot, warm, cold, temporary] {
                *count = scaled(*count);
            }
        }
        self.sizes.values_mut().for_each(|count| *count = scaled(*count));
    }

    fn enter(&mut self, settings: &Settings, key: &[u8], found: &Found, now: Millis) {
        let bytes = settings.classes.item_bytes(key.len(), found.len, found.flags != 0);
        let class = &mut self.classes[settings.classes.class_of(bytes)];
        class.items += 1;
        class.bytes += bytes as u64;
        let live = &settings.live;
        let spared_ms = u64::from(live.temporary_ttl.load(Relaxed)) * 1000;
        let is_short = found.deadline != NEVER && found.deadline <= now + spared_ms;
        if live.temp_lru.load(Relaxed) && is_short {
            class.temporary += 1;
        } else if !found.is_proven {
            class.hot += 1;
        } else if found.frequency > 0 {
            class.warm += 1;
        } else {
            class.cold += 1;
        }
        *self.sizes.entry((bytes as u64).next_multiple_of(32)).or_default() += 1;
    }
}
