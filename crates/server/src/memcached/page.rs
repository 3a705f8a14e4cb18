//! `slabs reassign`: memory is taken from one class of items.
//!
//! Memcached moves a page of slabs from one class to another. Here pages serve whoever needs them
//! next, so about a page's worth of the class' items is evicted, and the memory goes to the pool of
//! all; that it was meant for another class is remembered for `stats slabs`.

use crate::server::Server;
use dolium_commands::memcache::classes::PAGE_BYTES;
use dolium_engine::{Event, Millis, Session};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

const STEP_KEYS: usize = 256;

impl Server {
    pub fn take_page(&self, session: &Session, from: i64, to: usize, now: Millis) -> &'static str {
        use dolium_commands::memcache::Server as _;
        let db = crate::limits::MEMCACHE_DB;
        let census = self.census(session, db, now);
        let classes = &self.memcached.settings.classes;
        let largest = || {
            let classes = census.classes.iter().enumerate();
            classes.max_by_key(|(_, count)| count.bytes).map_or(0, |(class, _)| class)
        };
        let from = usize::try_from(from).unwrap_or_else(|_| largest());
        if from == 0 || census.classes[from].items == 0 {
            return "NOSPARE source class has no spare pages";
        }
        let mut doomed = Vec::new();
        let (mut cursor, mut bytes, mut block_bytes) = (0, 0, 0);
        loop {
            cursor = session.scan(db, cursor, STEP_KEYS, now, |key, found| {
                let size = classes.item_bytes(key.len(), found.len, found.flags != 0);
                if bytes < PAGE_BYTES && classes.class_of(size) == from {
                    bytes += size as u64;
                    block_bytes = found.block_bytes;
                    doomed.push(key.to_vec());
                }
            });
            if cursor == 0 || bytes >= PAGE_BYTES {
                break;
            }
        }
        let mut evicted = 0;
        for key in &doomed {
            let key = session.engine().key(key);
            evicted += u64::from(session.write(db, &key, now).remove(db, &key, Event::Evicted));
        }
        // What the evicted ones have left free takes the items of a whole page in.
        session.take_page_of(block_bytes, now);
        let counts = &self.memcached.counts;
        counts.reassign_evictions.fetch_add(evicted, Relaxed);
        counts.slabs_moved.fetch_add(1, Relaxed);
        let mut spare = self.memcached.spare_pages.lock().unwrap_or_else(PoisonError::into_inner);
        if to != 0 {
            spare[to] += 1;
        }
        "OK"
    }
}
