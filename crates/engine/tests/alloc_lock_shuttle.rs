//! The arena's lock under shuttle: random schedules of cases that are too large for loom.
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
    pub use shuttle::sync::atomic::{AtomicU32, Ordering};

    pub fn spin_turn() {
        shuttle::thread::yield_now();
    }
}

/// One task at a time: there is nothing for a fence to order.
mod asymmetric {
    pub fn light() {}

    pub fn heavy() -> bool {
        true
    }
}

mod sleep {
    use super::atomics::{AtomicU32, Ordering};
    use shuttle::sync::{Condvar, Mutex};
    use std::time::Duration;

    pub const SPIN_TURNS: u32 = 1;
    // Nobody looks again here: a wake that gets lost is a deadlock.
    pub const LIMIT: Duration = Duration::ZERO;
    pub const LIMIT_UNORDERED: Duration = Duration::ZERO;

    shuttle::lazy_static! {
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

use scenarios::{one_tries_while_another_holds, threads_add};
use shuttle::sync::Arc;
use shuttle::thread;

/// How many schedules of each; `DOLIUM_SCHEDULES` says otherwise.
const SCHEDULES: usize = 20_000;

fn some_schedules(body: impl Fn() + Send + Sync + 'static) {
    let schedules = std::env::var("DOLIUM_SCHEDULES").ok().and_then(|n| n.parse().ok());
    shuttle::check_random(body, schedules.unwrap_or(SCHEDULES));
}

#[test]
fn five_threads_exclude_each_other_and_nobody_sleeps_for_ever() {
    some_schedules(|| threads_add(5, 3));
}

#[test]
fn trying_never_waits_and_never_shares() {
    some_schedules(one_tries_while_another_holds);
}
