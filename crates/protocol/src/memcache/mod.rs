//! The Memcached protocols: classic text commands and meta commands share one line grammar and
//! one connection; the binary protocol is in `binary`.
//!
//! ```text
//!   set key 0 60 5\r\n value\r\n       verb, key, flags, time to live, length; then the data block
//!   get key key2\r\n                    verb, keys
//!   mg key t v\r\n                      meta verb, key, one-letter flags
//! ```
//! Refusals, limits and leniencies are those of Memcached 1.6.18. Two differences, both on the
//! side of keeping data whole: client flags that do not fit are refused where Memcached would cut
//! their upper bits off, and base64 must be well formed where Memcached skips what it cannot read.

mod apart;
mod base64;
pub mod binary;
mod line;
mod login;
pub mod meta;
mod parse;
mod refusal;
mod short;
pub mod text;
pub mod write;

pub use apart::{Announced, announced, received};
pub use line::{Keys, Words, negated};
pub use login::parse_login;
pub use parse::{BLOCK_END, Limits, ParseState, Parsed, Request, parse};
pub use refusal::Refusal;
