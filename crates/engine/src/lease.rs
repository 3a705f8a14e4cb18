//! Strings that are read where they lie, without a lock.
//!
//! A large value is worth showing to a socket instead of copying it first. A write puts another block
//! into the index and frees the old one, or changes a part of one that is not leased (`guard/part.rs`).
//! So it is enough that a leased block is not freed before its lease ends.
//!
//! ```text
//!   lease       a read that names the block it has met, and counts if the index has it still
//!   replaced    the writer would free the block, finds it named, and leaves it as given back
//!   lease ends  the next who frees a large block, or maintenance, finds it named no more, and frees it
//! ```
//! Naming a block takes neither a lock nor a list (`hazards.rs`).
//! Who waits for memory may wait for leases: they must be short, and few.

use crate::hazards::Hazards;
use crate::limits::{HAZARDS_A_SESSION, SESSIONS_MAX};
use crate::session::Session;
use crate::sync::atomics::AtomicU64;
use crate::sync::atomics::Ordering::Relaxed;
use crate::sync::blocking::Mutex;
use crate::verbs::{Db, Found, Key, Millis};
use std::cell::Cell;

/// Smallest value of which there are leases: blocks of fewer bytes are freed without a look at who
/// reads them.
pub const LEASED_BYTES_MIN: usize = if cfg!(shuttle) { 32 } else { 8 * 1024 };
/// Leases that a session can have at a time.
pub const LEASES_MAX: usize = HAZARDS_A_SESSION - 1;
/// The slot of a block that the session itself is about to put into the index.
const OWN: usize = HAZARDS_A_SESSION - 1;

const _: () = assert!(SESSIONS_MAX <= 64);

/// A string's bytes, which stay as they are for as long as this lives.
#[derive(Debug)]
pub struct Lease<'s> {
    at: usize,
    len: usize,
    hazard: Hazard<'s>,
}

/// A slot of the session's, for as long as this lives.
#[derive(Debug)]
struct Hazard<'s> {
    session: &'s Session,
    slot: usize,
}

/// A session's slots in use, a bit each.
#[derive(Debug, Default)]
pub(crate) struct Slots(Cell<[u64; HAZARDS_A_SESSION / 64]>);

#[derive(Debug)]
pub(crate) struct Leases {
    hazards: Hazards,
    given: Mutex<Vec<Given>>,
    /// How many there are of these. A hint, hence Relaxed: who misses one frees it the next time.
    waiting: AtomicU64,
}

/// A block that was given back, and is to be freed.
#[derive(Debug)]
struct Given {
    reference: u32,
    bytes: usize,
}

impl Slots {
    /// A free slot; whether all were.
    fn take(&self) -> Option<(usize, bool)> {
        let mut words = self.0.get();
        let was_empty = words.iter().all(|word| *word == 0);
        let number = words.iter().position(|word| *word != u64::MAX)?;
        let slot = number * 64 + words[number].trailing_ones() as usize;
        if slot == OWN {
            return None;
        }
        words[number] |= 1 << (slot % 64);
        self.0.set(words);
        Some((slot, was_empty))
    }

    fn take_own(&self) -> bool {
        let mut words = self.0.get();
        let was_empty = words.iter().all(|word| *word == 0);
        assert_eq!(words[OWN / 64] >> (OWN % 64), 0, "one value of its own at a time");
        words[OWN / 64] |= 1 << (OWN % 64);
        self.0.set(words);
        was_empty
    }

    /// Gives a slot back; whether all are free now.
    fn give(&self, slot: usize) -> bool {
        let mut words = self.0.get();
        words[slot / 64] &= !(1 << (slot % 64));
        self.0.set(words);
        words.iter().all(|word| *word == 0)
    }
}

impl Default for Leases {
    fn default() -> Leases {
        let hazards = Hazards::new(SESSIONS_MAX);
        Leases { hazards, given: Mutex::default(), waiting: AtomicU64::new(0) }
    }
}

impl Leases {
    fn push(&self, given: Given) {
        let mut list = self.given.lock().expect("no holder panics");
        list.push(given);
        self.waiting.store(list.len() as u64, Relaxed);
    }

    /// Whether the block is leased, or about to be: asked while no read of its shard can succeed.
    pub(crate) fn is_named(&self, reference: u32) -> bool {
        #[cfg(shuttle)]
        if crate::sync::modelled::is_left_out(crate::sync::modelled::Fault::Leased) {
            return false;
        }
        self.hazards.is_named(reference)
    }

