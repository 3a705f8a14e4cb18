//! A local process on the arena: the same verbs, without the server.
//!
//! ```text
//!   get, get_many, exists, ttl, kind, scan, counters  ->  the arena itself, mapped read-only
//!   execute, execute_many (every command there is)    ->  a ring to the server, and back
//! ```
//!
//! A read costs about two cache misses. It makes no system call and needs nothing of the server,
//! not even that it runs: who attached before a server was stopped or killed reads on in what it
//! left. It does not notice either: [`Store::is_served`] says whether the server is there. Where it is not,
//! [`Store::attach`] once more has the memory of the one that came after it. What a server leaves takes
//! memory until the last process that has attached to it drops its store or ends.
//!
//! At most 256 processes can be attached to a server at once, as each has a ring. A program of many
//! processes that only read attaches before it forks: children read on in what their parent has mapped.
//!
//! ```no_run
//! let store = dolium_attach::Store::attach("/run/user/1000/dolium.attach")?;
//! store.execute(&[b"SET", b"greeting", b"salve"])?;
//! assert_eq!(store.get(b"greeting")?.as_deref(), Some(&b"salve"[..]));
//! # Ok::<(), dolium_attach::Error>(())
//! ```

mod ask;
mod batch;
mod channel;
mod clock;
mod connect;
mod error;
pub mod limits;
mod link;
mod pairs;
mod socket;
mod standing;
mod statistics;
mod store;
mod usual;

pub use clock::Clock;
pub use dolium_engine::alloc::statistics::Histogram;
pub use dolium_engine::{Found, Kind, Millis};
pub use dolium_protocol::resp::Value;
pub use error::Error;
pub use socket::Socket;
pub use statistics::Counters;
pub use store::{Store, Ttl};
pub use usual::default_path;
