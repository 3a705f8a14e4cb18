//! The bytes of one request, and how to recognise its reply without parsing it.
//!
//! ```text
//! RESP GET    *2 CRLF $3 CRLF GET CRLF $16 CRLF key:000000000042 CRLF
//!      reply  $100 CRLF <100 bytes> CRLF
//! text get    get key:000000000042 CRLF
//!      reply  VALUE key:000000000042 0 100 CRLF <100 bytes> CRLF END CRLF
//! ```
//!
//! All keys have one width and all values one size, so every good reply to an operation has one
//! length and begins with the same four bytes. A miss or an error begins otherwise.

use std::str::FromStr;

use serde::Serialize;

use super::{Operation, value};
use crate::LabError;

/// Key numbers stay below this: the top bit of a request's word marks a SET.
pub const KEY_IDS: u32 = 1 << 31;

/// Which of the two protocols the generator speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// RESP2, as Redis speaks it.
    Resp,
    /// Memcached's text protocol.
    Memcached,
}

impl FromStr for Protocol {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        match text {
            "resp" | "redis" => Ok(Self::Resp),
            "memcached" | "text" => Ok(Self::Memcached),
            other => {
                Err(LabError::Options(format!("unknown protocol {other:?}: use resp or memcached")))
            }
        }
    }
}

/// What every good reply to one operation looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyShape {
    pub len: usize,
    pub head: [u8; 4],
}

/// Appends the key numbered `id`: `key:` and zeros before the digits, cut to the width.
pub fn push_key(out: &mut Vec<u8>, id: u32, width: usize) {
    let start = out.len();
    out.resize(start + width, b'0');
    let key = &mut out[start..];
    let mut rest = id;
    let mut at = width;
    while at > 0 && (rest > 0 || at == width) {
        at -= 1;
        key[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The prefix is decoration; it gives way where a narrow key needs its bytes for digits.
    const PREFIX: &[u8] = b"key:";
    const DIGITS: usize = 10;
    if width >= PREFIX.len() + DIGITS {
        key[..PREFIX.len()].copy_from_slice(PREFIX);
    }
}

/// Appends one request.
pub fn push_request(
    out: &mut Vec<u8>,
    protocol: Protocol,
    operation: Operation,
    id: u32,
    key_bytes: usize,
    value_bytes: usize,
) {
    match (protocol, operation) {
        (Protocol::Resp, Operation::Get) => {
            out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n$");
            push_number(out, key_bytes);
            out.extend_from_slice(b"\r\n");
            push_key(out, id, key_bytes);
        }
        (Protocol::Resp, Operation::Set) => {
            out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n$");
            push_number(out, key_bytes);
            out.extend_from_slice(b"\r\n");
            push_key(out, id, key_bytes);
            out.extend_from_slice(b"\r\n$");
            push_number(out, value_bytes);
            out.extend_from_slice(b"\r\n");
            value::push(out, id, value_bytes);
        }
        (Protocol::Memcached, Operation::Get) => {
            out.extend_from_slice(b"get ");
            push_key(out, id, key_bytes);
        }
        (Protocol::Memcached, Operation::Set) => {
            out.extend_from_slice(b"set ");
            push_key(out, id, key_bytes);
            out.extend_from_slice(b" 0 0 ");
            push_number(out, value_bytes);
            out.extend_from_slice(b"\r\n");
            value::push(out, id, value_bytes);
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// The good reply to a request for key `id`, whole.
pub fn good_reply(
    protocol: Protocol,
    operation: Operation,
    id: u32,
    key_bytes: usize,
    value_bytes: usize,
) -> Vec<u8> {
    let mut out = Vec::new();
    match (protocol, operation) {
        (Protocol::Resp, Operation::Get) => {
            out.push(b'$');
            push_number(&mut out, value_bytes);
            out.extend_from_slice(b"\r\n");
            value::push(&mut out, id, value_bytes);
            out.extend_from_slice(b"\r\n");
        }
        (Protocol::Resp, Operation::Set) => out.extend_from_slice(b"+OK\r\n"),
        (Protocol::Memcached, Operation::Get) => {
            out.extend_from_slice(b"VALUE ");
            push_key(&mut out, id, key_bytes);
            out.extend_from_slice(b" 0 ");
            push_number(&mut out, value_bytes);
            out.extend_from_slice(b"\r\n");
            value::push(&mut out, id, value_bytes);
            out.extend_from_slice(b"\r\nEND\r\n");
        }
        (Protocol::Memcached, Operation::Set) => out.extend_from_slice(b"STORED\r\n"),
    }
    out
}

/// Length and first bytes of every good reply to `operation`.
pub fn reply_shape(
    protocol: Protocol,
    operation: Operation,
    key_bytes: usize,
    value_bytes: usize,
) -> ReplyShape {
    let reply = good_reply(protocol, operation, 0, key_bytes, value_bytes);
    ReplyShape { len: reply.len(), head: [reply[0], reply[1], reply[2], reply[3]] }
}

/// Line feeds in one request, by which a null server counts requests.
pub fn newlines(protocol: Protocol, operation: Operation) -> usize {
    match (protocol, operation) {
        (Protocol::Resp, Operation::Get) => 5,
        (Protocol::Resp, Operation::Set) => 7,
        (Protocol::Memcached, Operation::Get) => 1,
        (Protocol::Memcached, Operation::Set) => 2,
    }
}

fn push_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(number.to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_width() {
        let mut out = Vec::new();
        push_key(&mut out, 42, 16);
        assert_eq!(out, b"key:000000000042");
        out.clear();
        push_key(&mut out, 0, 5);
        assert_eq!(out, b"00000");
    }

    #[test]
    fn requests_read_as_their_protocols_say() {
        let text = |protocol, operation| {
            let mut out = Vec::new();
            push_request(&mut out, protocol, operation, 7, 2, 3);
            String::from_utf8(out).unwrap()
        };
        let value = String::from_utf8({
            let mut out = Vec::new();
            value::push(&mut out, 7, 3);
            out
        })
        .unwrap();
        assert_eq!(text(Protocol::Resp, Operation::Get), "*2\r\n$3\r\nGET\r\n$2\r\n07\r\n");
        assert_eq!(
            text(Protocol::Resp, Operation::Set),
            format!("*3\r\n$3\r\nSET\r\n$2\r\n07\r\n$3\r\n{value}\r\n")
        );
        assert_eq!(text(Protocol::Memcached, Operation::Get), "get 07\r\n");
        assert_eq!(
            text(Protocol::Memcached, Operation::Set),
            format!("set 07 0 0 3\r\n{value}\r\n")
        );
    }

    #[test]
    fn the_newline_counts_match_the_requests() {
        for protocol in [Protocol::Resp, Protocol::Memcached] {
            for operation in [Operation::Get, Operation::Set] {
                let mut out = Vec::new();
                push_request(&mut out, protocol, operation, 3, 16, 100);
                let seen = out.iter().filter(|&&byte| byte == b'\n').count();
                assert_eq!(seen, newlines(protocol, operation));
            }
        }
    }
}
