//! Commands that work on keys whatever their type.

pub mod beside;
pub mod deadline;
pub mod delete;
pub mod expire;
pub mod iterate;
pub mod object;
pub mod presence;
pub mod relocate;
