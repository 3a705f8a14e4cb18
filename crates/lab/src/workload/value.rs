//! The value of a key follows from its number, so that a reader can check every byte of it.
//!
//! Values are letters, digits, `-` and `_`: nothing in them looks like the end of a line, and they
//! do not compress, so no layer can cheat by noticing that they are all alike.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Letters taken from one 64-bit word, six bits each.
const LETTERS_A_WORD: usize = 10;

/// A well mixed word from `x` (the finaliser of SplitMix64).
#[inline]
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Appends the value of key `id`.
pub fn push(out: &mut Vec<u8>, id: u32, len: usize) {
    let end = out.len() + len;
    let mut word_number = 0u64;
    while out.len() < end {
        let mut word = mix(u64::from(id) << 32 | word_number);
        word_number += 1;
        for _ in 0..LETTERS_A_WORD.min(end - out.len()) {
            out.push(ALPHABET[(word & 63) as usize]);
            word >>= 6;
        }
    }
}

/// Whether `bytes` is the value of key `id`.
pub fn matches(bytes: &[u8], id: u32) -> bool {
    let mut expected = Vec::with_capacity(bytes.len());
    push(&mut expected, id, bytes.len());
    expected == bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_its_own_and_no_other_keys() {
        let mut out = Vec::new();
        push(&mut out, 5, 100);
        assert_eq!(out.len(), 100);
        assert!(matches(&out, 5));
        assert!(!matches(&out, 6));
        out[99] ^= 1;
        assert!(!matches(&out, 5));
    }
}
