//! The short path: `get key` and `set key flags exptime length`, whole and as clients write them.
//!
//! ```text
//!   get key\r\n                         one blank between words, one key
//!   set key 0 60 5\r\n value\r\n        plain digits, no `noreply`
//! ```
//! Whatever differs in any way answers `None` and is read by the general path, which gives the
//! same answer for these lines too, only later.

use super::line::Words;
use super::parse::{Limits, Parsed, Request};
use super::text::{Command, StoreVerb};
use crate::limits::MEMCACHE_KEY_BYTES_MAX;

/// `get key\r\n`.
#[inline]
pub(crate) fn get(input: &[u8]) -> Option<Parsed<'_>> {
    let rest = input.strip_prefix(b"get ")?;
    let len = word_len(rest)?;
    let [b'\r', b'\n', ..] = rest[len..] else { return None };
    let request = Request::Text(Command::Get { keys: Words::new(&rest[..len]), cas: false });
    Some(Parsed::Complete { request, consumed: 4 + len + 2 })
}

/// `set key flags exptime length\r\n` and its data block.
#[inline]
pub(crate) fn set<'a>(input: &'a [u8], limits: &Limits) -> Option<Parsed<'a>> {
    let rest = input.strip_prefix(b"set ")?;
    let len = word_len(rest)?;
    let (key, rest) = rest.split_at(len);
    let (flags, rest) = number(rest)?;
    let (exptime, rest) = number(rest)?;
    let (len, rest) = number(rest)?;
    let len = len as usize;
    let block = rest.strip_prefix(b"\r\n")?;
    if len > limits.value_bytes_max || block.get(len..len + 2)? != b"\r\n" {
        return None;
    }
    let request = Request::Text(Command::Store {
        verb: StoreVerb::Set,
        key,
        flags,
        exptime: i64::from(exptime),
        data: &block[..len],
        noreply: false,
    });
    Some(Parsed::Complete { request, consumed: input.len() - block.len() + len + 2 })
}

/// Bytes before the first blank or control character, eight at a time; a key's worth, not none.
#[inline]
fn word_len(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES * 0x80;
    let mut at = 0;
    loop {
        let word = u64::from_le_bytes(*text.get(at..)?.first_chunk::<8>()?);
        // The lowest byte below 0x21 has its high bit set here; bytes above it may be wrong.
        let below = word.wrapping_sub(ONES * 0x21) & !word & HIGHS;
        if below != 0 {
            let len = at + below.trailing_zeros() as usize / 8;
            return (1..=MEMCACHE_KEY_BYTES_MAX).contains(&len).then_some(len);
        }
        at += 8;
        if at > MEMCACHE_KEY_BYTES_MAX {
            return None;
        }
    }
}

/// A blank and one to nine digits.
#[inline]
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.strip_prefix(b" ")?;
    let mut value = 0;
    let mut len = 0;
    while let Some(digit) = digits.get(len).map(|byte| byte.wrapping_sub(b'0'))
        && digit <= 9
        && len < 9
    {
        value = value * 10 + u32::from(digit);
        len += 1;
    }
    (len > 0).then_some((value, &digits[len..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_ends_at_a_blank_or_control_character() {
        for len in 1..=250 {
            for end in [b' ', b'\r', b'\n', b'\t', 0] {
                let mut text = vec![b'\xff'; len];
                text.push(end);
                text.extend([b'!'; 8]);
                assert_eq!(word_len(&text), Some(len));
            }
        }
        assert_eq!(word_len(b" 2345678"), None);
        assert_eq!(word_len(&[b'a'; 300]), None);
        assert_eq!(word_len(b"short\r\n"), None, "left to the general path");
    }

    #[test]
    fn numbers_of_ten_digits_are_left_to_the_general_path() {
        assert_eq!(number(b" 123456789\r"), Some((123_456_789, &b"\r"[..])));
        assert_eq!(number(b" 1234567890\r"), Some((123_456_789, &b"0\r"[..])));
        assert_eq!(number(b" -1\r"), None);
        assert_eq!(number(b"1\r"), None);
        assert!(set(b"set k 0 0 1234567890\r\n", &Limits::default()).is_none());
    }
}
