//! The one door for change: locks, versions, the running cut, the journal, the watchers.
//!
//! A guard holds the locks of its shards from the moment it is taken until it is dropped. Every
//! mutation of any key by anybody goes through its verbs, but a SET over a value of the same lengths,
//! which takes the same steps without one (`alike.rs`). Each does the same five things in this order: (1) builds what is new where nobody sees it, (2) hands the line that it
//! is about to change to the running cut, if that does not have it yet, (3) publishes with one
//! store and a version bump, (4) puts the effect into the journal, (5) raises the flags of those
//! who watch the key. Persistence, replication, notifications and WATCH read here and nowhere else.
//!
//! Locks are taken in the order of their addresses, so that two guards never wait for each other.

mod alike;
mod carry;
mod copy;
mod fresh;
mod grow;
mod lookup;
mod overwrite;
mod part;
mod patch;
mod put;
mod remove;
mod rewrite;
mod several;
mod uniques;
mod whole;

use crate::engine::Engine;
use crate::index::shard::Shard;
use crate::session::Session;
use crate::verbs::{Db, Key, Millis, StoreError};

pub(crate) use lookup::{Spot, Target};

/// The shards of one command's keys, locked. Changes go through one of these.
#[derive(Debug)]
pub struct Guard<'s> {
    pub(crate) session: &'s Session,
    pub(crate) now: Millis,
    held: Held,
}

/// Which locks a guard gives back when it is dropped, as offsets of shard control blocks.
#[derive(Debug)]
pub(crate) enum Held {
    One(usize),
    Several(Several),
    /// The session's transaction holds the locks.
    Transaction,
}

/// Locks of several shards.
#[derive(Debug)]
pub(crate) struct Several {
    /// Control blocks, in order.
    shards: Vec<usize>,
    /// They are all there are, and no database is opened meanwhile.
    is_all: bool,
}

impl Several {
    pub fn holds(&self, shard_at: usize) -> bool {
        self.shards.binary_search(&shard_at).is_ok()
    }

    pub fn is_all(&self) -> bool {
        self.is_all
    }
}

impl Session {
    /// Locks the shard of one key.
    #[inline(always)]
    pub fn write(&self, db: Db, key: &Key<'_>, now: Millis) -> Guard<'_> {
        let held = if self.in_transaction() {
            Held::Transaction
        } else {
            Held::One(self.engine().lock_one(db, key.hash))
        };
        Guard { session: self, now, held }
    }

    /// Locks the shards of several keys.
    pub fn write_many(&self, keys: &[(Db, u64)], now: Millis) -> Guard<'_> {
        let held = if self.in_transaction() {
            Held::Transaction
        } else {
            Held::Several(self.engine().lock_several(keys))
        };
        Guard { session: self, now, held }
    }

    /// Locks every shard of every database (FLUSHALL, SWAPDB, scripts with undeclared keys).
    pub fn write_all(&self, now: Millis) -> Guard<'_> {
        let held = if self.in_transaction() {
            Held::Transaction
        } else {
            Held::Several(self.engine().lock_all())
        };
        Guard { session: self, now, held }
    }

    /// A transaction: locks these shards (or all with `None`) until `end_transaction`; guards
    /// taken meanwhile on this session lock nothing of their own and must be of these keys.
    pub fn begin_transaction(&self, keys: Option<&[(Db, u64)]>, _now: Millis) {
        assert!(!self.in_transaction(), "transactions do not nest");
        let held = match keys {
            Some(keys) => self.engine().lock_several(keys),
            None => self.engine().lock_all(),
        };
        self.set_transaction(Some(held));
    }

    /// A transaction of the whole store, as [`begin_transaction`](Session::begin_transaction) with `None`,
    /// which may write to these databases also where nobody has done so before.
    pub fn begin_transaction_of_all(&self, databases: &[Db]) {
        assert!(!self.in_transaction(), "transactions do not nest");
        let engine = self.engine();
        let held = loop {
            databases.iter().for_each(|db| _ = engine.open_root(*db));
            let held = engine.lock_all();
            // SWAPDB may have given one of them another root meanwhile, one that is not open, so that no
            // lock keeps it: what is written there would be in no cut, and outlive a flush.
            if databases.iter().all(|db| engine.is_open(engine.view().root_of(*db))) {
                break held;
            }
            engine.unlock_several(&held);
        };
        self.set_transaction(Some(held));
    }

    pub fn end_transaction(&self) {
        if let Some(held) = self.set_transaction(None) {
            self.engine().unlock_several(&held);
        }
    }
}

