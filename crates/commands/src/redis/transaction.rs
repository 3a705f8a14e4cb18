//! MULTI, EXEC, DISCARD, WATCH: commands queued and run as one.

use dolium_engine::Db;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a client has queued and what it watches.
#[derive(Debug, Default)]
pub struct Transaction {
    /// Copies of the queued requests.
    pub queued: Vec<Queued>,
    /// A command was refused while queueing: EXEC will abort.
    pub broken: bool,
    pub watched: Vec<(Db, Vec<u8>)>,
    /// Raised by the engine when a watched key changes. Made by the first WATCH.
    pub dirty: Option<Arc<AtomicBool>>,
}

/// One queued request, independent of the buffer it came in.
#[derive(Debug)]
pub struct Queued {
    pub bytes: Vec<u8>,
    pub spans: Vec<crate::arguments::Span>,
    pub prepared: crate::dispatch::Prepared,
}

impl Transaction {
    /// One of the queued commands may change data.
    pub fn may_write(&self) -> bool {
        self.queued.iter().filter_map(|q| q.prepared.row()).any(|row| {
            row.flags & (crate::redis::row::flag::WRITE | crate::redis::row::flag::MAY_REPLICATE)
                != 0
        })
    }

    pub fn is_dirty(&self) -> bool {
        // Pairs with the engine's Release store under the key's lock.
        self.dirty.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire))
    }
}
