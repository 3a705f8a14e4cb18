//! Text to a `long double`, as C's `strtold` reads it and as far as Redis lets it.

use super::{LongDouble, round};
use num_bigint::BigUint;

/// Redis copies the text into a buffer of 5 * 1024 bytes and refuses what does not fit with the zero
/// after it. The longest number that it writes has 4933 digits before the point.
const TEXT_BYTES_MAX: usize = 5 * 1024 - 1;

/// Exponents beyond these are out of range for any digits that fit the text: the least number is
/// 3.6e-4951, or 2^-16445, and a digit of the text is one of ten, or four bits.
const DECIMAL_EXPONENT_MAX: i64 = 4951 + TEXT_BYTES_MAX as i64;
const BINARY_EXPONENT_MAX: i64 = 16445 + 4 * TEXT_BYTES_MAX as i64;

impl LongDouble {
    /// The whole text as C's `strtold` reads it; `None` where Redis says "not a valid float",
    /// which includes numbers too large or too small.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity") {
            return Some(Self::Infinite { negative });
        }
        let value = match rest {
            [b'0', b'x' | b'X', hex @ ..] => parse_digits(negative, hex, Radix::Hexadecimal)?,
            decimal => parse_digits(negative, decimal, Radix::Decimal)?,
        };
        value.is_finite().then_some(value)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Radix {
    Decimal,
    Hexadecimal,
}

/// Digits with an optional point and exponent (`e` of ten, or `p` of two after hexadecimal).
fn parse_digits(negative: bool, text: &[u8], radix: Radix) -> Option<LongDouble> {
    let (base, marker, per_digit) = match radix {
        Radix::Decimal => (10, b'e', 1),
        Radix::Hexadecimal => (16, b'p', 4),
    };
    let end = text.iter().position(|b| b.eq_ignore_ascii_case(&marker)).unwrap_or(text.len());
    let (number, exponent) = text.split_at(end);
    let mut exponent = match exponent {
        [] => 0,
        [_, rest @ ..] => parse_exponent(rest)?,
    };
    let point = number.iter().position(|&b| b == b'.');
    let digits: Vec<u8> = number.iter().copied().filter(|&b| b != b'.').collect();
    if digits.is_empty() || digits.len() + usize::from(point.is_some()) != number.len() {
        return None;
    }
    if let Some(point) = point {
        exponent -= per_digit * (number.len() - point - 1) as i64;
    }
    // Signs and underscores, which the library would take, are none of the digits.
    if !digits.iter().all(|&b| (b as char).is_digit(base)) {
        return None;
    }
    let digits = BigUint::parse_bytes(&digits, base)?;
    if digits == BigUint::ZERO {
        let LongDouble::Finite { mantissa, exponent, .. } = LongDouble::ZERO else { return None };
        return Some(LongDouble::Finite { negative, mantissa, exponent });
    }
    let value = match radix {
        Radix::Decimal if exponent.abs() > DECIMAL_EXPONENT_MAX => return None,
        Radix::Hexadecimal if exponent.abs() > BINARY_EXPONENT_MAX => return None,
        Radix::Decimal => {
            let power = BigUint::from(10u8).pow(exponent.unsigned_abs() as u32);
            if exponent >= 0 {
                ratio(negative, digits * power, BigUint::from(1u8), 0)
            } else {
                ratio(negative, digits, power, 0)
            }
        }
        Radix::Hexadecimal => ratio(negative, digits, BigUint::from(1u8), exponent as i32),
    };
    // Too small to be told from zero: C says so by ERANGE, and Redis refuses.
    match value {
        LongDouble::Finite { mantissa: 0, .. } => None,
        value => Some(value),
    }
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut value = 0i64;
    for digit in digits {
        value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    }
    let value = value.min(i64::MAX / 4);
    Some(if negative { -value } else { value })
}

/// The nearest value to `numerator / denominator * 2^exponent`.
fn ratio(negative: bool, numerator: BigUint, denominator: BigUint, exponent: i32) -> LongDouble {
    // Scaled so that the quotient has 66 or 67 bits: enough to round by.
    let scale = 66 - (numerator.bits() as i64 - denominator.bits() as i64);
    let (numerator, denominator) = if scale >= 0 {
        (numerator << scale as usize, denominator)
    } else {
        (numerator, denominator << scale.unsigned_abs() as usize)
    };
    let quotient = &numerator / &denominator;
    let lost = &quotient * &denominator != numerator;
    let bits = quotient
        .iter_u64_digits()
        .rev()
        .fold(0u128, |bits, digit| (bits << 64) | u128::from(digit));
    round(negative, bits, lost, exponent - scale as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_strtold_does_not_read_to_the_end() {
        for text in [
            "", "-", "x", " 1", "1 ", "1e", "1e+", ".", "1..2", "0x", "nan", "1_0", "--1",
            "1e5000", "1e-5000", "0xp1",
        ] {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text:?}");
        }
        for text in ["1.", ".5", "+1", "1e3", "1E-3", "inf", "-Infinity", "0e99999999", "0x1.8p1"] {
            assert!(LongDouble::parse(text.as_bytes()).is_some(), "{text:?}");
        }
    }

    #[test]
    fn reads_what_it_writes_and_no_more_than_redis_does() {
        let most = LongDouble::parse(b"1.1e4932").unwrap();
        assert_eq!(LongDouble::parse(most.to_human().as_bytes()), Some(most));
        let (ones, zeros) = ("1".repeat(4000), "0".repeat(5000));
        for (text, expected) in [
            (format!("0.{ones}e-4000"), "0"),
            (format!("1{zeros}e-5000"), "1"),
            (format!("0.{zeros}1e5001"), "1"),
            (format!("0x1{zeros}p-20000"), "1"),
            ("0".repeat(5118) + "7", "7"),
        ] {
            let value = LongDouble::parse(text.as_bytes()).map(LongDouble::to_human);
            assert_eq!(value.as_deref(), Some(expected), "{}", &text[..8]);
        }
        assert_eq!(LongDouble::parse(("0".repeat(5119) + "7").as_bytes()), None);
    }
}
