//! How a thread waits for a word to change: spinning a little, then in the system's futex.
//!
//! Kept apart from the lock so that a model can put its own waiting here. The futex is a shared
//! one: the word may be mapped at another address by whoever wakes us.

#[cfg(not(shuttle))]
use super::atomics::AtomicU32;
use std::time::Duration;

/// After so long who sleeps on a lock looks again, should his wake have got lost with whoever sent it.
pub const LIMIT: Duration = Duration::from_millis(10);
/// The same where the system cannot order a sleeper and the lock's holder, and wakes get lost.
pub const LIMIT_UNORDERED: Duration = Duration::from_millis(1);

/// Turns to spin before sleeping. Critical sections are mostly shorter than a sleep and a wake.
pub const SPIN_TURNS: u32 = if cfg!(miri) {
    1
} else if cfg!(shuttle) {
    0
} else {
    100
};

/// Sleeps while the word has this value, until woken, for `limit` at most. Every outcome (woken,
/// value changed, timeout, signal) means the same: look again.
#[cfg(not(any(miri, shuttle)))]
pub fn sleep(word: &AtomicU32, value: u32, limit: Duration) {
    use rustix::thread::futex;
    let limit = futex::Timespec { tv_sec: 0, tv_nsec: limit.as_nanos() as i64 };
    let _ = futex::wait(word, futex::Flags::empty(), value, Some(&limit));
}

/// Wakes one thread that sleeps on the word.
#[cold]
#[cfg(not(any(miri, shuttle)))]
pub fn wake_one(word: &AtomicU32) {
    use rustix::thread::futex;
    // It fails only for a word that is not mapped, which a reference excludes.
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// Miri has no futex of ours; there a sleeper is one that lets the others run.
#[cfg(all(miri, not(shuttle)))]
pub fn sleep(_word: &AtomicU32, _value: u32, _limit: Duration) {
    std::thread::yield_now();
}

#[cfg(all(miri, not(shuttle)))]
pub fn wake_one(_word: &AtomicU32) {}

#[cfg(shuttle)]
pub use super::modelled::{futex_wait as sleep, futex_wake_one as wake_one};
