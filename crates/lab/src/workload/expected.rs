//! What a good reply to a request looks like, so that it is recognised without being parsed.
//!
//! ```text
//! RESP GET    $100 CRLF <100 bytes> CRLF
//! text get    VALUE key:000000000042 0 100 CRLF <100 bytes> CRLF END CRLF
//! meta get    VA 100 CRLF <100 bytes> CRLF
//! ```
//!
//! Where all keys have one width and all values one size, every good reply to an operation has one
//! length and begins with the same four bytes (not over binary and HTTP, whose heads vary from
//! server to server). A miss or an error begins otherwise. `generator/reply.rs` reads those, and
//! any reply in verify mode.

use super::wire::{Asking, push_key, push_number};
use super::{Operation, Protocol, value};

/// Bytes of a reply besides the value, at most: heads, the key, line ends.
pub const REPLY_AROUND_VALUE: usize = 320;

/// What every good reply to one operation looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyShape {
    pub len: usize,
    pub head: [u8; 4],
}

/// The good reply to a GET or SET, whole. Binary and HTTP have none that all servers share.
pub fn good_reply(operation: Operation, asking: Asking) -> Vec<u8> {
    let Asking { id, key_bytes, value_bytes, .. } = asking;
    let mut out = Vec::new();
    let get = operation != Operation::Set;
    match asking.protocol {
        Protocol::Resp | Protocol::Resp3 if get => {
            out.push(b'$');
            push_number(&mut out, value_bytes);
            out.extend_from_slice(b"\r\n");
            value::push(&mut out, id, value_bytes);
            out.extend_from_slice(b"\r\n");
        }
        Protocol::Resp | Protocol::Resp3 => out.extend_from_slice(b"+OK\r\n"),
        Protocol::Memcached if get => {
            out.extend_from_slice(b"VALUE ");
            push_key(&mut out, id, key_bytes);
            out.extend_from_slice(b" 0 ");
            push_number(&mut out, value_bytes);
            out.extend_from_slice(b"\r\n");
            value::push(&mut out, id, value_bytes);
            out.extend_from_slice(b"\r\nEND\r\n");
        }
        Protocol::Memcached => out.extend_from_slice(b"STORED\r\n"),
        Protocol::Meta if get => {
            out.extend_from_slice(b"VA ");
            push_number(&mut out, value_bytes);
            out.extend_from_slice(b"\r\n");
            value::push(&mut out, id, value_bytes);
            out.extend_from_slice(b"\r\n");
        }
        Protocol::Meta => out.extend_from_slice(b"HD\r\n"),
        Protocol::Binary | Protocol::Http => {}
    }
    out
}

/// Length and first bytes of every good reply to `operation` with these sizes.
pub fn reply_shape(operation: Operation, asking: Asking) -> ReplyShape {
    let reply = good_reply(operation, asking);
    let byte = |at: usize| reply.get(at).copied().unwrap_or(0);
    ReplyShape { len: reply.len(), head: [byte(0), byte(1), byte(2), byte(3)] }
}
