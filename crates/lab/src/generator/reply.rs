//! One whole reply in any protocol: how long it is and what it says.
//!
//! The generator comes here only for replies that do not begin as a good one does (misses,
//! errors), and for all of them in verify mode.

use super::stream::{BINARY_HEAD, Stream};
use crate::LabError;
use crate::error::excerpt;
use crate::workload::wire::{self, Asking};
use crate::workload::{Operation, Protocol, value};

/// What a reply means to the one who asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Good,
    Miss,
}

/// A line longer than this is no reply to anything that the generator asks.
const LINE_MAX: usize = 1024;

/// Reads the reply at the start of `bytes`. `None` if it is not all there yet; else its length.
pub(super) fn read(
    bytes: &[u8],
    operation: Operation,
    asked: Asking,
    verify: bool,
) -> Result<Option<(usize, Verdict)>, LabError> {
    if matches!(asked.protocol, Protocol::Binary | Protocol::Http) {
        return announced(bytes, operation, asked, verify);
    }
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        if bytes.len() > LINE_MAX {
            return Err(unexpected(bytes));
        }
        return Ok(None);
    };
    let line = bytes[..end].strip_suffix(b"\r").ok_or_else(|| unexpected(bytes))?;
    let rest = &bytes[end + 1..];
    let get = operation == Operation::Get;
    let (value_len, tail): (usize, &[u8]) = match asked.protocol {
        Protocol::Resp | Protocol::Resp3 => match line {
            b"+OK" if !get => return Ok(Some((end + 1, Verdict::Good))),
            b"$-1" | b"_" if get => return Ok(Some((end + 1, Verdict::Miss))),
            [b'-', ..] => return Err(LabError::Refused { reply: excerpt(line) }),
            [b'$', digits @ ..] if get => (number(digits, bytes)?, b"\r\n"),
            _ => return Err(unexpected(bytes)),
        },
        Protocol::Memcached => match line {
            b"STORED" if !get => return Ok(Some((end + 1, Verdict::Good))),
            b"END" if get => return Ok(Some((end + 1, Verdict::Miss))),
            _ if !get || line.starts_with(b"SERVER_ERROR") || line.starts_with(b"CLIENT_ERROR") => {
                return Err(LabError::Refused { reply: excerpt(line) });
            }
            _ => (value_header(line, asked, bytes)?, b"\r\nEND\r\n"),
        },
        Protocol::Meta => match line {
            b"HD" if !get => return Ok(Some((end + 1, Verdict::Good))),
            b"EN" if get => return Ok(Some((end + 1, Verdict::Miss))),
            [b'V', b'A', b' ', digits @ ..] if get => (number(digits, bytes)?, b"\r\n"),
            _ => return Err(LabError::Refused { reply: excerpt(line) }),
        },
        // Read above: a line's end is nothing in them.
        Protocol::Binary | Protocol::Http => return Err(unexpected(bytes)),
    };
    let whole = value_len.checked_add(tail.len()).ok_or_else(|| unexpected(bytes))?;
    if rest.len() < whole {
        return Ok(None);
    }
    if &rest[value_len..whole] != tail {
        return Err(unexpected(&rest[value_len..]));
    }
    if verify {
        check(&rest[..value_len], asked)?;
    }
    Ok(Some((end + 1 + whole, Verdict::Good)))
}

/// A reply of binary or HTTP, whose head says how long the rest is.
fn announced(
    bytes: &[u8],
    operation: Operation,
    asked: Asking,
    verify: bool,
) -> Result<Option<(usize, Verdict)>, LabError> {
    let Some(step) = Stream::new(asked.protocol).step(bytes)? else { return Ok(None) };
    let (Some(verdict), Some(reply)) = (step.done, bytes.get(..step.len)) else { return Ok(None) };
    if verify && verdict == Verdict::Good && operation == Operation::Get {
        let from = if asked.protocol == Protocol::Binary {
            // Extras and the key, if there are any, stand before the value.
            let key = u16::from_be_bytes([reply[2], reply[3]]);
            BINARY_HEAD + usize::from(reply[4]) + usize::from(key)
        } else {
            const END: &[u8] = b"\r\n\r\n";
            memchr::memmem::find(reply, END).ok_or_else(|| unexpected(bytes))? + END.len()
        };
        check(reply.get(from..).ok_or_else(|| unexpected(bytes))?, asked)?;
    }
    Ok(Some((step.len, verdict)))
}

