//! From a connection's bytes to one binary request.
//!
//! Header, extras and key are read first: what is wrong with them is known before the value has
//! come. A refused request's value is skipped as it arrives; a request that breaks the rules of its
//! opcode is answered, and the connection closed, as in Memcached.

use super::super::parse::Limits;
use super::{HEADER_BYTES, MAGIC_REQUEST, Status};
use crate::limits::{MEMCACHE_KEY_BYTES_MAX, STAT_BYTES_MAX};

/// What a request asks for. Quiet forms are told by [`Request::quiet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `touch` with an expiry; `value`: answer the value, `key`: and the key.
    Get {
        touch: Option<u32>,
        value: bool,
        key: bool,
    },
    Set {
        flags: u32,
        exptime: u32,
    },
    Add {
        flags: u32,
        exptime: u32,
    },
    Replace {
        flags: u32,
        exptime: u32,
    },
    Append,
    Prepend,
    Delete,
    Arithmetic {
        incr: bool,
        delta: u64,
        initial: u64,
        exptime: u32,
    },
    Flush {
        delay: u32,
    },
    Noop,
    Version,
    /// The key is the name of the statistics.
    Stat,
    Quit,
    SaslMechanisms,
    /// The key is the mechanism, the value what the client says. `step`: it goes on.
    Sasl {
        step: bool,
    },
    /// Answer with the status and its text; `skip` bytes of value follow and are not for us.
    Refused {
        status: Status,
        close: bool,
        skip: usize,
    },
}

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

/// Opcodes that answer only what is out of the ordinary.
fn is_quiet(opcode: u8) -> bool {
    matches!(opcode, 0x09 | 0x0d | 0x11..=0x1a | 0x1e | 0x24)
}

/// What an opcode means, if extras, key and value are as it asks.
fn operation(opcode: u8, extras: &[u8], key: &[u8], value_len: usize) -> Result<Operation, Status> {
    let ok = |is_well_formed: bool, operation| match is_well_formed {
        true => Ok(operation),
        false => Err(Status::Invalid),
    };
    let (has_key, has_value) = (!key.is_empty(), value_len != 0);
    let word = |at: usize| {
        let bytes = extras.get(at..at + 4).and_then(|bytes| bytes.first_chunk::<4>());
        bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
    };
    let double = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
    let (flags, exptime) = (word(0), word(4));
    let bare = extras.is_empty() && !has_key && !has_value;
    let store = extras.len() == 8 && has_key;
    // What follows the key is passed over, as it is not asked for. (Memcached takes it for the next request:
    // a client's value would be run as its command.)
    let touch = extras.len() == 4 && has_key;
    match opcode {
        0x00 | 0x09 | 0x0c | 0x0d => {
            let key = opcode >= 0x0c;
            let form = extras.is_empty() && has_key && !has_value;
            ok(form, Operation::Get { touch: None, value: true, key })
        }
        0x01 | 0x11 => ok(store, Operation::Set { flags, exptime }),
        0x02 | 0x12 => ok(store, Operation::Add { flags, exptime }),
        0x03 | 0x13 => ok(store, Operation::Replace { flags, exptime }),
        0x04 | 0x14 => ok(extras.is_empty() && has_key && !has_value, Operation::Delete),
        0x05 | 0x06 | 0x15 | 0x16 => {
            let (delta, initial, exptime) = (double(0), double(8), word(16));
            let operation =
                Operation::Arithmetic { incr: opcode & 1 == 1, delta, initial, exptime };
            ok(extras.len() == 20 && has_key && !has_value, operation)
        }
        0x07 | 0x17 => ok(bare, Operation::Quit),
        0x08 | 0x18 => {
            let form = !has_key && !has_value && matches!(extras.len(), 0 | 4);
            ok(form, Operation::Flush { delay: word(0) })
        }
        0x0a => ok(bare, Operation::Noop),
        0x0b => ok(bare, Operation::Version),
        0x0e | 0x19 => ok(extras.is_empty() && has_key, Operation::Append),
        0x0f | 0x1a => ok(extras.is_empty() && has_key, Operation::Prepend),
        0x10 => ok(extras.is_empty() && value_len <= STAT_BYTES_MAX, Operation::Stat),
        0x1c => ok(touch, Operation::Get { touch: Some(word(0)), value: false, key: false }),
        0x1d | 0x1e => ok(touch, Operation::Get { touch: Some(word(0)), value: true, key: false }),
        0x23 | 0x24 => ok(touch, Operation::Get { touch: Some(word(0)), value: true, key: true }),
        0x20 => ok(bare, Operation::SaslMechanisms),
        0x21 | 0x22 => {
            // A mechanism's length is looked at where there are mechanisms.
            ok(extras.is_empty() && has_key, Operation::Sasl { step: opcode == 0x22 })
        }
        _ => Err(Status::UnknownCommand),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
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

    fn understood(bytes: &[u8]) -> Request<'_> {
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
    fn every_opcode_has_its_form() {
        let extras = |len| vec![0; len];
        for (opcodes, extras, key) in [
            (&[0x00, 0x09, 0x0c, 0x0d, 0x04, 0x14][..], extras(0), &b"k"[..]),
            (&[0x05, 0x06, 0x15, 0x16], extras(20), b"k"),
            (&[0x07, 0x17, 0x08, 0x18, 0x0a, 0x0b, 0x10, 0x20], extras(0), b""),
            (&[0x08, 0x18], extras(4), b""),
            (&[0x1c, 0x1d, 0x1e, 0x23, 0x24], extras(4), b"k"),
        ] {
            for opcode in opcodes {
                let bytes = request(*opcode, &extras, key, b"");
                let operation = understood(&bytes).operation;
                assert!(!matches!(operation, Operation::Refused { .. }), "{opcode:#x}");
                let wrong = request(*opcode, &[1], key, b"");
                let closes = matches!(
                    understood(&wrong).operation,
                    Operation::Refused { status: Status::Invalid, close: true, .. }
                );
                assert!(closes, "{opcode:#x} with a stray extra byte");
            }
        }
    }

    /// It was refused, and the connection closed.
    #[test]
    fn a_value_behind_the_key_of_a_touch_is_passed_over() {
        for (opcode, value, key) in [
            (0x1c, false, false),
            (0x1d, true, false),
            (0x1e, true, false),
            (0x23, true, true),
            (0x24, true, true),
        ] {
            let bytes = request(opcode, &[0, 0, 0, 9], b"k", b"surplus");
            let touch = Operation::Get { touch: Some(9), value, key };
            assert_eq!(understood(&bytes).operation, touch, "{opcode:#x}");
            let Parsed::Complete { consumed, .. } = parse(&bytes, &Limits::default()) else {
                panic!("it is whole");
            };
            assert_eq!(consumed, bytes.len());
        }
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
