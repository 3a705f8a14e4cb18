//! Atomics, sleeping and faults as the models see them: only under `--cfg shuttle`.
//!
//! Every access to an atomic first gives every other task a chance to run. Shuttle's own atomics
//! would do that too, but they cannot lie over a block of memory. These are the standard ones with
//! a scheduling point in front, so that a modelled arena is plain memory and costs as little as a
//! real one. Shuttle runs one task at a time: what is explored is interleavings, not weak memory
//! (for that see `tests/models_loom.rs`).
//!
//! All state here belongs to the thread of the test runner, on which all tasks of a model run.

use core::sync::atomic as real;
pub use core::sync::atomic::Ordering;
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// A step of the protocol that a model leaves out, to prove that it would be missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A read does not compare the versions of its lines.
    Version,
    /// A read does not look at the directory entry again.
    Entry,
    /// A read looks at the directory entry behind the versions, not before them.
    EntryFirst,
    /// A read does not look at the directory word again.
    Directory,
    /// A read does not look at the database's root again.
    Root,
    /// A read of several keys goes by versions alone, not by what others see.
    Shown,
    /// A read of several keys does not ask whether a write of several keys is under way.
    Several,
    /// A SET does not look, under the lock, whether the directory word is the one by which it found its way.
    WayDirectory,
    /// A SET does not look at the directory entry again either.
    WayEntry,
    /// A block is freed although it is leased.
    Leased,
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    /// Tasks that sleep on a word, by its address.
    static SLEEPERS: RefCell<Vec<(usize, shuttle::thread::Thread)>> = const { RefCell::new(Vec::new()) };
}

/// Runs `body` without a scheduling point: for what only one task can see yet, or any more.
pub fn quietly<R>(body: impl FnOnce() -> R) -> R {
    let before = QUIET.replace(true);
    let result = body();
    QUIET.set(before);
    result
}

/// Leaves a step out, in all that runs on this thread from now on.
pub fn leave_out(fault: Option<Fault>) {
    FAULT.set(fault);
}

/// Whether a step is left out.
pub fn is_left_out(fault: Fault) -> bool {
    FAULT.get() == Some(fault)
}

/// Forgets what a failed execution left behind.
pub fn begin() {
    QUIET.set(false);
    SLEEPERS.with_borrow_mut(Vec::clear);
}

/// Any other task may run now.
#[inline]
fn point() {
    if !QUIET.get() && !std::thread::panicking() {
        // Shuttle has no time: this is its bare switch, which (unlike a yield) asks for nothing.
        shuttle::thread::sleep(Duration::ZERO);
    }
}

/// A turn of a loop that waits for others.
pub fn yield_now() {
    shuttle::thread::yield_now();
}

/// One task at a time on one thread: there is nothing for a fence to order.
#[inline]
pub fn fence(_ordering: Ordering) {}

/// Sleeps while the word holds `expected`, until it is woken. Unlike the system's futex it has no
/// time limit, so that a lost wake-up is a deadlock, which shuttle reports.
pub fn futex_wait(word: &AtomicU32, expected: u32, _limit: Duration) {
    let at = std::ptr::from_ref(word) as usize;
    let me = shuttle::thread::current();
    if word.0.load(Ordering::SeqCst) != expected {
        return;
    }
    SLEEPERS.with_borrow_mut(|all| all.push((at, me.clone())));
    let asleep = || {
        SLEEPERS.with_borrow(|all| all.iter().any(|(on, task)| *on == at && task.id() == me.id()))
    };
    while asleep() {
        shuttle::thread::park();
    }
}

/// Wakes a task that sleeps on the word, if there is one.
pub fn futex_wake_one(word: &AtomicU32) {
    let at = std::ptr::from_ref(word) as usize;
    let woken = SLEEPERS.with_borrow_mut(|all| {
        let first = all.iter().position(|(on, _)| *on == at)?;
        Some(all.remove(first).1)
    });
    if let Some(task) = woken {
        task.unpark();
    }
}

macro_rules! modelled_integer {
    ($name:ident, $int:ty) => {
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name(real::$name);

        impl $name {
            pub const fn new(value: $int) -> Self {
                Self(real::$name::new(value))
            }

            /// # Safety
            /// As for the standard type's `from_ptr`.
            pub unsafe fn from_ptr<'a>(at: *mut $int) -> &'a Self {
                // SAFETY: the caller's promise; the type is transparent over the standard one,
                // which has the size of the integer, and the caller vouches for the alignment.
                unsafe { &*at.cast::<Self>() }
            }

            pub fn load(&self, ordering: Ordering) -> $int {
                point();
                self.0.load(ordering)
            }

            pub fn store(&self, value: $int, ordering: Ordering) {
                point();
                self.0.store(value, ordering);
            }

            pub fn swap(&self, value: $int, ordering: Ordering) -> $int {
                point();
                self.0.swap(value, ordering)
            }

            pub fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                point();
                self.0.compare_exchange(current, new, success, failure)
            }

            /// One step: shuttle's atomics, too, have no failure between load and store.
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                change: impl FnMut($int) -> Option<$int>,
            ) -> Result<$int, $int> {
                point();
                self.0.fetch_update(set, fetch, change)
            }

            pub fn fetch_add(&self, value: $int, ordering: Ordering) -> $int {
                point();
                self.0.fetch_add(value, ordering)
            }

            pub fn fetch_sub(&self, value: $int, ordering: Ordering) -> $int {
                point();
                self.0.fetch_sub(value, ordering)
            }

            pub fn fetch_and(&self, value: $int, ordering: Ordering) -> $int {
                point();
                self.0.fetch_and(value, ordering)
            }

            pub fn fetch_or(&self, value: $int, ordering: Ordering) -> $int {
                point();
                self.0.fetch_or(value, ordering)
            }
        }
    };
}

modelled_integer!(AtomicU32, u32);
modelled_integer!(AtomicU64, u64);

#[derive(Debug, Default)]
pub struct AtomicBool(real::AtomicBool);

impl AtomicBool {
    pub const fn new(value: bool) -> Self {
        Self(real::AtomicBool::new(value))
    }

    pub fn load(&self, ordering: Ordering) -> bool {
        point();
        self.0.load(ordering)
    }

    pub fn store(&self, value: bool, ordering: Ordering) {
        point();
        self.0.store(value, ordering);
    }

    pub fn swap(&self, value: bool, ordering: Ordering) -> bool {
        point();
        self.0.swap(value, ordering)
    }
}
