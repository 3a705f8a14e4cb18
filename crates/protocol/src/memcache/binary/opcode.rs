//! What each opcode means, and the extras, key and value that it asks for.

use super::Status;
use crate::limits::STAT_BYTES_MAX;

/// What a request asks for. Quiet forms are told by [`Request::quiet`](super::Request::quiet).
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

/// Opcodes that answer only what is out of the ordinary.
pub(super) fn is_quiet(opcode: u8) -> bool {
    matches!(opcode, 0x09 | 0x0d | 0x11..=0x1a | 0x1e | 0x24)
}

/// What an opcode means, if extras, key and value are as it asks.
pub(super) fn operation(
    opcode: u8,
    extras: &[u8],
    key: &[u8],
    value_len: usize,
) -> Result<Operation, Status> {
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
    use super::super::super::parse::Limits;
    use super::super::parse::tests::{request, understood};
    use super::super::{Parsed, parse};
    use super::*;

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
}
