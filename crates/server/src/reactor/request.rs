//! One parsed request of any protocol, as a batch keeps it.

use dolium_commands::dispatch::Prepared;
use dolium_protocol::memcache::Refusal;
use dolium_protocol::resp::ParseError;

#[derive(Clone, Copy)]
pub enum Request {
    Redis(Prepared),
    /// Borrows its input, so it is read again when it runs: a line at most, and in the cache.
    Memcache {
        is_write: bool,
    },
    /// What came is not the protocol: answered in its turn, then the connection is closed.
    Broken(ParseError),
    BrokenMemcache(Option<Refusal>),
    /// The peer speaks something that no door understands.
    Unsupported,
}
