//! The Redis protocol, versions 2 and 3: requests in, replies out, and replies in for clients.
//!
//! ```text
//!   *2\r\n $3\r\n GET\r\n $1\r\n k\r\n      a request: count, then length and bytes, each argument
//!   GET k\r\n                               the same, typed by hand: an inline command
//! ```
//!
//! Error texts, limits and leniencies are those of Redis 7.0.15, because its own test suite and
//! its clients depend on them: a bulk's closing two bytes are skipped and not compared, a NUL
//! before a line's end hides that end, and lengths are read without leading zeros.

mod args;
mod double;
mod error;
mod header;
mod inline;
mod parse;
mod repeat;
pub mod reply;
mod value;
mod write;

pub use args::{ArgVec, Args, Few};
pub use error::ParseError;
pub use header::{BULK_END, bulk_header};
pub use parse::{Limits, ParseState, parse, parse_few, parse_repeat};
pub use repeat::Repeat;
pub use value::Value;
pub use write::{OpenArray, RespWriter, Version};
