//! One parsed request of any protocol, as a batch keeps it.

use dolium_commands::dispatch::Prepared;
use dolium_protocol::http::HttpError;
use dolium_protocol::memcache::Refusal;
use dolium_protocol::resp::ParseError;

#[derive(Clone, Copy)]
pub enum Request {
    Redis(Prepared),
    /// Borrows its input, so it is read again when it runs: a line at most, and in the cache.
    Memcache {
        is_write: bool,
        /// It is refused, and its data block is being skipped.
        is_skipped: bool,
    },
    /// Borrows its input, too.
    MemcacheBinary {
        is_write: bool,
    },
    /// A store of either protocol whose value lies in its item already (`Connection::incoming`);
    /// in the input is what ended it.
    Received,
    /// As `Memcache`.
    Http {
        is_write: bool,
    },
    /// An HTTP client waits to be asked for the body.
    Continue,
    /// What came is not the protocol: answered in its turn, then the connection is closed.
    Broken(Broken),
}

#[derive(Clone, Copy)]
pub enum Broken {
    Resp(ParseError),
    Memcache(Option<Refusal>),
    Http(HttpError),
    /// A line of a web request among Redis' commands: an attack, and none of it is answered.
    WebRequest,
    /// More replies than a Memcached client may have under way: none is sent.
    Overflow,
}
