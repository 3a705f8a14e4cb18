//! The Redis commands: one row each, the functions beside their family.

pub mod error;
pub mod row;
pub mod transaction;