impl Engine {
    #[inline(always)]
    fn lock_one(&self, db: Db, hash: u64) -> usize {
        loop {
            let root = self.open_root(db);
            let shard = self.view().shard_of(root, hash);
            shard.lock().acquire();
            // SWAPDB may have given the database another root while this waited.
            if self.view().root_of(db) == root {
                return shard.at;
            }
            shard.lock().release();
        }
    }

    pub(crate) fn lock_several(&self, keys: &[(Db, u64)]) -> Several {
        loop {
            let view = self.view();
            let opened = keys.iter().map(|&(db, hash)| view.shard_of(self.open_root(db), hash).at);
            let mut shards: Vec<usize> = opened.collect();
            shards.sort_unstable();
            shards.dedup();
            self.acquire_all(&shards);
            let held = Several { shards, is_all: false };
            // SWAPDB may have given a database another root while this waited. That is opened only when
            // these locks are given back: who locks everything may wait for them and let nobody open.
            let is_still_so =
                |&(db, hash): &(Db, u64)| held.holds(view.shard_of(view.root_of(db), hash).at);
            if keys.iter().all(is_still_so) {
                return held;
            }
            self.unlock_several(&held);
        }
    }

    /// Locks all shards of all databases in use. Whoever writes to another one for the first time waits until
    /// they are given back: his change comes behind what is done now, for every reader of changes.
    pub(crate) fn lock_all(&self) -> Several {
        let roots = self.close_opening();
        let mut shards = Vec::new();
        for root in (0..64).filter(|root| roots & 1 << root != 0) {
            shards.extend((0..self.view().shard_count()).map(|n| self.view().shard_at(root, n).at));
        }
        shards.sort_unstable();
        self.acquire_all(&shards);
        Several { shards, is_all: true }
    }

    fn acquire_all(&self, held: &[usize]) {
        for &at in held {
            let shard = Shard { words: self.view().words, at };
            shard.lock().acquire();
            shard.flip_several();
        }
    }

    pub(crate) fn unlock_several(&self, held: &Several) {
        for &at in &held.shards {
            let shard = Shard { words: self.view().words, at };
            shard.flip_several();
            shard.lock().release();
        }
        if held.is_all {
            self.end_closed_opening();
        }
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        match &self.held {
            Held::One(at) => {
                Shard { words: self.session.view().words, at: *at }.lock().release();
            }
            Held::Several(held) => self.session.engine().unlock_several(held),
            Held::Transaction => {}
        }
    }
}

impl<'s> Guard<'s> {
    /// A guard on a shard whose lock was taken with `try_acquire` (maintenance).
    pub(crate) fn adopt(session: &'s Session, shard: Shard<'_>, now: Millis) -> Guard<'s> {
        Guard { session, now, held: Held::One(shard.at) }
    }

    /// A block for an item. Where there is none, another item gives its own, as far as the policy lets it. With one
    /// lock the command gives that back and makes room again.
    #[inline(always)]
    fn take_item(&self, bytes: usize) -> Result<u32, StoreError> {
        match self.session.take_item(bytes) {
            Err(_) if !self.holds_one() => self.session.take_item_of_another(bytes, self.now),
            taken => taken,
        }
    }

    /// Has this guard alone made readers of the shard wait (`Shard::flip_several`)?
    fn holds_one(&self) -> bool {
        matches!(self.held, Held::One(_))
    }

    /// Whether this guard, or the transaction it is part of, holds a shard.
    fn holds(&self, shard: Shard<'_>) -> bool {
        match &self.held {
            Held::One(at) => *at == shard.at,
            Held::Several(held) => held.holds(shard.at),
            Held::Transaction => self.session.transaction_holds(shard.at),
        }
    }
}
