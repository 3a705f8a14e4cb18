//! The x87 `long double` in software: what INCRBYFLOAT computes with.
//!
//! Redis adds in C's `long double`, which has 64 bits of mantissa on x86, and prints with
//! `%.17Lf`. Clients see the digits, so 3 + 1.1 must come out as it does there; a 64-bit float
//! would not do.
//!
//! ```text
//!   value = (-1)^negative * mantissa * 2^exponent
//!   normal:   top bit of the mantissa is set, exponent -16444 ..= 16320
//!   denormal: exponent -16445 and any mantissa; zero is the one with mantissa 0
//! ```

mod parse;

use num_bigint::BigUint;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongDouble {
    Finite { negative: bool, mantissa: u64, exponent: i32 },
    Infinite { negative: bool },
    NotANumber,
}

const EXPONENT_MIN: i32 = -16445;
const EXPONENT_MAX: i32 = 16383 - 63;
/// Digits after the point that are printed.
const FRACTION_DIGITS: usize = 17;
const FRACTION_UNIT: u128 = 10u128.pow(FRACTION_DIGITS as u32);

impl LongDouble {
    pub const ZERO: Self = Self::Finite { negative: false, mantissa: 0, exponent: EXPONENT_MIN };

    pub fn from_i64(value: i64) -> Self {
        round(value < 0, u128::from(value.unsigned_abs()), false, 0)
    }

    pub fn is_finite(self) -> bool {
        matches!(self, Self::Finite { .. })
    }

    pub fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotANumber, _) | (_, Self::NotANumber) => Self::NotANumber,
            (Self::Infinite { negative: a }, Self::Infinite { negative: b }) if a != b => {
                Self::NotANumber
            }
            (infinite @ Self::Infinite { .. }, _) | (_, infinite @ Self::Infinite { .. }) => {
                infinite
            }
            (
                Self::Finite { negative: n1, mantissa: m1, exponent: e1 },
                Self::Finite { negative: n2, mantissa: m2, exponent: e2 },
            ) => {
                let (a, b) = ((e1, m1, n1), (e2, m2, n2));
                if (e1, m1) >= (e2, m2) { add_ordered(a, b) } else { add_ordered(b, a) }
            }
        }
    }

    /// `%.17Lf` without its trailing zeros.
    pub fn to_human(self) -> String {
        let Self::Finite { negative, mantissa, exponent } = self else {
            return if self == Self::NotANumber { "nan" } else { "inf" }.to_owned();
        };
        let digits = if exponent >= 0 {
            (BigUint::from(mantissa) << exponent as usize).to_string()
        } else {
            fixed_point(mantissa, exponent.unsigned_abs())
        };
        if negative && digits != "0" { format!("-{digits}") } else { digits }
    }
}

/// `mantissa / 2^shift` with 17 digits, rounded to even as printf does.
fn fixed_point(mantissa: u64, shift: u32) -> String {
    // 64 bits times 10^17 is less than 2^121.
    let scaled = u128::from(mantissa) * FRACTION_UNIT;
    let rounded = if shift >= 124 { 0 } else { shift_rounding(scaled, shift, false) };
    let (whole, fraction) = (rounded / FRACTION_UNIT, rounded % FRACTION_UNIT);
    if fraction == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{fraction:017}");
    text.trim_end_matches('0').to_owned()
}

type Part = (i32, u64, bool);

/// Adds, `a` being the larger in magnitude.
fn add_ordered(a: Part, b: Part) -> LongDouble {
    let (exponent, mantissa, negative) = a;
    // 62 bits of room below the larger mantissa; what falls off the smaller one is remembered.
    const ROOM: u32 = 62;
    let large = u128::from(mantissa) << ROOM;
    let small = u128::from(b.1) << ROOM;
    let distance = (exponent - b.0) as u32;
    let (small, lost) = if distance >= 127 {
        (0, b.1 != 0)
    } else {
        (small >> distance, small & ((1 << distance) - 1) != 0)
    };
    let sum = if negative == b.2 {
        large + small
    } else {
        // The lost part is taken away too: one less, and a rest of the other sign remains.
        large - small - u128::from(lost)
    };
    let negative = if sum == 0 && !lost { negative && b.2 } else { negative };
    round(negative, sum, lost, exponent - ROOM as i32)
}

/// The nearest value to `bits * 2^exponent`, where `lost` says that a little more is there.
fn round(negative: bool, bits: u128, lost: bool, exponent: i32) -> LongDouble {
    let width = 128 - bits.leading_zeros() as i32;
    let shift = (width - 64).max(EXPONENT_MIN - exponent);
    let (mut bits, mut exponent) = if shift > 0 {
        let shifted = if shift >= 128 { 0 } else { shift_rounding(bits, shift as u32, lost) };
        (shifted, exponent + shift)
    } else {
        (bits, exponent)
    };
    if bits >> 64 != 0 {
        // Rounded up to the next power of two.
        bits >>= 1;
        exponent += 1;
    }
    // Normalised as far as the least exponent allows.
    let left = (bits as u64).leading_zeros().min((exponent - EXPONENT_MIN) as u32);
    let (mantissa, exponent) =
        if bits == 0 { (0, EXPONENT_MIN) } else { ((bits as u64) << left, exponent - left as i32) };
    if exponent > EXPONENT_MAX {
        return LongDouble::Infinite { negative };
    }
    LongDouble::Finite { negative, mantissa, exponent }
}

/// `bits >> shift`, to nearest, ties to even; `0 < shift < 128`.
fn shift_rounding(bits: u128, shift: u32, lost: bool) -> u128 {
    let kept = bits >> shift;
    let rest = bits & ((1 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let up = rest > half || (rest == half && (lost || kept & 1 == 1));
    kept + u128::from(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: &str, b: &str) -> String {
        let parse = |text: &str| LongDouble::parse(text.as_bytes()).unwrap();
        parse(a).add(parse(b)).to_human()
    }

    #[test]
    fn adds_as_redis_does() {
        for (a, b, expected) in [
            ("1.5", "1.5", "3"),
            ("3", "1.1", "4.1"),
            ("1", "0.1", "1.1"),
            ("10.50", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("1", "-1.1", "-0.1"),
            ("1", "-1", "0"),
            ("-0", "0", "0"),
            ("17179869184", "1.5", "17179869185.5"),
            ("3.0e3", "0x1p4", "3016"),
            ("0.1", "0.2", "0.3"),
            ("1e17", "0.1", "100000000000000000.1015625"),
            ("1e-17", "0", "0.00000000000000001"),
            ("1e-30", "1", "1"),
        ] {
            assert_eq!(sum(a, b), expected, "{a} + {b}");
        }
    }

    #[test]
    fn large_numbers_keep_every_digit() {
        assert!(sum("1e400", "1").starts_with("10000000000000000000281880683947586514586453"));
        let most = LongDouble::parse(b"1.1e4932").unwrap();
        assert!(most.is_finite() && !most.add(most).is_finite());
    }

    #[test]
    fn integers_are_exact() {
        for value in [0, 1, -1, i64::MAX, i64::MIN, 9_007_199_254_740_993] {
            assert_eq!(LongDouble::from_i64(value).to_human(), value.to_string());
            let text = value.to_string();
            let parsed = LongDouble::parse(text.as_bytes()).unwrap();
            assert_eq!(parsed.to_human(), text);
        }
    }
}
