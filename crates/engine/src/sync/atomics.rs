//! The only place from which the engine takes atomic types.
//!
//! A build with `--cfg loom` or `--cfg shuttle` swaps them for a model checker's, so that the
//! checker sees every access that the real code makes. A given word is always accessed at one
//! width: mixed-size atomics have no meaning in the memory model that Rust shares with C11.

#[cfg(not(any(loom, shuttle)))]
pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(all(shuttle, not(loom)))]
pub use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// One turn of a spin loop; under a model checker, a chance for every other thread.
#[inline]
pub fn spin_turn() {
    #[cfg(not(any(loom, shuttle)))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(all(shuttle, not(loom)))]
    shuttle::thread::yield_now();
}
