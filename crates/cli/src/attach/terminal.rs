//! What a terminal must not be shown as it is: it obeys control characters, and a value holds what anybody
//! may have stored. So there a value with any is shown escaped; a pipe or a file gets its bytes.

/// The escaped form, if one is needed. Lines, tabs and letters of any language stay as they are.
pub fn escaped(bytes: &[u8]) -> Option<String> {
    if std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_harmless)) {
        return None;
    }
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 4);
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            // A backslash would be taken for the beginning of something escaped.
            match is_harmless(letter) && letter != '\\' {
                true => text.push(letter),
                false => push(letter.encode_utf8(&mut [0; 4]).as_bytes(), &mut text),
            }
        }
        push(chunk.invalid(), &mut text);
    }
    Some(text)
}

fn is_harmless(letter: char) -> bool {
    !letter.is_control() || matches!(letter, '\n' | '\t')
}

fn push(bytes: &[u8], text: &mut String) {
    text.push_str(&bytes.escape_ascii().to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        for plain in ["", "salve", "two\n\tlines\n", "\u{fc}ber \u{65e5}\u{672c}", "C:\\x1b", "'\""]
        {
            assert_eq!(escaped(plain.as_bytes()), None, "{plain:?}");
        }
        for (bytes, shown) in [
            (&b"\x1b]0;title\x07 C:\\"[..], "\\x1b]0;title\\x07 C:\\\\"),
            (b"safe\r\nline", "safe\\r\nline"),
            ("\u{fc} \u{9b}31m".as_bytes(), "\u{fc} \\xc2\\x9b31m"),
            (b"\xff\x00\x7f", "\\xff\\x00\\x7f"),
        ] {
            assert_eq!(escaped(bytes).as_deref(), Some(shown));
        }
    }
}
