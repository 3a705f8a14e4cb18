//! A double as text with 17 significant digits: C's `%.17g`, which Redis 7.0 replies with.
//!
//! 17 digits name every double exactly, at the price of 3.1 reading 3.1000000000000001.

use std::io::Write;

/// Longest: `-1.7976931348623157e+308`, or `-0.00012345678901234567`.
const TEXT_BYTES_MAX: usize = 32;
const SIGNIFICANT_DIGITS: i32 = 17;

pub(crate) struct Text {
    bytes: [u8; TEXT_BYTES_MAX],
    len: usize,
}

impl Text {
    pub(crate) fn of(value: f64) -> Self {
        let mut text = Self { bytes: [0; TEXT_BYTES_MAX], len: 0 };
        if value.is_nan() {
            text.append(b"nan");
        } else if value.is_infinite() {
            text.append(if value > 0.0 { b"inf" } else { b"-inf" });
        } else if value == 0.0 {
            text.append(if value.is_sign_negative() { b"-0" } else { b"0" });
        } else {
            text.finite(value);
        }
        text
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn finite(&mut self, value: f64) {
        // `-d.dddddddddddddddde-308` gives the digits and the exponent after rounding.
        let mut scientific = [0; TEXT_BYTES_MAX];
        let room = scientific.len();
        let mut rest = &mut scientific[..];
        if write!(rest, "{:.16e}", value.abs()).is_err() {
            return; // cannot be: 32 bytes hold every such number
        }
        let used = room - rest.len();
        let scientific = &scientific[..used];
        let mark = scientific.iter().position(|byte| *byte == b'e').unwrap_or(used);
        let exponent: i32 = std::str::from_utf8(scientific.get(mark + 1..).unwrap_or_default())
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let mut digits = [0; SIGNIFICANT_DIGITS as usize];
        let source = scientific[..mark].iter().filter(|byte| **byte != b'.');
        for (digit, byte) in digits.iter_mut().zip(source) {
            *digit = *byte;
        }
        let kept = digits.iter().rposition(|digit| *digit != b'0').map_or(1, |last| last + 1);
        let digits = &digits[..kept];

        if value < 0.0 {
            self.append(b"-");
        }
        if !(-4..SIGNIFICANT_DIGITS).contains(&exponent) {
            self.append(&digits[..1]);
            if kept > 1 {
                self.append(b".");
                self.append(&digits[1..]);
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            let mut rest = &mut self.bytes[self.len..];
            let room = rest.len();
            if write!(rest, "e{sign}{:02}", exponent.abs()).is_ok() {
                self.len += room - rest.len();
            }
        } else if exponent < 0 {
            self.append(b"0.");
            for _ in 1..-exponent {
                self.append(b"0");
            }
            self.append(digits);
        } else {
            let whole = exponent as usize + 1;
            self.append(&digits[..whole.min(kept)]);
            for _ in kept..whole {
                self.append(b"0");
            }
            if kept > whole {
                self.append(b".");
                self.append(&digits[whole..]);
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_seventeen_digits_as_c_does() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (3.1, "3.1000000000000001"),
            (0.1, "0.10000000000000001"),
            (100.0, "100"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1.5e17, "1.5e+17"),
            (1e-4, "0.0001"),
            (1.25e-5, "1.2500000000000001e-05"),
            (123_456.75, "123456.75"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "4.9406564584124654e-324"),
            (-0.000_123_456_789_012_345_67, "-0.00012345678901234567"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(std::str::from_utf8(Text::of(value).as_bytes()), Ok(text));
        }
    }
}
