//! When a census of the classes is taken anew, and when the last one does.
//!
//! ```text
//! nothing was asked or changed since      the last one, for a second: some of it depends on the time
//! few items                               a new one
//! some                                    a new one, if the last took less than a 20th of the time since
//! many                                    the last one of the background, which is told that somebody asks;
//!                                         if there is none of the last minute, a share, counted now and taken for all
//! ```
//! A census looks at every item. Whoever asks often, or has many, should not keep a thread from its clients by it.

use crate::clock::Stopwatch;
use crate::limits::{CENSUS_AT_ONCE, CENSUS_FEW};
use dolium_commands::memcache::Settings;
use dolium_commands::memcache::census::Census;
use dolium_engine::{Db, Millis, Session, Statistics};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A census that took some time does for so many times as long.
const REST: u64 = 20;
/// What depends on the time (how many items expire soon) is not older, if nothing else has changed.
const UNCHANGED_MS: u64 = 1000;
/// Who asks once an hour is not told of the hour before.
const BACKGROUND_MS: u64 = 60_000;

#[derive(Debug, Default)]
pub struct Censuses {
    held: Mutex<Option<Held>>,
    is_wanted: AtomicBool,
}

#[derive(Debug)]
struct Held {
    census: Arc<Census>,
    since: Stopwatch,
    took_us: u64,
    /// What had been asked and changed by then.
    statistics: Statistics,
    /// Of all items of a large store.
    is_of_background: bool,
}

impl Censuses {
    pub fn of(&self, settings: &Settings, session: &Session, db: Db, now: Millis) -> Arc<Census> {
        let engine = session.engine();
        let items = engine.len(db);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if items > CENSUS_AT_ONCE {
            self.is_wanted.store(true, Relaxed);
            let of_background = held.as_ref().filter(|held| held.is_of_background);
            if let Some(held) = of_background.filter(|held| held.since.ms() < BACKGROUND_MS) {
                return Arc::clone(&held.census);
            }
        }
        let statistics = engine.statistics();
        if let Some(held) = held.as_ref().filter(|held| !held.is_of_background) {
            let is_unchanged = held.statistics == statistics && held.since.ms() < UNCHANGED_MS;
            let is_young = items > CENSUS_FEW && held.since.us() < held.took_us * REST;
            if is_unchanged || is_young {
                return Arc::clone(&held.census);
            }
        }
        let stopwatch = Stopwatch::start();
        let census = Arc::new(Census::take(settings, session, db, now, CENSUS_AT_ONCE));
        *held = Some(Held {
            census: Arc::clone(&census),
            since: Stopwatch::start(),
            took_us: stopwatch.us(),
            statistics,
            is_of_background: false,
        });
        census
    }

    /// What somebody has set decides where items are counted.
    pub fn forget(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether somebody has asked for a census of many items since this was asked.
    pub fn take_wanted(&self) -> bool {
        self.is_wanted.swap(false, Relaxed)
    }

    /// The background has counted all items.
    pub fn put(&self, census: Census) {
        let held = Held {
            census: Arc::new(census),
            since: Stopwatch::start(),
            took_us: 0,
            statistics: Statistics::default(),
            is_of_background: true,
        };
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dolium_engine::{Engine, EngineOptions, Put, Value};

    const DB: Db = Db(0);
    const NOW: Millis = 1;

    fn put(session: &Session, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let name = format!("key:{number}");
            let key = session.engine().key(name.as_bytes());
            let value = Put::plain(Value::Bytes(b"v"));
            session.write(DB, &key, NOW).put(DB, &key, &value).expect("room");
        }
    }

    fn items(census: &Census) -> u64 {
        census.classes.iter().map(|class| class.items).sum()
    }

    fn session() -> Session {
        let options = EngineOptions { max_bytes: 256 << 20, ..EngineOptions::default() };
        Engine::create(options).expect("an arena").session().expect("a slot")
    }

    #[test]
    fn few_items_are_counted_as_they_are() {
        let (session, settings, censuses) = (session(), Settings::default(), Censuses::default());
        for number in 0..20 {
            put(&session, number..number + 1);
            assert_eq!(items(&censuses.of(&settings, &session, DB, NOW)), number + 1);
        }
        assert!(!censuses.take_wanted());
    }

    #[test]
    fn of_many_a_share_stands_for_all_until_they_have_been_counted() {
        let (session, settings, censuses) = (session(), Settings::default(), Censuses::default());
        let all = 2 * CENSUS_AT_ONCE;
        put(&session, 0..all);
        let estimate = items(&censuses.of(&settings, &session, DB, NOW));
        assert!((all - 10..=all).contains(&estimate), "{estimate}");
        assert!(censuses.take_wanted());
        let mut counted = Census::default();
        counted.classes[1].items = 7;
        censuses.put(counted);
        assert_eq!(items(&censuses.of(&settings, &session, DB, NOW)), 7);
        assert!(censuses.take_wanted());
        censuses.forget();
        assert_ne!(items(&censuses.of(&settings, &session, DB, NOW)), 7);
    }
}
