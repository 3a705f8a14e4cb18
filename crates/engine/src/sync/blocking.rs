//! The only place from which the engine takes locks that are private to the server's process.
//!
//! Under `--cfg shuttle` all tasks run on one thread, where waiting for a standard mutex would
//! wait for ever: a model needs locks that its scheduler knows.

#[cfg(not(shuttle))]
pub use std::sync::{Condvar, Mutex, MutexGuard, RwLock};

#[cfg(shuttle)]
pub use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock};
