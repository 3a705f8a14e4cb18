//! WATCH: flags that the next change of a key raises.
//!
//! Private to the server's process. A watcher registers under the lock of the key's shard, so
//! that every later writer of the key, who takes that lock, sees that there are watchers.

use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::atomics::{AtomicBool, AtomicU32};
use crate::sync::blocking::Mutex;
use crate::verbs::Db;
use std::collections::HashMap;
use std::sync::Arc;

type Watched = HashMap<Db, HashMap<Box<[u8]>, Vec<Arc<AtomicBool>>>>;

#[derive(Debug, Default)]
pub(crate) struct Watches {
    /// Flags registered: what writers look at, almost always 0.
    count: AtomicU32,
    watched: Mutex<Watched>,
}

impl Watches {
    pub fn add(&self, db: Db, key: &[u8], flag: &Arc<AtomicBool>) {
        let mut watched = self.watched.lock().expect("no holder panics");
        let flags = watched.entry(db).or_default().entry(key.into()).or_default();
        if !flags.iter().any(|f| Arc::ptr_eq(f, flag)) {
            flags.push(flag.clone());
            self.count.fetch_add(1, Relaxed);
        }
    }

    pub fn remove(&self, db: Db, key: &[u8], flag: &Arc<AtomicBool>) {
        let mut watched = self.watched.lock().expect("no holder panics");
        let Some(keys) = watched.get_mut(&db) else { return };
        let Some(flags) = keys.get_mut(key) else { return };
        if let Some(at) = flags.iter().position(|f| Arc::ptr_eq(f, flag)) {
            flags.swap_remove(at);
            self.count.fetch_sub(1, Relaxed);
        }
        if flags.is_empty() {
            keys.remove(key);
        }
    }

    /// Somebody watches some key.
    #[inline(always)]
    pub fn is_any(&self) -> bool {
        self.count.load(Relaxed) != 0
    }

    /// The key has changed.
    #[inline(always)]
    pub fn touch(&self, db: Db, key: &[u8]) {
        if self.count.load(Relaxed) != 0 {
            self.raise(db, key);
        }
    }

    #[cold]
    fn raise(&self, db: Db, key: &[u8]) {
        let watched = self.watched.lock().expect("no holder panics");
        for flag in watched.get(&db).and_then(|keys| keys.get(key)).into_iter().flatten() {
            flag.store(true, Relaxed);
        }
    }

    /// The keys that somebody watches in a database.
    pub fn keys_of(&self, db: Db) -> Vec<Vec<u8>> {
        if self.count.load(Relaxed) == 0 {
            return Vec::new();
        }
        let watched = self.watched.lock().expect("no holder panics");
        watched.get(&db).into_iter().flat_map(|keys| keys.keys().map(|k| k.to_vec())).collect()
    }
}
