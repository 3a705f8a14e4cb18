//! The only place from which the engine takes atomic types.
//!
//! A build with `--cfg shuttle` swaps them for modelled ones, so that a model checker sees every
//! access that the real code makes (`tests/models_*`). Small models compile a module's own source
//! once more with a model checker's types in this place (`tests/*_loom`, `*_shuttle`). A given word is always accessed at one width: mixed-size
//! atomics have no meaning in the memory model that Rust shares with C11.

#[cfg(not(shuttle))]
pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// For a fence of which the processor is told by other means (`asymmetric.rs`).
#[cfg(not(any(miri, shuttle)))]
pub use core::sync::atomic::compiler_fence;

#[cfg(shuttle)]
pub use super::modelled::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// One turn of a spin loop; in a model, a chance for every other task.
#[inline]
pub fn spin_turn() {
    #[cfg(not(any(shuttle, miri)))]
    core::hint::spin_loop();
    #[cfg(miri)]
    std::thread::yield_now();
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
}

/// Lets other threads run: for who has waited for longer than a few turns.
#[inline]
pub fn yield_turn() {
    #[cfg(not(shuttle))]
    std::thread::yield_now();
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
}
