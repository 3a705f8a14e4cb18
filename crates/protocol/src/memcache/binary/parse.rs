//! From a connection's bytes to one binary request.
//!
//! Header, extras and key are read first: what is wrong with them is known before the value has
//! come. A refused request's value is skipped as it arrives; a request that breaks the rules of its
//! opcode is answered, and the connection closed, as in Memcached.

use super::super::parse::Limits;
use super::opcode::{Operation, is_quiet, operation};
use super::{HEADER_BYTES, MAGIC_REQUEST, Status};
use crate::limits::MEMCACHE_KEY_BYTES_MAX;

/// One request, borrowing the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    pub opcode: u8,
    pub quiet: bool,
    pub opaque: [u8; 4],
    /// The unique number that the item must have, or 0.
    pub unique: u64,
    pub key: &'a [u8],
    pub value: &'a [u8],
    pub operation: Operation,
}

/// What the bytes hold so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<'a> {
    Complete {
        request: Request<'a>,
        consumed: usize,
    },
    Incomplete {
        need_at_least: usize,
    },
    /// Not this protocol: close without a word.
    Close,
}

/// A request's fixed part, which says what is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced<'a> {
    /// With an empty value.
    pub request: Request<'a>,
    /// Bytes of header, extras and key.
    pub fixed: usize,
    /// Bytes of the value.
    pub len: usize,
}

/// Reads one request.
#[inline]
pub fn parse<'a>(input: &'a [u8], limits: &Limits) -> Parsed<'a> {
    match announced(input, limits) {
        Ok(Announced { mut request, fixed, len }) => {
            let Some(value) = input.get(fixed..fixed + len) else {
                return Parsed::Incomplete { need_at_least: fixed + len };
            };
            request.value = value;
            Parsed::Complete { request, consumed: fixed + len }
        }
        Err(parsed) => parsed,
    }
}

/// Reads a request but for its value. `Err`: there is nothing to wait for, or more to come first.
#[inline]
pub fn announced<'a>(input: &'a [u8], limits: &Limits) -> Result<Announced<'a>, Parsed<'a>> {
    if input.first().is_some_and(|byte| *byte != MAGIC_REQUEST) {
        return Err(Parsed::Close);
    }
    let Some((header, rest)) = input.split_first_chunk::<HEADER_BYTES>() else {
        return Err(Parsed::Incomplete { need_at_least: HEADER_BYTES });
    };
    let key_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let extras_len = usize::from(header[4]);
    let word = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let body_len = word(8) as usize;
    let unique = u64::from(word(16)) << 32 | u64::from(word(20));
    let mut request = Request {
        opcode: header[1],
        quiet: is_quiet(header[1]),
        opaque: [header[12], header[13], header[14], header[15]],
        unique,
        key: &[],
        value: &[],
        operation: Operation::Noop,
    };
    let refused = |mut request: Request<'a>, status, close, skip, consumed| {
        request.operation = Operation::Refused { status, close, skip };
        Err(Parsed::Complete { request, consumed })
    };
    if key_len + extras_len > body_len {
        return refused(request, Status::UnknownCommand, true, 0, HEADER_BYTES);
    }
    let value_len = body_len - key_len - extras_len;
    let fixed = HEADER_BYTES + extras_len + key_len;
    if key_len > MEMCACHE_KEY_BYTES_MAX {
        return refused(request, Status::Invalid, true, 0, HEADER_BYTES);
    }
    let Some((extras, rest)) = rest.split_at_checked(extras_len) else {
        return Err(Parsed::Incomplete { need_at_least: fixed });
    };
    let Some((key, _)) = rest.split_at_checked(key_len) else {
        return Err(Parsed::Incomplete { need_at_least: fixed });
    };
    request.key = key;
    let operation = match operation(header[1], extras, key, value_len) {
        Ok(operation) => operation,
        // An unknown command's body is skipped and the connection goes on.
        Err(Status::UnknownCommand) => {
            return refused(request, Status::UnknownCommand, false, value_len, fixed);
        }
        Err(status) => return refused(request, status, true, 0, fixed),
    };
    if value_len > limits.value_bytes_max {
        return refused(request, Status::TooLarge, false, value_len, fixed);
    }
    request.operation = operation;
    Ok(Announced { request, fixed, len: value_len })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn request(
        opcode: u8,
        extras: &[u8],
        key: &[u8],
        value: &[u8],
    ) -> Vec<u8> {
        let mut bytes = vec![MAGIC_REQUEST, opcode];
        bytes.extend_from_slice(&(key.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&[extras.len() as u8, 0, 0, 0]);
        let body = extras.len() + key.len() + value.len();
        bytes.extend_from_slice(&(body as u32).to_be_bytes());
        bytes.extend_from_slice(b"abcd\0\0\0\0\0\0\0\x09");
        for part in [extras, key, value] {
            bytes.extend_from_slice(part);
        }
        bytes
    }

    pub(in super::super) fn understood(bytes: &[u8]) -> Request<'_> {
        match parse(bytes, &Limits::default()) {
            Parsed::Complete { request, .. } => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_is_read_whole_or_not_at_all() {
        let bytes = request(0x01, &[0, 0, 0, 7, 0, 0, 0, 60], b"key", b"value");
        for cut in 0..bytes.len() {
            let Parsed::Incomplete { need_at_least } = parse(&bytes[..cut], &Limits::default())
            else {
                panic!("{cut} bytes are no request");
            };
            assert!(need_at_least > cut && need_at_least <= bytes.len());
        }
        let got = understood(&bytes);
        assert_eq!(got.operation, Operation::Set { flags: 7, exptime: 60 });
        assert_eq!((got.key, got.value), (&b"key"[..], &b"value"[..]));
        assert_eq!((got.opaque, got.unique, got.quiet), (*b"abcd", 9, false));
    }

    #[test]
    fn what_is_refused_says_how_much_to_skip() {
        let bytes = request(0x6f, b"", b"k", b"value");
        let skip = Operation::Refused { status: Status::UnknownCommand, close: false, skip: 5 };
        assert_eq!(understood(&bytes).operation, skip);
        let limits = Limits { value_bytes_max: 4, ..Limits::default() };
        let bytes = request(0x01, &[0; 8], b"k", b"value");
        let Parsed::Complete { request: got, consumed } = parse(&bytes, &limits) else {
            panic!("the header says it all");
        };
        assert_eq!(consumed, bytes.len() - 5);
        let skip = Operation::Refused { status: Status::TooLarge, close: false, skip: 5 };
        assert_eq!((got.operation, got.key), (skip, &b"k"[..]));
        assert_eq!(parse(b"get k\r\n", &limits), Parsed::Close);
    }
}
