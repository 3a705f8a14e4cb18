//! Who is told when items go without anybody having asked: by expiry or by eviction.
//!
//! A server counts them by size or shows them to those who watch. It is told under the shard's
//! lock, so it must be quick and must not come back to the store.

use crate::engine::Engine;
use crate::guard::Spot;
use crate::verbs::{Db, Event, Found, Millis};
use std::fmt;

/// An item that goes.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    pub db: Db,
    pub key: &'a [u8],
    pub hash: u64,
    pub event: Event,
    pub found: Found,
    pub now: Millis,
}

/// What is to be called for each departure, once somebody has said so.
#[derive(Default)]
pub(crate) struct Hook(std::sync::OnceLock<Box<dyn Fn(&Departure<'_>) + Send + Sync>>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Hook(set)" } else { "Hook(none)" })
    }
}

impl Engine {
    /// Has `hook` called for each item that expires or is evicted. Only the first caller is heard.
    pub fn on_departure(&self, hook: impl Fn(&Departure<'_>) + Send + Sync + 'static) {
        let _ = self.departures().0.set(Box::new(hook));
    }

    #[cold]
    pub(crate) fn note_departure(
        &self,
        db: Db,
        key: &[u8],
        spot: &Spot<'_>,
        event: Event,
        now: Millis,
    ) {
        if let Some(hook) = self.departures().0.get() {
            let (found, _) = spot.item.found(spot.bucket().meta(spot.slot));
            hook(&Departure { db, key, hash: self.hash(key), event, found, now });
        }
    }
}
