//! Strings that are read where they lie, without a lock.
//!
//! A large value is worth showing to a socket instead of copying it first. The store never changes
//! the bytes of a string in place: a write puts another block into the index and frees the old one.
//! So it is enough that a leased block is not freed before its lease ends.
//!
//! ```text
//!   lease       under the shard's lock: the block is in the index, and goes on the list
//!   replaced    the writer would free it, finds it on the list, and leaves it there as given back
//!   lease ends  it leaves the list; given back meanwhile, it is freed by the next who looks
//! ```
//! Both sides meet under the shard's lock: a lease is made only of a block that is in the index, and
//! a block is given back only by who has just taken it out of the index under that lock, or later.
//! Who waits for memory may wait for leases: they must be short, and few.

use crate::engine::Engine;
use crate::session::Session;
use crate::sync::blocking::{Mutex, MutexGuard};
use std::sync::Arc;

/// Smallest value of which there are leases: blocks of fewer bytes are freed without a look at the
/// list.
pub const LEASED_BYTES_MIN: usize = if cfg!(shuttle) { 32 } else { 8 * 1024 };

/// A string's bytes, which stay as they are for as long as this lives.
#[derive(Debug)]
pub struct Lease {
    engine: Arc<Engine>,
    reference: u32,
    at: usize,
    len: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    lent: Vec<Lent>,
    /// Blocks whose leases have ended after they were given back, and those of values that have not
    /// come, with their bytes.
    ended: Vec<(u32, usize)>,
}

#[derive(Debug)]
struct Lent {
    reference: u32,
    leases: u32,
    /// Its bytes, once it has been given back.
    given: Option<usize>,
}

impl Leases {
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().expect("no holder panics")
    }

    /// Whether the block is leased: then it is freed later.
    fn keep(&self, reference: u32, bytes: usize) -> bool {
        #[cfg(shuttle)]
        if crate::sync::modelled::is_left_out(crate::sync::modelled::Fault::Leased) {
            return false;
        }
        let mut list = self.list();
        let Some(lent) = list.lent.iter_mut().find(|lent| lent.reference == reference) else {
            return false;
        };
        debug_assert!(lent.given.is_none(), "a block was given back twice");
        lent.given = Some(bytes);
        true
    }

    fn begin(&self, reference: u32) {
        let mut list = self.list();
        match list.lent.iter_mut().find(|lent| lent.reference == reference) {
            Some(lent) => lent.leases += 1,
            None => list.lent.push(Lent { reference, leases: 1, given: None }),
        }
    }

    fn end(&self, reference: u32) {
        let mut list = self.list();
        let at = list.lent.iter().position(|lent| lent.reference == reference);
        let at = at.expect("a lease is on the list until it ends");
        list.lent[at].leases -= 1;
        if list.lent[at].leases == 0
            && let Some(bytes) = list.lent.swap_remove(at).given
        {
            list.ended.push((reference, bytes));
        }
    }
}

impl Leases {
    /// Whoever looks next frees this block.
    pub(crate) fn free_later(&self, reference: u32, bytes: usize) {
        self.list().ended.push((reference, bytes));
    }
}

impl Session {
    /// A lease of a block that is in the index; the caller holds the lock of its shard.
    pub(crate) fn lease(&self, reference: u32, at: usize, len: usize) -> Lease {
        debug_assert!(len >= LEASED_BYTES_MIN, "its block would be freed without a look");
        self.engine().leases().begin(reference);
        Lease { engine: self.engine().clone(), reference, at, len }
    }

    /// A large block is to be freed. True: its lease's end will do that.
    #[cold]
    pub(crate) fn keeps_leased(&self, reference: u32, bytes: usize) -> bool {
        self.free_ended_leases();
        self.engine().leases().keep(reference, bytes)
    }

    /// Frees the blocks whose leases have ended after they were given back.
    pub(crate) fn free_ended_leases(&self) {
        let ended = std::mem::take(&mut self.engine().leases().list().ended);
        for (reference, bytes) in ended {
            self.free_item(reference, bytes);
        }
    }
}

impl Lease {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the block was in the index, as a string, when the lease was made under its shard's
        // lock. Strings are not changed in place, and the block is not freed while it is on the
        // list of leases, from which only `drop` takes this one.
        unsafe { self.engine.mem().lent(self.at, self.len) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.engine.leases().end(self.reference);
    }
}
