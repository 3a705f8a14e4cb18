//! What threads and processes meet on: the engine's atomics and its lock.

pub mod asymmetric;
pub mod atomics;
pub mod blocking;
pub mod lock;
#[cfg(shuttle)]
pub mod modelled;
pub mod sleep;
