//! Numbers in arguments and values, read exactly as strictly as Redis reads them.

use crate::redis::error::CommandError;
use dolium_engine::{Db, Value};
pub use dolium_protocol::number::parse_i64;

/// Longest text that can be an integer.
const INTEGER_BYTES_MAX: usize = 20;

pub fn integer(text: &[u8]) -> Result<i64, CommandError> {
    parse_i64(text).ok_or(CommandError::NotInteger)
}

/// An integer that Redis keeps in 32 bits.
pub fn integer32(text: &[u8]) -> Result<i32, CommandError> {
    i32::try_from(integer(text)?).map_err(|_| CommandError::NotInt32)
}

/// The number of a database that exists.
pub fn database(text: &[u8], databases: u16) -> Result<Db, CommandError> {
    match u16::try_from(integer32(text)?) {
        Ok(index) if index < databases => Ok(Db(index)),
        _ => Err(CommandError::DbIndex),
    }
}

/// A value to store: text that is exactly what its integer prints as is kept as that integer.
#[inline]
pub fn value(text: &[u8]) -> Value<'_> {
    match text {
        [b'-' | b'0'..=b'9', ..] if text.len() <= INTEGER_BYTES_MAX => {
            parse_i64(text).map_or(Value::Bytes(text), Value::Int)
        }
        _ => Value::Bytes(text),
    }
}

/// The text as C sees it: up to a NUL.
pub fn up_to_nul(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// What C's `atoi` makes of a text, which takes any: the number that it begins with, in 32 bits.
pub fn leading(text: &[u8]) -> i32 {
    let text = text.trim_ascii_start();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0i64, |number, digit| {
        let digit = i64::from(digit - b'0');
        number.saturating_mul(10).saturating_add(if negative { -digit } else { digit })
    });
    number as i32
}

/// A SCAN cursor: what C's `strtoul` accepts, with nothing before and after but a NUL, which ends a text.
pub fn cursor(text: &[u8]) -> Option<u64> {
    let (negative, digits) = match up_to_nul(text) {
        [] => return Some(0),
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let value = dolium_protocol::number::parse_digits(digits)?;
    Some(if negative { value.wrapping_neg() } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_integers_are_stored_as_such() {
        for text in ["0", "-1", "9223372036854775807", "-9223372036854775808"] {
            assert!(matches!(value(text.as_bytes()), Value::Int(_)), "{text}");
        }
        for text in ["", "-", "-0", "01", "+1", " 1", "1 ", "1.0", "9223372036854775808"] {
            assert!(matches!(value(text.as_bytes()), Value::Bytes(_)), "{text}");
        }
    }

    #[test]
    fn cursors_are_what_strtoul_takes() {
        assert_eq!(cursor(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(cursor(b"-1"), Some(u64::MAX));
        assert_eq!(cursor(b"+5"), Some(5));
        assert_eq!([cursor(b"7\0x"), cursor(b"\0")], [Some(7), Some(0)]);
        for text in ["x", " 1", "1 ", "18446744073709551616", "-", "1x", "-\x005"] {
            assert_eq!(cursor(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn any_text_begins_with_a_number() {
        for (text, number) in [
            ("", 0),
            ("x", 0),
            ("1x", 1),
            ("\t +01.5", 1),
            ("-12\x003", -12),
            ("- 1", 0),
            ("4294967297", 1),
            ("2147483648", i32::MIN),
            ("99999999999999999999", -1),
            ("-99999999999999999999", 0),
        ] {
            assert_eq!(leading(text.as_bytes()), number, "{text:?}");
        }
    }

    #[test]
    fn a_database_number_is_32_bits_and_within_range() {
        assert_eq!(database(b"15", 16), Ok(Db(15)));
        assert_eq!(database(b"16", 16), Err(CommandError::DbIndex));
        assert_eq!(database(b"-1", 16), Err(CommandError::DbIndex));
        assert_eq!(database(b"99999999999", 16), Err(CommandError::NotInt32));
        assert_eq!(database(b"x", 16), Err(CommandError::NotInteger));
    }
}
