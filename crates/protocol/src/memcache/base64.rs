//! Keys in base64, as a meta command with the flag `b` has them.
//!
//! ```text
//!   Zm9v  ->  foo       four characters of six bits each are three bytes
//!   Zm8=  ->  fo        `=` fills the last four up
//! ```
//! What is not well formed is refused, where Memcached skips what it cannot read.

use super::meta::KeyBuffer;
use crate::limits::MEMCACHE_KEY_BYTES_MAX;

/// Decodes standard base64 with padding; `None` unless well formed and not empty.
pub(super) fn decode(text: &[u8], out: &mut KeyBuffer) -> Option<usize> {
    if text.is_empty() || !text.len().is_multiple_of(4) || text.len() > MEMCACHE_KEY_BYTES_MAX {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let digits = &text[..text.len() - padding];
    let mut len = 0;
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for index in 0..4 {
            let digit = group.get(index).map_or(Some(0), |byte| digit(*byte))?;
            bits = bits << 6 | digit;
        }
        let [_, bytes @ ..] = bits.to_be_bytes();
        let count = group.len() - 1;
        out[len..len + count].copy_from_slice(&bytes[..count]);
        len += count;
    }
    Some(len)
}

fn digit(byte: u8) -> Option<u32> {
    let digit = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_well_formed_base64_only() {
        let decode = |text: &[u8]| {
            let mut out = [0; MEMCACHE_KEY_BYTES_MAX];
            decode(text, &mut out).map(|len| out[..len].to_vec())
        };
        for (text, bytes) in [
            (&b"Zg=="[..], &b"f"[..]),
            (b"Zm8=", b"fo"),
            (b"Zm9v", b"foo"),
            (b"Zm9vYg==", b"foob"),
            (b"AAH+/w==", b"\x00\x01\xfe\xff"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        for text in [&b""[..], b"Zg", b"Z===", b"====", b"Zm9v\n", b"Z!==", b"Zg==Zg==", b"-_=="] {
            assert_eq!(decode(text), None, "{}", text.escape_ascii());
        }
    }
}
