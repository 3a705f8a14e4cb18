//! Every client of every thread, as the others may see it.
//!
//! A connection belongs to one thread, which alone touches its state. What CLIENT LIST, CLIENT
//! KILL and INFO need of it lies on a card that the owner keeps up to date with plain stores.

use dolium_commands::connection::{ClientState, gate};
use dolium_protocol::resp::Version;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed,
};
use std::sync::{Arc, Mutex, PoisonError};

/// A place in one thread's table of connections: the generation tells a later tenant apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub index: u32,
    pub generation: u32,
}

/// Nothing is published through the numbers; each is true by itself, hence Relaxed everywhere.
///
/// What every turn writes is in the first line, so that it can be asked for ahead (`reactor/intake.rs`).
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Card {
    pub last_ms: AtomicU64,
    pub db: AtomicU16,
    /// Row id of the last command, or `NO_COMMAND`.
    pub command: AtomicU16,
    // ---- what few turns look at ----
    pub id: u64,
    pub addr: String,
    pub laddr: String,
    pub fd: i32,
    pub thread: usize,
    pub token: Token,
    pub since_ms: u64,
    pub resp: AtomicU8,
    pub channels: AtomicU32,
    pub patterns: AtomicU32,
    /// Commands queued by MULTI, or -1.
    pub multi: AtomicI64,
    pub watched: AtomicU32,
    pub no_evict: AtomicBool,
    pub held: AtomicBool,
    /// It was told to go, by CLIENT KILL or for its buffers: for others it is gone.
    killed: AtomicBool,
    pub query_bytes: AtomicU64,
    pub query_free: AtomicU64,
    pub multi_bytes: AtomicU64,
    pub output_bytes: AtomicU64,
    /// Capacity of all buffers of its own, what the budget counts.
    pub buffer_bytes: AtomicU64,
    /// What of it is on its way back: the connection was chosen to be closed, and is not yet.
    pub leaving_bytes: AtomicU64,
    /// What of it was granted, for a large request or reply.
    pub granted_bytes: AtomicU64,
    /// Since when its peer has taken nothing of what is unsent; 0: nothing is. Unix milliseconds.
    pub stuck_since_ms: AtomicU64,
    pub names: Mutex<Names>,
    /// Raised when a key that the client watches changes: its transaction's own, which the engine
    /// raises. `None`: it watches nothing.
    dirty: Mutex<Option<Arc<AtomicBool>>>,
}

pub const NO_COMMAND: u16 = u16::MAX;

/// What of a card every turn writes.
pub const WRITTEN_BYTES: usize = offset_of!(Card, id);
const _: () = assert!(WRITTEN_BYTES <= 64, "one cache line");

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub name: Vec<u8>,
    pub lib_name: Vec<u8>,
    pub lib_ver: Vec<u8>,
}

impl Card {
    pub fn new(client: &ClientState, thread: usize, token: Token, now: u64) -> Card {
        Card {
            last_ms: AtomicU64::new(now),
            db: AtomicU16::new(0),
            command: AtomicU16::new(NO_COMMAND),
            id: client.id,
            addr: client.addr.clone(),
            laddr: client.laddr.clone(),
            fd: client.fd,
            thread,
            token,
            since_ms: now,
            resp: AtomicU8::new(2),
            channels: AtomicU32::new(0),
            patterns: AtomicU32::new(0),
            multi: AtomicI64::new(-1),
            watched: AtomicU32::new(0),
            no_evict: AtomicBool::new(false),
            held: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            query_bytes: AtomicU64::new(0),
            query_free: AtomicU64::new(0),
            multi_bytes: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            buffer_bytes: AtomicU64::new(0),
            leaving_bytes: AtomicU64::new(0),
            granted_bytes: AtomicU64::new(0),
            stuck_since_ms: AtomicU64::new(0),
            names: Mutex::default(),
            dirty: Mutex::default(),
        }
    }

    /// What may have changed with any command.
    #[inline]
    pub fn touch(&self, client: &ClientState, now: u64) {
        self.last_ms.store(now, Relaxed);
        self.db.store(client.db.0, Relaxed);
        self.command.store(client.last_command.map_or(NO_COMMAND, |row| row.id), Relaxed);
    }