fn check(value: &[u8], asked: Asking) -> Result<(), LabError> {
    if value::matches(value, asked.id) {
        return Ok(());
    }
    Err(LabError::WrongValue { key: key_text(asked) })
}

/// The length in `VALUE <key> <flags> <length>`, after checking that the key is the one asked for.
fn value_header(line: &[u8], asked: Asking, bytes: &[u8]) -> Result<usize, LabError> {
    let mut words = line.split(|&byte| byte == b' ');
    let (verb, key, _flags, length) = (words.next(), words.next(), words.next(), words.next());
    if verb != Some(b"VALUE") || key != Some(key_text(asked).as_bytes()) {
        return Err(unexpected(bytes));
    }
    number(length.unwrap_or_default(), bytes)
}

fn number(digits: &[u8], bytes: &[u8]) -> Result<usize, LabError> {
    let text = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
    text.ok_or_else(|| unexpected(bytes))
}

fn key_text(asked: Asking) -> String {
    let mut key = Vec::new();
    wire::push_key(&mut key, asked.id, asked.key_bytes);
    String::from_utf8_lossy(&key).into_owned()
}

fn unexpected(bytes: &[u8]) -> LabError {
    LabError::Unexpected { bytes: excerpt(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::expected;

    fn asked(protocol: Protocol) -> Asking {
        Asking { protocol, id: 9, key_bytes: 16, value_bytes: 30, ttl: 0 }
    }

    #[test]
    fn a_good_reply_is_good_only_when_it_is_whole() {
        for protocol in [Protocol::Resp, Protocol::Memcached, Protocol::Meta] {
            for operation in [Operation::Get, Operation::Set] {
                let reply = expected::good_reply(operation, asked(protocol));
                for cut in 0..reply.len() {
                    assert_eq!(
                        read(&reply[..cut], operation, asked(protocol), true).unwrap(),
                        None,
                        "{protocol:?} {operation:?} cut at {cut}"
                    );
                }
                let whole = read(&reply, operation, asked(protocol), true).unwrap();
                assert_eq!(whole, Some((reply.len(), Verdict::Good)));
            }
        }
    }

    #[test]
    fn replies_that_say_how_long_they_are_are_checked_byte_by_byte() {
        let mut value = Vec::new();
        value::push(&mut value, 9, 30);
        let mut binary = vec![0x81, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 34];
        binary.extend_from_slice(&[0; 12 + 4]);
        binary.extend_from_slice(&value);
        let mut http = b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n".to_vec();
        http.extend_from_slice(&value);
        for (protocol, mut reply) in [(Protocol::Binary, binary), (Protocol::Http, http)] {
            let read = |bytes: &[u8]| read(bytes, Operation::Get, asked(protocol), true);
            for cut in 0..reply.len() {
                assert_eq!(read(&reply[..cut]).unwrap(), None, "{protocol:?} cut at {cut}");
            }
            assert_eq!(read(&reply).unwrap(), Some((reply.len(), Verdict::Good)));
            *reply.last_mut().unwrap() ^= 1;
            assert!(matches!(read(&reply), Err(LabError::WrongValue { .. })), "{protocol:?}");
        }
    }

    #[test]
    fn misses_errors_and_wrong_values_are_told_apart() {
        let read = |bytes, asked, verify| super::read(bytes, Operation::Get, asked, verify);
        let resp = asked(Protocol::Resp);
        let text = asked(Protocol::Memcached);
        assert_eq!(read(b"$-1\r\n", resp, true).unwrap(), Some((5, Verdict::Miss)));
        assert_eq!(read(b"END\r\n", text, true).unwrap(), Some((5, Verdict::Miss)));
        assert!(matches!(read(b"-ERR no\r\n", resp, true), Err(LabError::Refused { .. })));
        assert!(matches!(read(b"SERVER_ERROR x\r\n", text, true), Err(LabError::Refused { .. })));
        assert!(matches!(read(b"$2\r\nxx\r\n", resp, true), Err(LabError::WrongValue { .. })));
        assert!(matches!(
            read(b"VALUE other 0 2\r\nxx\r\nEND\r\n", text, false),
            Err(LabError::Unexpected { .. })
        ));
    }
}
