//! What a case expects: written replies and wildcards, and matching them with what came.

use super::reply::{Nil, Reply};
use crate::Result;

/// `*` in an expected text stands for anything, `\*` for the star itself.
#[derive(Debug)]
pub enum Expected {
    Anything,
    Nil(Nil),
    Simple(String),
    Error(String),
    Integer(i64),
    /// `:1..100`
    IntegerWithin(i64, i64),
    Bulk(Vec<u8>),
    /// `~"glob"`: a bulk, simple or verbatim text that matches.
    Like(String),
    Double(String),
    Boolean(bool),
    Many(Many, Vec<Expected>),
    /// `{...}`: an array, set or map with these members in any order.
    Unordered(Vec<Expected>),
}

#[derive(Debug, PartialEq, Clone, Copy)]
pub enum Many {
    Array,
    Set,
    Map,
    Push,
}

pub fn matches(expected: &Expected, found: &Reply) -> bool {
    let all = |expected: &[Expected], found: &[Reply]| {
        expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| matches(e, f))
    };
    match (expected, found) {
        (Expected::Anything, _) => true,
        (Expected::Nil(kind), Reply::Nil(found)) => kind == found,
        (Expected::Simple(glob), Reply::Simple(text)) => like(glob, text),
        (Expected::Error(glob), Reply::Error(text)) => like(glob, text),
        (Expected::Integer(number), Reply::Integer(found)) => number == found,
        (Expected::IntegerWithin(low, high), Reply::Integer(found)) => {
            (low..=high).contains(&found)
        }
        (Expected::Bulk(bytes), Reply::Bulk(found)) => bytes == found,
        (Expected::Like(glob), Reply::Bulk(found) | Reply::Verbatim(found)) => {
            like(glob, &String::from_utf8_lossy(found))
        }
        (Expected::Like(glob), Reply::Simple(found)) => like(glob, found),
        (Expected::Double(text), Reply::Double(found)) => text == found,
        (Expected::Boolean(value), Reply::Boolean(found)) => value == found,
        (Expected::Many(Many::Array, items), Reply::Array(found)) => all(items, found),
        (Expected::Many(Many::Set, items), Reply::Set(found)) => all(items, found),
        (Expected::Many(Many::Map, items), Reply::Map(found)) => all(items, found),
        (Expected::Many(Many::Push, items), Reply::Push(found)) => all(items, found),
        (Expected::Unordered(items), Reply::Array(found) | Reply::Set(found)) => {
            let mut left: Vec<&Reply> = found.iter().collect();
            for item in items {
                match left.iter().position(|found| matches(item, found)) {
                    Some(at) => drop(left.swap_remove(at)),
                    None => return false,
                }
            }
            left.is_empty()
        }
        _ => false,
    }
}

/// Glob matching with `*` alone: the pieces between stars must appear in order.
pub fn like(glob: &str, text: &str) -> bool {
    let pieces: Vec<String> =
        glob.replace("\\*", "\u{1}").split('*').map(|piece| piece.replace('\u{1}', "*")).collect();
    let [first, middle @ .., last] = pieces.as_slice() else { return pieces[0] == text };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for piece in middle {
        match rest.split_once(piece.as_str()) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last.as_str())
}

