//! What must hold of the lock in every schedule. The file that takes it in says which checker runs.
//!
//! There is no timeout in the models: a wake that gets lost is a deadlock, and the checker says so.

use crate::atomics::{AtomicU32, Ordering};
use crate::lock::Lock;
use crate::{Arc, thread};

/// Two halves of a value that nobody may see apart.
struct Pair {
    word: AtomicU32,
    asleep: AtomicU32,
    left: AtomicU32,
    right: AtomicU32,
}

impl Pair {
    fn new() -> Pair {
        let zero = || AtomicU32::new(0);
        Pair { word: zero(), asleep: zero(), left: zero(), right: zero() }
    }

    fn lock(&self) -> Lock<'_> {
        Lock { word: &self.word, asleep: &self.asleep }
    }

    /// Relaxed on purpose: what orders these is the lock alone.
    fn add_one(&self) {
        let left = self.left.load(Ordering::Relaxed);
        assert_eq!(left, self.right.load(Ordering::Relaxed), "seen in between");
        self.left.store(left + 1, Ordering::Relaxed);
        self.right.store(left + 1, Ordering::Relaxed);
    }
}

pub fn threads_add(threads: u32, rounds: u32) {
    let pair = Arc::new(Pair::new());
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let pair = pair.clone();
            thread::spawn(move || {
                for _ in 0..rounds {
                    let _held = pair.lock().hold();
                    pair.add_one();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    let _held = pair.lock().hold();
    assert_eq!(pair.left.load(Ordering::Relaxed), threads * rounds);
}

pub fn one_tries_while_another_holds() {
    let pair = Arc::new(Pair::new());
    let other = pair.clone();
    let worker = thread::spawn(move || {
        if other.lock().try_acquire() {
            other.add_one();
            other.lock().release();
            1
        } else {
            0
        }
    });
    pair.lock().acquire();
    pair.add_one();
    pair.lock().release();
    let tried = worker.join().unwrap();
    let _held = pair.lock().hold();
    assert_eq!(pair.left.load(Ordering::Relaxed), 1 + tried);
}
