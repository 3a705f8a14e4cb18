//! Percent-decoding: how a key of any bytes stands in a path.

/// A percent sign that is not followed by two hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadEscape;

impl std::fmt::Display for BadEscape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a % in a path must be followed by two hexadecimal digits")
    }
}

impl std::error::Error for BadEscape {}

/// Appends `text` to `out`, each `%HH` as the byte it stands for. A plus sign is a plus sign.
pub fn percent_decode(mut text: &[u8], out: &mut Vec<u8>) -> Result<(), BadEscape> {
    while let Some(mark) = memchr::memchr(b'%', text) {
        let (plain, rest) = text.split_at(mark);
        out.extend_from_slice(plain);
        let [_, high, low, rest @ ..] = rest else { return Err(BadEscape) };
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(BadEscape);
        out.push((digit(*high)? << 4 | digit(*low)?) as u8);
        text = rest;
    }
    out.extend_from_slice(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_bytes() {
        let decode = |text: &[u8]| {
            let mut out = Vec::new();
            percent_decode(text, &mut out).map(|()| out)
        };
        assert_eq!(decode(b"a%20b+c%2F%ff%00"), Ok(b"a b+c/\xff\0".to_vec()));
        assert_eq!(decode(b""), Ok(vec![]));
        for text in [&b"%"[..], b"%2", b"a%g0", b"%+1"] {
            assert_eq!(decode(text), Err(BadEscape));
        }
    }
}
