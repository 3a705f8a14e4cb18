//! Replies of the Memcached protocols to bytes.
//!
//! ```text
//!   VALUE key flags length [unique]\r\n value\r\n ... END\r\n        get, gets, gat, gats
//!   VA length flags...\r\n value\r\n                                 mg with v
//!   HD flags...\r\n                                                  a meta success without value
//! ```
//! A value may be appended by whoever holds it: header, the bytes, [`block_end`].

use super::meta::Key;
use crate::number::Decimal;

/// One line: `STORED`, `END`, `VERSION 1.6.18` ...
#[inline]
pub fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// A number on a line, the reply of `incr` and `decr`.
pub fn number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(Decimal::unsigned(value).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Announces a value of `len` bytes; with `cas`, its unique number.
#[inline]
pub fn value_header(out: &mut Vec<u8>, key: &[u8], flags: u32, len: usize, cas: Option<u64>) {
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    blank_and_number(out, u64::from(flags));
    blank_and_number(out, len as u64);
    if let Some(cas) = cas {
        blank_and_number(out, cas);
    }
    out.extend_from_slice(b"\r\n");
}

/// What closes a value.
#[inline]
pub fn block_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// What closes the values of a retrieval, and statistics.
#[inline]
pub fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"END\r\n");
}

/// One statistic: `STAT name value`.
pub fn stat(out: &mut Vec<u8>, name: &str, value: impl std::fmt::Display) {
    use std::io::Write;
    // A Vec takes whatever is written to it.
    let _ = write!(out, "STAT {name} {value}\r\n");
}

/// A meta reply's line: status, then flags in the order of the request, then [`end`](Self::end).
#[derive(Debug)]
#[must_use = "a meta reply must be ended"]
pub struct MetaReply<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> MetaReply<'a> {
    /// `HD`, `EN`, `NF`, `NS`, `EX`, `MN`.
    #[inline]
    pub fn status(out: &'a mut Vec<u8>, status: &[u8; 2]) -> Self {
        out.extend_from_slice(status);
        Self { out }
    }

    /// `VA length`: after [`end`](Self::end), `len` bytes and [`block_end`] must follow.
    #[inline]
    pub fn value(out: &'a mut Vec<u8>, len: usize) -> Self {
        out.extend_from_slice(b"VA");
        blank_and_number(out, len as u64);
        Self { out }
    }

    /// A flag without token: `W`, `X`, `Z`.
    pub fn flag(&mut self, letter: u8) {
        self.out.extend_from_slice(&[b' ', letter]);
    }

    /// A flag with a number: `c`, `f`, `s`, `l`, `h`, and `t` where it is not -1.
    #[inline]
    pub fn number(&mut self, letter: u8, value: u64) {
        self.out.extend_from_slice(&[b' ', letter]);
        self.out.extend_from_slice(Decimal::unsigned(value).as_bytes());
    }

    /// `t`: seconds left, `None` for an item that does not expire.
    pub fn time_left(&mut self, seconds: Option<u64>) {
        match seconds {
            Some(seconds) => self.number(b't', seconds),
            None => self.out.extend_from_slice(b" t-1"),
        }
    }

    /// `O`: the request's opaque token, repeated.
    pub fn opaque(&mut self, token: &[u8]) {
        self.flag(b'O');
        self.out.extend_from_slice(token);
    }

    /// `k`: the key, repeated as it was written; `b` behind it if that was base64.
    pub fn key(&mut self, key: Key<'_>) {
        self.flag(b'k');
        self.out.extend_from_slice(key.text());
        if key.is_base64() {
            self.flag(b'b');
        }
    }

    /// Ends the line.
    #[inline]
    pub fn end(self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

#[inline]
fn blank_and_number(out: &mut Vec<u8>, value: u64) {
    out.push(b' ');
    out.extend_from_slice(Decimal::unsigned(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        out.escape_ascii().to_string()
    }

    #[test]
    fn replies_have_memcached_s_form() {
        assert_eq!(written(|out| line(out, "STORED")), r"STORED\r\n");
        assert_eq!(written(|out| number(out, u64::MAX)), r"18446744073709551615\r\n");
        assert_eq!(written(|out| value_header(out, b"k", 7, 12, None)), r"VALUE k 7 12\r\n");
        assert_eq!(written(|out| value_header(out, b"k", 0, 0, Some(9))), r"VALUE k 0 0 9\r\n");
        assert_eq!(written(|out| stat(out, "pid", 1)), r"STAT pid 1\r\n");
        assert_eq!(written(end), r"END\r\n");
    }

    #[test]
    fn a_meta_reply_repeats_what_was_asked_for() {
        let text = written(|out| {
            let mut reply = MetaReply::value(out, 5);
            reply.number(b's', 5);
            reply.time_left(None);
            reply.time_left(Some(3));
            reply.opaque(b"abc");
            reply.flag(b'W');
            reply.end();
            out.extend_from_slice(b"value");
            block_end(out);
            MetaReply::status(out, b"HD").end();
        });
        assert_eq!(text, r"VA 5 s5 t-1 t3 Oabc W\r\nvalue\r\nHD\r\n");
    }
}
