//! The only place from which the engine takes atomic types.
//!
//! Models compile a module's own source once more with a model checker's types in this place (see
//! the tests whose names end in `_loom` and `_shuttle`), so that the checker sees every access
//! that the real code makes. A given word is always accessed at one width: mixed-size atomics
//! have no meaning in the memory model that Rust shares with C11.

pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// One turn of a spin loop; under a model checker, a chance for every other thread.
#[inline]
pub fn spin_turn() {
    core::hint::spin_loop();
}
