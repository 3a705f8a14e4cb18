//! Memcached's binary protocol.
//!
//! ```text
//!   0      1        2         4         5      6         8          12       16       24
//!   | 0x80 | opcode | key len | ext len | type | vbucket | body len | opaque | unique | body
//!   | 0x81 | opcode | key len | ext len | type | status  | body len | opaque | unique | body
//!                                                            body = extras | key | value
//! ```
//! Half of the opcodes are quiet: they answer only what is out of the ordinary (a hit, an error).
//! Which statuses and texts answer what is Memcached 1.6.18's.

mod opcode;
mod parse;
pub mod status;
mod write;

pub use opcode::Operation;
pub use parse::{Announced, Parsed, Request, announced, parse};
pub use status::Status;
pub use write::{header, response};

/// First byte of every request.
pub const MAGIC_REQUEST: u8 = 0x80;
/// First byte of every response.
pub const MAGIC_RESPONSE: u8 = 0x81;
/// Bytes of a header.
pub const HEADER_BYTES: usize = 24;
