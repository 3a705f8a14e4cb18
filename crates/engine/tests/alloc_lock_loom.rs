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

mod sleep {
    use super::atomics::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};

    pub const SPIN_TURNS: u32 = 1;

    loom::lazy_static! {
        static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    pub fn sleep(word: &AtomicU32, value: u32) {
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
    loom::model(|| threads_add(2, 2));
}

#[test]
fn three_threads_exclude_each_other() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| threads_add(3, 1));
}

#[test]
fn trying_never_waits_and_never_shares() {
    loom::model(one_tries_while_another_holds);
}
