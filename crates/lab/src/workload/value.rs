//! The value of a key follows from its number, so that a reader can check every byte of it.
//!
//! Values are 64 visible characters, `?` to `~`: nothing in them looks like the end of a line, and they
//! do not compress, so no layer can cheat by noticing that they are all alike.
//!
//! ```text
//! the key's number -> its first word | + STEP -> the next | + STEP ...    each stirred, six bits a character
//! ```
//! Eight characters at once: a client checks all that it reads, and with a character at a time it
//! spent 3 us on a value of 4 KB, as much as an attached process takes to read ten.

/// Characters made of one word, by the lower six bits of each of its bytes.
const CHARACTERS: usize = 8;
const SIX_BITS: u64 = 0x3F3F_3F3F_3F3F_3F3F;
/// The first of the characters, eight times. The last of them, 63 further on, is still no control character.
const FIRST: u64 = u64::from_le_bytes([b'?'; CHARACTERS]);
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A well mixed word from `x` (the finaliser of SplitMix64).
#[inline]
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The characters of the value of a key, without end.
#[inline]
fn words(id: u32) -> impl Iterator<Item = [u8; CHARACTERS]> {
    let first = mix(u64::from(id));
    (0u64..).map(move |number| {
        let word = first.wrapping_add(number.wrapping_mul(STEP));
        let stirred = (word ^ (word >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        ((stirred >> 2 & SIX_BITS) + FIRST).to_le_bytes()
    })
}

/// Appends the value of key `id`.
pub fn push(out: &mut Vec<u8>, id: u32, len: usize) {
    let from = out.len();
    out.resize(from + len, 0);
    let mut words = words(id);
    let mut chunks = out[from..].chunks_exact_mut(CHARACTERS);
    chunks.by_ref().zip(&mut words).for_each(|(chunk, word)| chunk.copy_from_slice(&word));
    let rest = chunks.into_remainder();
    let last = words.next().unwrap_or_default();
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Whether `bytes` is the value of key `id`.
pub fn matches(bytes: &[u8], id: u32) -> bool {
    let mut words = words(id);
    let chunks = bytes.chunks_exact(CHARACTERS);
    let rest = chunks.remainder();
    chunks.zip(&mut words).all(|(chunk, word)| chunk == word)
        && words.next().is_some_and(|word| word.starts_with(rest))
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
        for at in [0, 95, 96, 99] {
            out[at] ^= 1;
            assert!(!matches(&out, 5), "{at}");
            out[at] ^= 1;
        }
    }

    #[test]
    fn a_value_of_any_length_is_visible_and_begins_as_a_longer_one_does() {
        let of = |id, len| {
            let mut out = b"before".to_vec();
            push(&mut out, id, len);
            assert!(matches(&out[6..], id), "{len}");
            out
        };
        let whole = of(9, 1000);
        assert!(whole.iter().all(u8::is_ascii_graphic));
        assert!((0..1000).all(|len| of(9, len) == whole[..6 + len]));
        // Of 64 characters none is much more frequent than the others.
        let mut counts = [0; 256];
        (0..100).for_each(|id| of(id, 640)[6..].iter().for_each(|c| counts[usize::from(*c)] += 1));
        assert!(counts[63..127].iter().all(|count| (800..1200).contains(count)), "{counts:?}");
    }
}