/// Parses all expected lines of an exchange: a sequence of values that may span lines. An error
/// takes the rest of its line, since its text has spaces.
pub fn parse(lines: &[String]) -> Result<Vec<Expected>> {
    let text = lines.join("\n");
    let mut parser = Parser { rest: &text };
    let mut values = Vec::new();
    while !parser.at_end() {
        values.push(parser.value()?);
    }
    Ok(values)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn at_end(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.is_empty()
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self) -> Result<Expected> {
        if self.at_end() {
            return Err("a value is missing".to_string());
        }
        if self.eat("-") {
            // To the last blank of its line: some errors end in one.
            let (text, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            self.rest = rest;
            return Ok(Expected::Error(text.to_string()));
        }
        if self.eat("+\"") {
            return self.quoted().map(|text| Expected::Simple(lossy(&text)));
        }
        if self.eat("~\"") || self.eat("=\"") {
            return self.quoted().map(|text| Expected::Like(lossy(&text)));
        }
        if self.eat("\"") {
            return self.quoted().map(Expected::Bulk);
        }
        for (sign, many) in
            [("push[", Many::Push), ("~[", Many::Set), ("%[", Many::Map), ("[", Many::Array)]
        {
            if self.eat(sign) {
                return self.members(']').map(|items| Expected::Many(many, items));
            }
        }
        if self.eat("{") {
            return self.members('}').map(Expected::Unordered);
        }
        let word = self.until(&[' ', '\n', ']', '}']);
        if let Some(&nil) = Nil::ALL.iter().find(|nil| nil.word() == word) {
            return Ok(Expected::Nil(nil));
        }
        let wrong = || format!("not a reply: {word}");
        Ok(match word.split_at(1.min(word.len())) {
            ("+", text) => Expected::Simple(text.to_string()),
            (":", number) => match number.split_once("..") {
                Some((low, high)) => Expected::IntegerWithin(
                    low.parse().map_err(|_| wrong())?,
                    high.parse().map_err(|_| wrong())?,
                ),
                None => Expected::Integer(number.parse().map_err(|_| wrong())?),
            },
            (",", number) => Expected::Double(number.to_string()),
            ("#", value) => Expected::Boolean(value == "t"),
            ("_", "") => Expected::Anything,
            _ => return Err(wrong()),
        })
    }

    fn members(&mut self, end: char) -> Result<Vec<Expected>> {
        let mut items = Vec::new();
        loop {
            if self.at_end() {
                return Err(format!("{end} is missing"));
            }
            if self.rest.starts_with(end) {
                self.rest = &self.rest[1..];
                return Ok(items);
            }
            items.push(self.value()?);
        }
    }

    fn until(&mut self, ends: &[char]) -> String {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text.trim_end().to_string()
    }

    /// The text up to the closing quote, with `\" \\ \r \n \t \xHH` undone.
    fn quoted(&mut self) -> Result<Vec<u8>> {
        let mut escaped = false;
        for (at, character) in self.rest.char_indices() {
            match character {
                '"' if !escaped => {
                    let text = unescape(&self.rest[..at]);
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\\' => escaped = !escaped,
                _ => escaped = false,
            }
        }
        Err("a quote is not closed".to_string())
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Undoes `\" \\ \r \n \t \xHH`; an unknown escape stays as it is (a glob's `\*`).
pub fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = (bytes[at], bytes.get(at + 1).copied());
        let hex = || {
            let digits = bytes.get(at + 2..at + 4)?;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let (byte, length) = match pair {
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(quoted @ (b'"' | b'\\'))) => (quoted, 2),
            (b'\\', Some(b'x')) if hex().is_some() => (hex().unwrap_or_default(), 4),
            (byte, _) => (byte, 1),
        };
        plain.push(byte);
        at += length;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::reply::{Nil, Reply};
    use super::{like, matches, parse, unescape};

    fn agree(expected: &str, found: &Reply) -> bool {
        let values = parse(&[expected.to_string()]).expect("parses");
        values.len() == 1 && matches(&values[0], found)
    }

    #[test]
    fn values_match_their_own_kind_only() {
        assert!(agree("\"a\\x00b\"", &Reply::Bulk(b"a\0b".to_vec())));
        assert!(agree(":1..5", &Reply::Integer(5)));
        assert!(!agree(":1..5", &Reply::Integer(6)));
        assert!(!agree("+OK", &Reply::Bulk(b"OK".to_vec())));
        assert!(agree("-ERR *", &Reply::Error("ERR syntax error".into())));
        let list = Reply::Array(vec![Reply::Integer(1), Reply::Nil(Nil::Bulk)]);
        assert!(agree("[:1 nil]", &list));
        assert!(!agree("[:1]", &list));
        assert!(agree("{nil :1}", &list));
        assert!(agree("nil*", &Reply::Nil(Nil::Array)) && agree("null", &Reply::Nil(Nil::Null)));
        assert!(!agree("nil", &Reply::Nil(Nil::Array)) && !agree("[nil]", &Reply::Nil(Nil::Bulk)));
    }

    #[test]
    fn globs_hold_pieces_in_order() {
        assert!(like("a*c*e", "abcde") && !like("a*e*c", "abcde") && like("\\*1", "*1"));
        assert!(!like("ab*ba", "aba"));
    }

    #[test]
    fn escapes_are_bytes() {
        assert_eq!(unescape("\\r\\n\\xff\\\\"), b"\r\n\xff\\");
    }
}
