//! Which blocks are being read where they lie: what decides whether a block that was taken out of
//! the index is free (`lease.rs`).
//!
//! ```text
//!   reader   finds the block    names it in a slot    is it still in the index? reads it ...  empties the slot
//!   writer   takes the block out of the index         is it named in a slot? then it is freed later
//! ```
//! The reader writes its slot and then looks at the index once more; the writer changes the index
//! and then looks at the slots. Between its two steps each has a sequentially consistent fence, so
//! that at least one of them sees the other: the writer leaves the block for later, or the reader
//! learns that it has come too late.
//!
//! Source: M. Michael, "Hazard pointers: safe memory reclamation for lock-free objects", IEEE TPDS
//! 15(6), 2004. Each session has slots of its own, so that naming a block takes no lock.

use crate::limits::HAZARDS_A_SESSION;
use crate::sync::atomics::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::sync::atomics::{AtomicU32, AtomicU64, fence};

#[derive(Debug)]
pub struct Hazards {
    naming: Naming,
    slots: Vec<Slots>,
}

/// Sessions with a block in a slot, a bit each: the others' slots need not be looked at. Written by
/// all of them, hence in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Naming(AtomicU64);

/// The slots of one session, 0 = empty, in cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
struct Slots([AtomicU32; HAZARDS_A_SESSION]);

impl Hazards {
    /// For up to 64 sessions.
    pub fn new(sessions: usize) -> Hazards {
        let slots = || Slots(std::array::from_fn(|_| AtomicU32::new(0)));
        Hazards { naming: Naming::default(), slots: (0..sessions).map(|_| slots()).collect() }
    }

    fn slot(&self, session: usize, slot: usize) -> &AtomicU32 {
        &self.slots[session].0[slot]
    }

    /// Before the first block that a session names.
    pub fn begin(&self, session: usize) {
        // Ordered before the look at the index by the fence in `name`.
        self.naming.0.fetch_or(1 << session, Relaxed);
    }

    /// The session is about to read this block, if the index still has it after this.
    #[inline]
    pub fn name(&self, session: usize, slot: usize, block: u32) {
        // Release: pairs with the Acquire in `is_named`, for the block that was named here before.
        self.slot(session, slot).store(block, Release);
        // Pairs with the fence in `is_named`.
        fence(SeqCst);
    }

    /// It does not read what it named there any more.
    #[inline]
    pub fn empty(&self, session: usize, slot: usize) {
        // Pairs with the Acquire in `is_named`: the reads come before the block is used again.
        self.slot(session, slot).store(0, Release);
    }

    /// After the last one was emptied.
    pub fn end(&self, session: usize) {
        // Pairs with the Acquire in `is_named`, as in `empty`.
        self.naming.0.fetch_and(!(1 << session), Release);
    }

    /// Whether somebody may read the block. Before, it was taken out of the index, or its shard was marked so that no
    /// read succeeds.
    pub fn is_named(&self, block: u32) -> bool {
        // Pairs with the fence in `name`.
        fence(SeqCst);
        let mut naming = self.naming.0.load(Acquire);
        while naming != 0 {
            let Slots(slots) = &self.slots[naming.trailing_zeros() as usize];
            if slots.iter().any(|slot| slot.load(Acquire) == block) {
                return true;
            }
            naming &= naming - 1;
        }
        false
    }
}
