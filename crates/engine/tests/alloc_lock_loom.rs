//! The arena's lock under loom: every order of its accesses that the memory model allows.
//!
//! The lock's own source is compiled here once more over the checker's atomics, and sleeps in a
//! condition variable that behaves as a futex does: it compares under a lock that a waker takes.
// The checker switches stacks, which Miri does not know.
#![cfg(not(miri))]
#![allow(dead_code)]

#[path = "../src/sync/lock.rs"]
mod lock;
#[path = "alloc_lock_models/scenarios.rs"]
mod scenarios;

mod atomics {
    pub use loom::sync::atomic::{AtomicU32, Ordering};

    pub fn spin_turn() {
        loom::thread::yield_now();
    }
}

/// What the two halves are for, as fences that the checker knows.
mod asymmetric {
    use super::atomics::Ordering;
    use loom::sync::atomic::fence;

    thread_local! {
        /// The step that a control leaves out. The checker runs all its threads on this one.
        pub static WITHOUT_FENCE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    pub fn light() {
        if !WITHOUT_FENCE.get() {
            // SeqCst: the partner is `heavy`.
            fence(Ordering::SeqCst);
        }
    }

    pub fn heavy() -> bool {
        // SeqCst: the partner is `light`.
        fence(Ordering::SeqCst);
        true
    }
}

mod sleep {
    use super::atomics::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};
    use std::time::Duration;

    pub const SPIN_TURNS: u32 = 1;
    // Nobody looks again here: a wake that gets lost is a deadlock.
    pub const LIMIT: Duration = Duration::ZERO;
    pub const LIMIT_UNORDERED: Duration = Duration::ZERO;

    loom::lazy_static! {
        static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    pub fn sleep(word: &AtomicU32, value: u32, _limit: Duration) {
        let held = QUEUE.0.lock().unwrap();
        if word.load(Ordering::Relaxed) == value {
            drop(QUEUE.1.wait(held).unwrap());
        }
    }

    pub fn wake_one(_word: &AtomicU32) {
        let _held = QUEUE.0.lock().unwrap();
        QUEUE.1.notify_one();
    }
}

use loom::sync::Arc;
use loom::thread;
use scenarios::{one_tries_while_another_holds, threads_add};

#[test]
fn two_threads_exclude_each_other_and_nobody_sleeps_for_ever() {
    loom::model(|| threads_add(2, 1));
}

/// Whoever sleeps for a second time may take for news what was said to him the first time. Six
/// preemptions are enough for `asleep` set by a plain store to fail; all of them take long.
#[test]
fn two_threads_that_come_again_exclude_each_other() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(8);
    builder.check(|| threads_add(2, 2));
}

#[test]
fn three_threads_exclude_each_other() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| threads_add(3, 1));
}

/// The control: with nothing between the store and the look, whoever lay down meanwhile is not seen.
#[test]
#[should_panic = "deadlock"]
fn without_the_fence_somebody_sleeps_for_ever() {
    // No `Arc`: the checker's own cannot be dropped while it unwinds.
    loom::lazy_static! {
        static ref WORDS: [atomics::AtomicU32; 2] =
            [atomics::AtomicU32::new(0), atomics::AtomicU32::new(0)];
    }
    fn once() {
        let lock = lock::Lock { word: &WORDS[0], asleep: &WORDS[1] };
        lock.acquire();
        lock.release();
    }
    asymmetric::WITHOUT_FENCE.set(true);
    loom::model(|| {
        let other = thread::spawn(once);
        once();
        other.join().unwrap();
    });
}

#[test]
fn trying_never_waits_and_never_shares() {
    loom::model(one_tries_while_another_holds);
}
