//! Commands that a user is told to run, in a form in which a shell takes them.

/// A word, between quotes if it needs any.
pub fn word(bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:@%+,=".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => format!("$'{}'", bytes.escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_takes_a_word_for_what_it_was() {
        let plain = ["greeting", "user:1000", "/run/user/1000/dolium.attach", "-n"];
        for text in plain {
            assert_eq!(word(text.as_bytes()), text);
        }
        let quoted =
            ["", "a b", "it's", "$HOME", "`id`", "*", "~", "a\\b", "\"", "#", "gr\u{fc}\u{df}e"];
        for text in quoted {
            let line = format!("printf %s {}", word(text.as_bytes()));
            let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
            assert_eq!(output.stdout, text.as_bytes(), "{line}");
        }
        assert_eq!(word(b"\x1b'\xff\n"), r"$'\x1b\'\xff\n'");
    }
}