    /// What changes only with commands about the connection itself.
    pub fn describe(&self, client: &ClientState) {
        self.describe_transaction(client);
        self.resp.store(if client.resp == Version::V3 { 3 } else { 2 }, Relaxed);
        self.channels.store(client.channels.len() as u32, Relaxed);
        self.patterns.store(client.patterns.len() as u32, Relaxed);
        self.no_evict.store(client.no_evict, Relaxed);
        let mut names = self.names();
        let names = &mut *names;
        for (held, now) in [
            (&mut names.name, &client.name),
            (&mut names.lib_name, &client.lib_name),
            (&mut names.lib_ver, &client.lib_ver),
        ] {
            if !are_same(held, now) {
                // Not into the memory of a longer one, which would be kept and not counted.
                *held = now.clone();
            }
        }
    }

    /// What changes with each command that MULTI queues: a few plain stores, and no lock unless the client
    /// watches something or has just done so.
    #[inline]
    pub fn describe_transaction(&self, client: &ClientState) {
        self.multi_bytes.store(client.transaction.queued_bytes as u64, Relaxed);
        let in_multi = client.gate & gate::MULTI != 0;
        let queued = client.transaction.queued.len() as i64;
        self.multi.store(if in_multi { queued } else { -1 }, Relaxed);
        let (before, now) = (self.watched.load(Relaxed), client.transaction.watched.len() as u32);
        // The flag is there exactly while something is watched.
        if before != 0 || now != 0 {
            self.watched.store(now, Relaxed);
            self.watch(client.transaction.dirty.as_ref());
        }
    }

    /// The client's transaction has this flag now. A new one comes with each round of WATCH.
    fn watch(&self, dirty: Option<&Arc<AtomicBool>>) {
        let mut held = self.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = match (held.as_ref(), dirty) {
            (Some(held), Some(dirty)) => Arc::ptr_eq(held, dirty),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            *held = dirty.cloned();
        }
    }

    /// A key that the client watches has changed: its EXEC will fail.
    pub fn is_dirty(&self) -> bool {
        let held = self.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().is_some_and(|flag| flag.load(Relaxed))
    }

    pub fn is_killed(&self) -> bool {
        self.killed.load(Relaxed)
    }

    pub fn names(&self) -> std::sync::MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_subscribed(&self) -> bool {
        self.channels.load(Relaxed) + self.patterns.load(Relaxed) != 0
    }
}

/// Two empty vectors are not compared byte by byte: they have no memory, and what the C library reads at their
/// place to compare nothing is a fault that the processor suppresses, for 70 ns and more each time.
fn are_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

#[derive(Debug, Default)]
pub struct Clients {
    cards: Mutex<BTreeMap<u64, Arc<Card>>>,
    next_id: AtomicU64,
    count: AtomicU64,
}

impl Clients {
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Relaxed) + 1
    }

    pub fn len(&self) -> u64 {
        self.count.load(Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts one more client, unless there are `most` already.
    pub fn admit(&self, most: u64) -> bool {
        self.count.fetch_update(Relaxed, Relaxed, |n| (n < most).then_some(n + 1)).is_ok()
    }

    /// Takes back an [`admit`](Clients::admit) whose connection did not come about.
    pub fn dismiss(&self) {
        self.count.fetch_sub(1, Relaxed);
    }

    pub fn enter(&self, card: Arc<Card>) {
        self.lock().insert(card.id, card);
    }

    pub fn leave(&self, id: u64) {
        let mut cards = self.lock();
        // Who was killed has been counted as gone.
        if cards.remove(&id).is_none_or(|card| !card.is_killed()) {
            self.dismiss();
        }
    }

    /// Marks a client as killed, and counts it as gone: its place is free. `None`: it is no longer there, or
    /// somebody else has killed it. Its thread closes it when it is told to.
    pub fn kill(&self, id: u64) -> Option<Arc<Card>> {
        let cards = self.lock();
        // With the lock held, as in `leave`: it is counted once.
        let card = cards.get(&id).filter(|card| !card.killed.swap(true, Relaxed))?;
        self.dismiss();
        Some(card.clone())
    }

    pub fn find(&self, id: u64) -> Option<Arc<Card>> {
        self.lock().get(&id).cloned()
    }

    /// All cards in order of id, copied so that nobody waits while they are looked at. Not of those who were killed:
    /// who is told so sees them no more.
    pub fn all(&self) -> Vec<Arc<Card>> {
        self.lock().values().filter(|card| !card.is_killed()).cloned().collect()
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Card>>> {
        self.cards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
