//! A lock that is one u32 in the arena, so that any process that maps the arena can take it.
//!
//! ```text
//! 0 free    1 held    2 held, and somebody may sleep on it
//! ```
//!
//! Orderings: taking the lock (`Acquire` on the exchange that finds 0) pairs with giving it back
//! (`Release` on the exchange that stores 0). Everything written under the lock is therefore seen
//! by its next holder. No other ordering is promised to anybody.
//!
//! A sleeper looks again after 10 ms at the latest: a wake that got lost because its sender was
//! killed between the store and the system call delays, but cannot hang.

use super::atomics::{AtomicU32, Ordering, spin_turn};
use super::sleep::{SPIN_TURNS, sleep, wake_one};
use std::hint::cold_path;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Gives the lock back when dropped.
#[derive(Debug)]
#[must_use = "the lock is given back when this is dropped"]
pub struct Held<'a> {
    word: &'a AtomicU32,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        release(self.word);
    }
}

/// Takes the lock, and gives it back when the result is dropped.
#[inline(always)]
pub fn lock(word: &AtomicU32) -> Held<'_> {
    acquire(word);
    Held { word }
}

/// Takes the lock if that needs no waiting. For holders that span functions: pair it with
/// [`release`].
#[inline(always)]
pub fn try_acquire(word: &AtomicU32) -> bool {
    // Acquire: pairs with the Release in `release`.
    word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Takes the lock. For holders that span functions: pair it with [`release`].
#[inline(always)]
pub fn acquire(word: &AtomicU32) {
    if !try_acquire(word) {
        acquire_slow(word);
    }
}

/// Gives the lock back. The caller must hold it.
#[inline(always)]
pub fn release(word: &AtomicU32) {
    // Release: pairs with the Acquire of the next holder.
    let before = word.swap(FREE, Ordering::Release);
    debug_assert_ne!(before, FREE, "a lock that nobody held was given back");
    if before == CONTENDED {
        cold_path();
        wake_one(word);
    }
}

#[cold]
fn acquire_slow(word: &AtomicU32) {
    for _ in 0..SPIN_TURNS {
        spin_turn();
        match word.load(Ordering::Relaxed) {
            FREE if try_acquire(word) => return,
            CONTENDED => break,
            _ => {}
        }
    }
    // From here on we claim the lock as contended, also when we get it: we cannot know whether
    // others still sleep, and a needless wake is the price of never missing one.
    // Acquire: pairs with the Release in `release`.
    while word.swap(CONTENDED, Ordering::Acquire) != FREE {
        sleep(word, CONTENDED);
    }
}
