//! Local processes attach here: they get the arena to read, and a ring for everything else.
//!
//! ```text
//!   door      the attach socket: permission, a ring of its own for each client, descriptors
//!   knocker   who has connected and not said hello yet
//!   port      the ring as an event loop sees it: bytes in, bytes out, a doorbell
//!   publish   counters and latencies, put into the arena for them to read
//! ```
//!
//! To the event loops a ring is a connection like any other: the same parser, commands, limits and
//! end. The server trusts nothing in it (see the engine's `ring`), and a client that dies leaves a
//! closed socket, which ends its connection as every other's.

mod door;
mod knocker;
mod port;
pub mod publish;

pub use door::AttachDoor;
