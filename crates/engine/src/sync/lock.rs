//! A lock of two u32 words in the arena.
//!
//! ```text
//! word     0 free    1 held
//! asleep   0 nobody to call    1 somebody may sleep until the word is free
//! ```
//!
//! A SET takes one and gives it back, so both must cost little. To take it needs an exchange, for
//! which a processor ends all that it has begun. To give it back needs none: it is a plain store,
//! after which the holder looks whether somebody sleeps.
//!
//! ```text
//! holder    word = 0     light()   asleep 1? -> asleep = 0, wake one
//! sleeper   asleep = 1   heavy()   word 0?   -> take it; else sleep while asleep is 1
//! ```
//!
//! One of the two sees what the other wrote (`asymmetric.rs`), so nobody sleeps beside a free lock whose
//! last holder has not seen him. He sleeps on `asleep`, not on the word: one who is called before he
//! has fallen asleep, by a holder after whom another has taken the lock already, would miss his call.
//!
//! Orderings: taking the lock (`Acquire` on the exchange that finds 0) pairs with giving it back
//! (`Release` on the store of 0). Everything written under the lock is therefore seen by its next
//! holder. No other ordering is promised to anybody; giving it back is no fence.
//!
//! A sleeper looks again after 10 ms at the latest: a wake that got lost because its sender was
//! killed between the store and the system call delays, but cannot hang. Where the system has no
//! heavy half, wakes do get lost now and then, and a sleeper looks again after one millisecond.

use super::asymmetric::{heavy, light};
use super::atomics::{AtomicU32, Ordering, spin_turn};
use super::sleep::{LIMIT, LIMIT_UNORDERED, SPIN_TURNS, sleep, wake_one};
use std::hint::cold_path;

const FREE: u32 = 0;
const HELD: u32 = 1;
const NOBODY: u32 = 0;
const SOMEBODY: u32 = 1;

/// A lock, by its words.
#[derive(Clone, Copy, Debug)]
pub struct Lock<'a> {
    pub word: &'a AtomicU32,
    pub asleep: &'a AtomicU32,
}

/// Gives the lock back when dropped.
#[derive(Debug)]
#[must_use = "the lock is given back when this is dropped"]
pub struct Held<'a> {
    lock: Lock<'a>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.release();
    }
}

impl<'a> Lock<'a> {
    /// Takes the lock, and gives it back when the result is dropped.
    #[inline(always)]
    pub fn hold(self) -> Held<'a> {
        self.acquire();
        Held { lock: self }
    }

    /// Takes the lock if that needs no waiting. For holders that span functions: pair it with
    /// [`Lock::release`].
    #[inline(always)]
    pub fn try_acquire(self) -> bool {
        // Acquire: pairs with the Release in `release`.
        self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock. For holders that span functions: pair it with [`Lock::release`].
    #[inline(always)]
    pub fn acquire(self) {
        if !self.try_acquire() {
            self.acquire_slow();
        }
    }

    /// Gives the lock back. The caller must hold it.
    #[inline(always)]
    pub fn release(self) {
        debug_assert_eq!(
            self.word.load(Ordering::Relaxed),
            HELD,
            "a lock that nobody held was given back"
        );
        // Release: pairs with the Acquire of the next holder.
        self.word.store(FREE, Ordering::Release);
        // Pairs with the heavy half in `acquire_slow`.
        light();
        if self.asleep.load(Ordering::Relaxed) != NOBODY {
            cold_path();
            self.call();
        }
    }

    /// Wakes one of those who sleep. He says again that somebody may sleep, before he looks, so that
    /// the next one is called when he gives the lock back; until then nobody calls in vain.
    #[cold]
    #[inline(never)]
    fn call(self) {
        // Release: pairs with the Acquire in `acquire_slow`.
        if self.asleep.swap(NOBODY, Ordering::Release) != NOBODY {
            wake_one(self.asleep);
        }
    }

    #[cold]
    #[inline(never)]
    fn acquire_slow(self) {
        for _ in 0..SPIN_TURNS {
            spin_turn();
            if self.word.load(Ordering::Relaxed) == FREE {
                if self.try_acquire() {
                    return;
                }
            } else if self.asleep.load(Ordering::Relaxed) != NOBODY {
                break;
            }
        }
        loop {
            // Also when we take the lock at once: we cannot know whether others still sleep, and a
            // needless wake is the price of never missing one.
            // Acquire: pairs with the Release in `call`. What is said here comes behind what was taken back
            // there, so that the fence below shows a holder this and nothing older.
            self.asleep.swap(SOMEBODY, Ordering::Acquire);
            // Pairs with the light half in `release`.
            let limit = if heavy() { LIMIT } else { LIMIT_UNORDERED };
            if self.try_acquire() {
                return;
            }
            sleep(self.asleep, SOMEBODY, limit);
        }
    }
}
