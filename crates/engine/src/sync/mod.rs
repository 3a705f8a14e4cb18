//! What threads and processes meet on: the engine's atomics and its lock.

pub mod atomics;
pub mod lock;
pub mod sleep;
