//! The only place from which the engine takes locks that are private to the server's process.
//!
//! Under `--cfg shuttle` all tasks run on one thread, where waiting for a standard mutex would
//! wait for ever: a model needs locks that its scheduler knows.

#[cfg(not(shuttle))]
pub use std::sync::{Condvar, Mutex, RwLock};

// Only ever initialised by a function that takes no step which a model could interrupt.
pub use std::sync::OnceLock;

#[cfg(shuttle)]
pub use shuttle::sync::{Condvar, Mutex, RwLock};
