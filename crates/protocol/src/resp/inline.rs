//! Inline commands: a request as a person types it, with Redis' quoting.
//!
//! ```text
//!   set "a key" 'it\'s'        three arguments; blanks separate
//!   "\x41\n"                   in double quotes: \xHH, \n \r \t \b \a, and \c is c for any other c
//!   'a\'b'                     in single quotes only \' is special
//! ```
//! A closing quote must be followed by a blank or the line's end. An opening quote inside a word
//! starts quoting there (`a"b c"` is one argument), as in Redis.

use super::ParseError;
use super::args::{ArgRange, ArgVec};

/// Splits `line` (without its end) into arguments, unquoted.
pub(crate) fn split(line: &[u8], args: &mut ArgVec) -> Result<(), ParseError> {
    let mut ranges = args.take();
    let unquoted = args.unquoted();
    let mut rest = skip_blanks(line);
    while !rest.is_empty() {
        let start = unquoted.len();
        rest = skip_blanks(word(rest, unquoted)?);
        let len = unquoted.len() - start;
        ranges.push(ArgRange::new(start, len));
    }
    args.put(ranges);
    Ok(())
}

/// C's `isspace`, which is what may stand before a word and after a closing quote.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let count = text.iter().take_while(|byte| is_blank(**byte)).count();
    &text[count..]
}

/// Appends one word to `out` and returns what follows it.
fn word<'a>(mut text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], ParseError> {
    loop {
        match text {
            // Unlike before a word, vertical tab and form feed are part of one.
            [] | [b' ' | b'\n' | b'\r' | b'\t', ..] => return Ok(text),
            [b'"', rest @ ..] => return closed(double_quoted(rest, out)?),
            [b'\'', rest @ ..] => return closed(single_quoted(rest, out)?),
            [byte, rest @ ..] => {
                out.push(*byte);
                text = rest;
            }
        }
    }
}

/// What may follow a closing quote.
fn closed(rest: &[u8]) -> Result<&[u8], ParseError> {
    match rest.first() {
        Some(byte) if !is_blank(*byte) => Err(ParseError::UnbalancedQuotes),
        _ => Ok(rest),
    }
}

fn double_quoted<'a>(mut text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], ParseError> {
    loop {
        match text {
            [] => return Err(ParseError::UnbalancedQuotes),
            [b'"', rest @ ..] => return Ok(rest),
            [b'\\', b'x', high, low, rest @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                out.push(hex_value(*high) << 4 | hex_value(*low));
                text = rest;
            }
            [b'\\', escaped, rest @ ..] => {
                out.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                text = rest;
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                text = rest;
            }
        }
    }
}

fn single_quoted<'a>(mut text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], ParseError> {
    loop {
        match text {
            [] => return Err(ParseError::UnbalancedQuotes),
            [b'\'', rest @ ..] => return Ok(rest),
            [b'\\', b'\'', rest @ ..] => {
                out.push(b'\'');
                text = rest;
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                text = rest;
            }
        }
    }
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut args = ArgVec::new();
        split(line, &mut args).ok()?;
        Some(args.view(b"").iter().map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn splits_as_redis_does() {
        for (line, expected) in [
            (&b""[..], &[][..]),
            (b" \t ", &[]),
            (b"ping", &[&b"ping"[..]]),
            (b"ping \x0b hi", &[b"ping", b"hi"]),
            (b"a\x0bb", &[b"a\x0bb"]),
            (b"echo 'a\\'b'", &[b"echo", b"a'b"]),
            (b"echo 'a\\n'", &[b"echo", b"a\\n"]),
            (br#"echo "\x41\n\q\xZZ\x4""#, &[b"echo", b"A\nqxZZx4"]),
            (br#"echo "\r\t\b\a\"\\""#, &[b"echo", b"\r\t\x08\x07\"\\"]),
            (br#"echo a"b c""#, &[b"echo", b"ab c"]),
            (b"ping \"\"", &[b"ping", b""]),
            (b"ping ''", &[b"ping", b""]),
            (b"ping \r", &[b"ping"]),
        ] {
            let expected: Vec<Vec<u8>> = expected.iter().map(|word| word.to_vec()).collect();
            assert_eq!(words(line), Some(expected), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn refuses_unpaired_quotes() {
        for line in
            [&b"ping \"a"[..], b"ping \"a\"b", b"ping ''x", b"\"", b"'", b"echo a\\\"b", b"\"\\"]
        {
            assert_eq!(words(line), None, "{}", line.escape_ascii());
        }
    }
}
