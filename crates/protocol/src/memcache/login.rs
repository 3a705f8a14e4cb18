//! What a client of the text protocol may send before it has authenticated, read as Memcached reads it.
//!
//! ```text
//!   set any thing at 14\r\n default secret\r\n     a login: the fifth word counts, and the block
//!   anything else\r\n                              refused, line by line
//! ```
//! Neither key nor flags nor exptime are looked at, nor what follows the length. A block of more than two
//! kilobytes is no login: nobody who is not known shall have the server keep a megabyte for him.

use super::line::{Words, block_len, strip_return};
use super::parse::{BLOCK_END, ParseState, Parsed, Request};
use super::refusal::Refusal;
use super::text::{Command, StoreVerb};
use crate::limits::{MEMCACHE_LOGIN_BYTES_MAX, MEMCACHE_LOGIN_LINE_BYTES_MAX};
use memchr::memchr;

/// As [`parse`](super::parse), for a client that must authenticate first: a login is a `set` of the key that
/// is empty, and all else is refused.
pub fn parse_login<'a>(input: &'a [u8], state: &mut ParseState) -> Parsed<'a> {
    if input.len() < state.awaited {
        return Parsed::Incomplete { need_at_least: state.awaited };
    }
    let searched = state.searched.min(input.len());
    let Some(newline) = memchr(b'\n', &input[searched..]).map(|at| searched + at) else {
        if input.len() > MEMCACHE_LOGIN_LINE_BYTES_MAX {
            return Parsed::Close(None);
        }
        state.searched = input.len();
        return Parsed::Incomplete { need_at_least: input.len() + 1 };
    };
    if newline > MEMCACHE_LOGIN_LINE_BYTES_MAX {
        return Parsed::Close(None);
    }
    let start = newline + 1;
    let (request, consumed) = match login_len(strip_return(&input[..newline])) {
        None => (refused(Refusal::Unauthenticated), start),
        Some(len) if len > MEMCACHE_LOGIN_BYTES_MAX => {
            return Parsed::Close(Some(Refusal::Unauthenticated));
        }
        Some(len) => {
            let end = start + len + BLOCK_END.len();
            match input.get(start..end).map(|block| block.strip_suffix(BLOCK_END)) {
                None => return state.wait(newline, end),
                Some(None) => (refused(Refusal::BadTermination), end),
                Some(Some(data)) => (login(data), end),
            }
        }
    };
    *state = ParseState::new();
    Parsed::Complete { request, consumed }
}

/// The length of the block behind a line that may be a login.
fn login_len(line: &[u8]) -> Option<usize> {
    let mut words = Words::new(line);
    let is_set = words.next() == Some(b"set");
    words.nth(3).filter(|_| is_set).and_then(block_len)
}

fn login(data: &[u8]) -> Request<'_> {
    let (verb, key): (_, &[u8]) = (StoreVerb::Set, b"");
    Request::Text(Command::Store { verb, key, flags: 0, exptime: 0, data, noreply: false })
}

fn refused<'a>(refusal: Refusal) -> Request<'a> {
    Request::Refused { refusal, noreply: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Parsed<'_> {
        let mut state = ParseState::new();
        for cut in 0..input.len() {
            match parse_login(&input[..cut], &mut state) {
                Parsed::Incomplete { need_at_least } => assert!(need_at_least > cut),
                whole => return whole,
            }
        }
        parse_login(input, &mut state)
    }

    #[test]
    fn a_login_is_a_set_whatever_its_key_is() {
        let long = format!("set {} 0 0 14\r\ndefault secret\r\n", "k".repeat(251));
        for text in [
            "set a 0 0 14\r\ndefault secret\r\n",
            "set a x y 14\r\ndefault secret\r\n",
            "set a 0 0 14 junk more\r\ndefault secret\r\n",
            &long,
        ] {
            let (request, consumed) = (login(b"default secret"), text.len());
            assert_eq!(read(text.as_bytes()), Parsed::Complete { request, consumed }, "{text}");
        }
    }

    #[test]
    fn all_else_is_refused_by_the_line() {
        for line in ["quit\r\n", "get a\r\n", "\r\n", "set a 0 0\r\n", "set a 0 0 -1\r\n", "mn\n"] {
            let request = refused(Refusal::Unauthenticated);
            let whole = Parsed::Complete { request, consumed: line.len() };
            assert_eq!(read(line.as_bytes()), whole, "{line}");
        }
        let request = refused(Refusal::BadTermination);
        assert_eq!(read(b"set a 0 0 1\r\nabc"), Parsed::Complete { request, consumed: 16 });
    }

    #[test]
    fn nothing_long_is_waited_for() {
        let close = Parsed::Close(Some(Refusal::Unauthenticated));
        assert_eq!(read(b"set a 0 0 2049\r\n"), close);
        assert!(matches!(read(b"set a 0 0 2048\r\n"), Parsed::Incomplete { .. }));
        assert_eq!(read(&[b'x'; MEMCACHE_LOGIN_LINE_BYTES_MAX + 1]), Parsed::Close(None));
    }
}
