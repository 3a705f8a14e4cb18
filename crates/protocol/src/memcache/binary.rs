//! The place of Memcached's binary protocol.
//!
//! ```text
//!   0      1       2        4       5      6        8          12       16        24
//!   | 0x80 | opcode | key len | extra len | type | vbucket | body len | opaque | CAS | body
//! ```
//! Connections that begin with [`MAGIC_REQUEST`] are detected, so that a server can name the
//! reason when it closes them; requests are not read.

/// First byte of every request.
pub const MAGIC_REQUEST: u8 = 0x80;
