//! The store: one shared arena, no socket, no thread, no clock, no random number.

mod engine;
pub mod limits;
mod verbs;

pub use engine::*;
pub use verbs::*;
