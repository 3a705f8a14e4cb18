//! What commands mean, as tables over the engine's verbs.
//!
//! Nothing here opens a socket, reads a clock or keeps a thread: a front end parses a request,
//! [`dispatch::prepare`]s it, prefetches what it names and [`dispatch::run`]s it in a
//! [`context::Context`]. What only a server can do (configuration, other clients, pub/sub,
//! statistics) is asked of its [`host::Host`].

pub mod connection;
pub mod context;
pub mod dispatch;
pub mod foretold;
pub mod host;
pub mod http;
pub mod limits;
pub mod memcache;
pub mod outlet;
mod packed;
pub mod redis;
pub mod rows;
