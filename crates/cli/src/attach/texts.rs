//! Replies that are a text for people to read: shown as its lines, where any other reply's bytes are shown
//! between quotes.
//!
//! A server says which those are only to clients of RESP3, which the ring and the socket do not speak here:
//! other replies would look otherwise in it. So they are known by their commands, as in redis-cli.

use dolium_attach::Value;

/// Commands, and what follows them where not all of their replies are texts.
const TEXTS: [(&str, &str); 10] = [
    ("INFO", ""),
    ("LOLWUT", ""),
    ("CLIENT", "LIST"),
    ("CLIENT", "INFO"),
    ("CLUSTER", "NODES"),
    ("CLUSTER", "INFO"),
    ("LATENCY", "DOCTOR"),
    ("LATENCY", "GRAPH"),
    ("MEMORY", "DOCTOR"),
    ("MEMORY", "MALLOC-STATS"),
];

/// The reply's lines, without the last line's end, if it is a text.
pub fn of(words: &[&[u8]], reply: &Value) -> Option<Vec<u8>> {
    let Value::Bulk(bytes) = reply else { return None };
    let is = |at: usize, name: &str| {
        words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    let (..) = TEXTS.iter().find(|(name, sub)| is(0, name) && (sub.is_empty() || is(1, sub)))?;
    let mut lines = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(line) => lines.extend_from_slice(&[line, b"\n"].concat()),
            None => lines.extend_from_slice(line),
        }
    }
    lines.pop_if(|byte| *byte == b'\n');
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_known_by_their_command_and_shown_as_lines() {
        let of = |words: &str, bytes: &[u8]| {
            let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
            of(&words, &Value::Bulk(bytes.to_vec()))
        };
        let info = b"# Server\r\nport:1\r\n\r\n# Clients\r\n";
        let lines = b"# Server\nport:1\n\n# Clients".to_vec();
        assert_eq!(of("info server", info), Some(lines));
        assert_eq!(of("CLIENT list", b"id=1\nid=2\n"), Some(b"id=1\nid=2".to_vec()));
        assert_eq!(of("LOLWUT VERSION 5", b"a\rb"), Some(b"a\rb".to_vec()));
        for words in ["GET INFO", "CLIENT GETNAME", "CLIENT", "MEMORY USAGE", "INFOS"] {
            assert_eq!(of(words, info), None, "{words}");
        }
        assert_eq!(super::of(&[b"INFO"], &Value::Error(b"ERR no".to_vec())), None);
    }
}
