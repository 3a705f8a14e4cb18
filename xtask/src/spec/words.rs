//! From a line of a case to a request of Redis: words as redis-cli reads them, and their encoding.

use super::expect::unescape;
use crate::Result;

/// Splits a line at spaces; a quoted word may hold spaces and escapes. `word*1000` repeats nothing:
/// `"x"*1000` is the quoted text a thousand times.
pub fn words(line: &str) -> Result<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let Some(quoted) = rest.strip_prefix('"') else {
            let end = rest.find(' ').unwrap_or(rest.len());
            words.push(rest.as_bytes()[..end].to_vec());
            rest = rest[end..].trim_start();
            continue;
        };
        let mut escaped = false;
        let end = quoted.find(|character| {
            let ends = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            ends
        });
        let end = end.ok_or("a quote is not closed")?;
        let mut word = unescape(&quoted[..end]);
        rest = &quoted[end + 1..];
        if let Some(times) = rest.strip_prefix('*') {
            let end = times.find(' ').unwrap_or(times.len());
            let count: usize = times[..end].parse().map_err(|_| "a count is expected after *")?;
            word = word.repeat(count);
            rest = &times[end..];
        }
        words.push(word);
        rest = rest.trim_start();
    }
    Ok(words)
}

/// A request as clients send it: an array of bulk strings.
pub fn encode(words: &[Vec<u8>], bytes: &mut Vec<u8>) {
    bytes.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend(word.iter().copied().chain(*b"\r\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::{encode, words};

    #[test]
    fn quoted_words_may_hold_anything_and_be_repeated() {
        let read = words("SET  k \"a \\\"b\\x00\" \"xy\"*3").expect("words");
        assert_eq!(read, [&b"SET"[..], b"k", b"a \"b\0", b"xyxyxy"]);
        assert!(words("GET \"k").is_err());
        let mut bytes = Vec::new();
        encode(&read[..2], &mut bytes);
        assert_eq!(bytes, b"*2\r\n$3\r\nSET\r\n$1\r\nk\r\n");
    }
}
