//! Threads, sockets, configuration and statistics live here and nowhere else.
//!
//! ```text
//!   lifecycle    configuration -> listeners, engine, threads -> running -> stopped
//!   doors        the listeners that a configuration asks for
//!   reactor      one event loop a core: receive, parse, prefetch, run, send
//!   host         what commands ask of the server (CLIENT, CONFIG, INFO, SLOWLOG, pub/sub)
//!   housekeeping expiry, memory ahead of need, rates
//!   folder       what to say of a folder in which no file can be made
//!   heap         what the program says of its allocator
//! ```

pub mod aged;
pub mod attach;
mod beside;
pub mod budget;
pub mod clients;
pub mod clock;
pub mod config;
pub mod connection;
mod doors;
mod folder;
pub mod heap;
mod host;
pub mod housekeeping;
pub mod incoming;
mod leaving;
pub mod lifecycle;
pub mod limits;
pub mod listener;
pub mod logging;
pub mod mailbox;
pub mod memcached;
pub mod notify;
mod outlet;
pub mod pause;
pub mod process;
pub mod pubsub;
pub mod reactor;
pub mod server;
pub mod signals;
pub mod slowlog;
pub mod statistics;
pub mod tls;
pub mod transport;
mod waiting;

pub use lifecycle::{Running, StartFailure, read_config};
