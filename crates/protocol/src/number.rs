//! Decimal numbers: strict reading as the peers do it, and writing without formatting machinery.

/// Reads a signed decimal the way Redis reads lengths: no leading zero, plus sign or space, no
/// "-0", nothing beside the digits.
#[inline]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] => {}
        _ => return None,
    }
    let magnitude = parse_digits(digits)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Reads decimal digits and nothing else; leading zeros are allowed, emptiness is not.
#[inline]
pub fn parse_digits(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// Longest decimal that [`Decimal`] holds: `-9223372036854775808` or `18446744073709551615`.
const DECIMAL_BYTES_MAX: usize = 20;

/// The digits of a number, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    bytes: [u8; DECIMAL_BYTES_MAX],
    start: u8,
}

impl Decimal {
    #[inline]
    pub fn unsigned(mut value: u64) -> Self {
        let mut bytes = [0; DECIMAL_BYTES_MAX];
        let mut start = DECIMAL_BYTES_MAX;
        while value >= 100 {
            let pair = DIGIT_PAIRS[(value % 100) as usize];
            value /= 100;
            start -= 2;
            bytes[start] = pair[0];
            bytes[start + 1] = pair[1];
        }
        if value >= 10 {
            let pair = DIGIT_PAIRS[value as usize];
            start -= 2;
            bytes[start] = pair[0];
            bytes[start + 1] = pair[1];
        } else {
            start -= 1;
            bytes[start] = b'0' + value as u8;
        }
        Self { bytes, start: start as u8 }
    }

    #[inline]
    pub fn signed(value: i64) -> Self {
        let mut decimal = Self::unsigned(value.unsigned_abs());
        if value < 0 {
            decimal.start -= 1;
            decimal.bytes[usize::from(decimal.start)] = b'-';
        }
        decimal
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

const DIGIT_PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut value = 0;
    while value < 100 {
        pairs[value] = [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8];
        value += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lengths_as_strictly_as_redis() {
        for (text, value) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-10", Some(-10)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("18446744073709551616", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("00", None),
            ("01", None),
            ("+1", None),
            (" 1", None),
            ("1 ", None),
            ("1a", None),
        ] {
            assert_eq!(parse_i64(text.as_bytes()), value, "{text:?}");
        }
    }

    #[test]
    fn writes_what_the_standard_library_writes() {
        let mut value = 1u64;
        for step in 0..20_000u64 {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
            let value = value >> (step % 64);
            assert_eq!(Decimal::unsigned(value).as_bytes(), value.to_string().as_bytes());
            let value = value as i64;
            assert_eq!(Decimal::signed(value).as_bytes(), value.to_string().as_bytes());
        }
        for value in [0, i64::MIN, i64::MAX] {
            assert_eq!(Decimal::signed(value).as_bytes(), value.to_string().as_bytes());
        }
        assert_eq!(Decimal::unsigned(u64::MAX).as_bytes(), u64::MAX.to_string().as_bytes());
    }
}