    /// Whether the block is leased: then it is freed later.
    fn keep(&self, reference: u32, bytes: usize) -> bool {
        let is_named = self.is_named(reference);
        if is_named {
            self.push(Given { reference, bytes });
        }
        is_named
    }

    /// Whoever looks next frees this block, which was in no index.
    pub(crate) fn free_later(&self, reference: u32, bytes: usize) {
        self.push(Given { reference, bytes });
    }

    /// The blocks that were given back and are not free yet: place, bytes.
    pub(crate) fn each_given(&self, mut visit: impl FnMut(usize, usize)) {
        let list = self.given.lock().expect("no holder panics");
        list.iter().for_each(|given| visit(given.reference as usize * 8, given.bytes));
    }

    /// Takes those whose leases have ended off the list.
    fn take_ended(&self) -> Vec<Given> {
        if self.waiting.load(Relaxed) == 0 {
            return Vec::new();
        }
        let mut list = self.given.lock().expect("no holder panics");
        let ended = list.extract_if(.., |given| !self.hazards.is_named(given.reference)).collect();
        self.waiting.store(list.len() as u64, Relaxed);
        ended
    }
}

impl<'s> Hazard<'s> {
    fn of(session: &'s Session, slot: usize, is_first: bool) -> Hazard<'s> {
        let hazard = Hazard { session, slot };
        if is_first {
            hazard.hazards().begin(hazard.owner());
        }
        hazard
    }

    fn hazards(&self) -> &'s Hazards {
        &self.session.engine().leases().hazards
    }

    fn owner(&self) -> usize {
        self.session.slot().index() as usize
    }

    fn name(&self, block: u32) {
        self.hazards().name(self.owner(), self.slot, block);
    }
}

impl Drop for Hazard<'_> {
    fn drop(&mut self) {
        self.hazards().empty(self.owner(), self.slot);
        if self.session.hazard_slots().give(self.slot) {
            self.hazards().end(self.owner());
        }
    }
}

impl Session {
    /// The bytes of a string where they lie, with what there is to know of it: they stay as they
    /// are whatever happens to the key. `None`: no such key, no string of bytes, fewer than
    /// [`LEASED_BYTES_MIN`], or [`LEASES_MAX`] leases live. Does not count as a use of the key.
    #[inline]
    pub fn lease(&self, db: Db, key: &Key<'_>, now: Millis) -> Option<(Found, Lease<'_>)> {
        let (slot, is_first) = self.hazard_slots().take()?;
        let hazard = Hazard::of(self, slot, is_first);
        let (found, at) = self.read(db, key, |hit| {
            let hit = hit.filter(|hit| !hit.item.is_due(now))?;
            let head = &hit.item.head;
            if !head.is_string() || head.is_int() || head.value_len < LEASED_BYTES_MIN {
                return None;
            }
            // Whether the index has it still is what the read ends with, after this.
            hazard.name((hit.item.at / 8) as u32);
            Some((hit.item.found(hit.line.meta(hit.slot)).0, hit.item.at + head.value_at()))
        })?;
        Some((found, Lease { at, len: found.len, hazard }))
    }

    /// A lease of a block that this session is about to put into the index. One at a time.
    pub(crate) fn lease_own(&self, reference: u32, at: usize, len: usize) -> Lease<'_> {
        debug_assert!(len >= LEASED_BYTES_MIN, "its block would be freed without a look");
        let hazard = Hazard::of(self, OWN, self.hazard_slots().take_own());
        hazard.name(reference);
        Lease { at, len, hazard }
    }

    /// A large block is to be freed. True: it will be when its leases have ended.
    #[cold]
    pub(crate) fn keeps_leased(&self, reference: u32, bytes: usize) -> bool {
        self.free_ended_leases();
        self.engine().leases().keep(reference, bytes)
    }

    /// Frees the blocks whose leases have ended after they were given back.
    pub(crate) fn free_ended_leases(&self) {
        for given in self.engine().leases().take_ended() {
            self.free_item(given.reference, given.bytes);
        }
    }
}

impl Lease<'_> {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the block was in the index, as a string, after it had been named, or was this
        // session's own then. While it is named, which it is until `hazard` is dropped, it is not
        // changed in place, nor freed when it is taken out of the index.
        unsafe { self.hazard.session.mem().lent(self.at, self.len) }
    }
}
