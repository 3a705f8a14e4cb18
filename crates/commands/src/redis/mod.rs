//! The Redis commands: one row each, the functions beside their family.

pub(crate) mod again;
mod bits;
pub mod error;
mod expiry;
pub mod glob;
mod growth;
mod help;
pub(crate) mod keeping;
mod long_double;
pub mod number;
mod results;
pub mod room;
pub mod row;
pub mod table;
pub(crate) mod taken;

mod collection;
mod connection;
pub mod exec;
mod key;
pub mod list;
mod pubsub;
mod server;
mod set;
pub(crate) mod string;
pub mod transaction;

pub mod notifications;
pub mod page;
pub mod slow_arguments;

pub use pubsub::message;
pub use pubsub::subscribe::leave_all;

/// The version of Redis whose behaviour is followed: what HELLO and INFO tell clients.
pub const REDIS_VERSION: &str = "7.0.15";
pub const DOLIUM_VERSION: &str = env!("CARGO_PKG_VERSION");
