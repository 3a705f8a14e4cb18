//! Replies from bytes, for clients: how long the next one is, and what it says.
//!
//! ```text
//!   +OK\r\n   :5\r\n   $3\r\nabc\r\n   *2\r\n:1\r\n:2\r\n   %1\r\n+k\r\n+v\r\n   _\r\n   #t\r\n   ,1.5\r\n
//! ```
//! [`skip`] finds a reply's end without building anything and is resumable: one counter of values
//! still to come is enough, since an array of n adds n to it. [`decode`] then builds the value of a
//! reply that is known to be whole. Streamed strings and aggregates (`$?`, `*?`), which no server
//! sends, are refused.

use super::Value;
use crate::Parse;
use crate::limits::{LINE_BYTES_MAX, REPLY_DEPTH_MAX};
use crate::number::parse_i64;
use memchr::memchr;

/// Why a stream of replies cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyError {
    /// A reply begins with a byte that announces nothing.
    UnknownKind(u8),
    /// What stands behind the first byte is not what that kind needs.
    Malformed(u8),
    /// A header line has no end within 64 KiB.
    LineTooLong,
    /// Aggregates within aggregates, deeper than the reader follows.
    TooDeep,
}

impl std::fmt::Display for ReplyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownKind(byte) => {
                write!(
                    f,
                    "a reply cannot begin with '{}': is this a Redis server?",
                    byte.escape_ascii()
                )
            }
            Self::Malformed(byte) => {
                write!(f, "a reply of kind '{}' is malformed", byte.escape_ascii())
            }
            Self::LineTooLong => {
                write!(f, "a reply's first line is longer than {LINE_BYTES_MAX} bytes")
            }
            Self::TooDeep => write!(f, "a reply is nested deeper than {REPLY_DEPTH_MAX} levels"),
        }
    }
}

impl std::error::Error for ReplyError {}

/// A connection's place in an unfinished reply.
#[derive(Debug, Default, Clone)]
pub struct SkipState {
    offset: usize,
    /// Values still to come, beside the one at `offset`.
    owed: u64,
}

/// The first line of a reply, or of an element.
#[derive(Debug, Clone, Copy)]
enum Head {
    /// The line is all of it.
    Line,
    /// This many bytes and a line end follow.
    Block(usize),
    /// This many elements follow; pairs count twice.
    Elements(u64),
    /// Pairs, and then the value that they are about.
    Attribute(u64),
    Null,
}

/// Finds the end of the reply that begins at `input`'s first byte.
pub fn skip(input: &[u8], state: &mut SkipState) -> Parse<ReplyError> {
    loop {
        let (head, start) = match head(input, state.offset) {
            Ok(Some(found)) => found,
            Ok(None) => return Parse::Incomplete { need_at_least: input.len() + 1 },
            Err(error) => return Parse::Error(error),
        };
        let mut end = start;
        let mut owed = state.owed;
        match head {
            Head::Line | Head::Null => {}
            Head::Block(len) => {
                end += len + 2;
                if end > input.len() {
                    return Parse::Incomplete { need_at_least: end };
                }
            }
            Head::Elements(count) => owed = owed.saturating_add(count),
            // The value itself is still to come: the attribute does not count as one.
            Head::Attribute(count) => owed = owed.saturating_add(count).saturating_add(1),
        }
        if owed == 0 {
            *state = SkipState::default();
            return Parse::Complete { consumed: end };
        }
        *state = SkipState { offset: end, owed: owed - 1 };
        if end == input.len() {
            return Parse::Incomplete { need_at_least: end + 1 };
        }
    }
}

/// The first line at `offset`, and where the next byte lies; `None` if it has no end yet.
#[inline]
fn head(input: &[u8], offset: usize) -> Result<Option<(Head, usize)>, ReplyError> {
    let Some(rest) = input.get(offset..).filter(|rest| !rest.is_empty()) else { return Ok(None) };
    let kind = rest[0];
    let Some(newline) = memchr(b'\n', rest) else {
        // Simple strings and errors have no bound; the lines of other kinds are numbers.
        let numeric = !matches!(kind, b'+' | b'-' | b'(');
        return match numeric && rest.len() > LINE_BYTES_MAX {
            true => Err(ReplyError::LineTooLong),
            false => Ok(None),
        };
    };
    if newline == 0 {
        return Err(ReplyError::UnknownKind(kind));
    }
    let line = rest[1..newline].strip_suffix(b"\r").ok_or(ReplyError::Malformed(kind))?;
    let malformed = ReplyError::Malformed(kind);
    let length = |pairs: u64| match parse_i64(line) {
        Some(-1) => Ok(None),
        Some(len @ 0..) => (len as u64).checked_mul(pairs).map(Some).ok_or(malformed),
        _ => Err(malformed),
    };
    let found = match kind {
        b'+' | b'-' => Head::Line,
        b':' => parse_i64(line.strip_prefix(b"+").unwrap_or(line))
            .map(|_| Head::Line)
            .ok_or(malformed)?,
        b'$' | b'!' | b'=' => match length(1)? {
            Some(len) if len > usize::MAX as u64 / 4 => return Err(malformed),
            Some(len) => Head::Block(len as usize),
            None if kind == b'$' => Head::Null,
            None => return Err(malformed),
        },
        b'*' | b'~' | b'>' => match length(1)? {
            Some(count) => Head::Elements(count),
            None if kind == b'*' => Head::Null,
            None => return Err(malformed),
        },
        b'%' => Head::Elements(length(2)?.ok_or(malformed)?),
        b'|' => Head::Attribute(length(2)?.ok_or(malformed)?),
        b'_' if line.is_empty() => Head::Null,
        b'#' if matches!(line, b"t" | b"f") => Head::Line,
        b',' => double(line).map(|_| Head::Line).ok_or(malformed)?,
        b'(' if is_whole_number(line) => Head::Line,
        b'_' | b'#' | b'(' => return Err(malformed),
        other => return Err(ReplyError::UnknownKind(other)),
    };
    Ok(Some((found, offset + newline + 1)))
}

fn is_whole_number(line: &[u8]) -> bool {
    let digits = line.strip_prefix(b"-").unwrap_or(line);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn double(line: &[u8]) -> Option<f64> {
    // Rust reads `inf`, `-inf` and `nan` as RESP writes them.
    std::str::from_utf8(line).ok()?.parse().ok()
}

/// Builds the reply at the beginning of `input`, and says how many bytes it took.
///
/// `None` if it is not whole: with large replies, let [`skip`] say when it is, so that it is built
/// once.
pub fn decode(input: &[u8]) -> Result<Option<(Value, usize)>, ReplyError> {
    let mut decoder = Decoder { input, offset: 0 };
    let value = decoder.value(REPLY_DEPTH_MAX)?;
    Ok(value.map(|value| (value, decoder.offset)))
}

struct Decoder<'a> {
    input: &'a [u8],
    offset: usize,
}

impl Decoder<'_> {
    fn value(&mut self, depth: usize) -> Result<Option<Value>, ReplyError> {
        let depth = depth.checked_sub(1).ok_or(ReplyError::TooDeep)?;
        let Some((found, start)) = head(self.input, self.offset)? else { return Ok(None) };
        let kind = self.input[self.offset];
        let line = &self.input[self.offset + 1..start - 2];
        self.offset = start;
        let value = match found {
            Head::Null => Value::Null,
            Head::Line => line_value(kind, line)?,
            Head::Block(len) => {
                let Some(block) = self.input.get(start..start + len + 2) else { return Ok(None) };
                self.offset += block.len();
                block_value(kind, &block[..len])?
            }
            Head::Elements(count) if kind == b'%' => {
                let Some(pairs) = self.pairs(count / 2, depth)? else { return Ok(None) };
                Value::Map(pairs)
            }
            Head::Elements(count) => {
                let Some(values) = self.values(count, depth)? else { return Ok(None) };
                match kind {
                    b'~' => Value::Set(values),
                    b'>' => Value::Push(values),
                    _ => Value::Array(values),
                }
            }
            Head::Attribute(count) => {
                let Some(pairs) = self.pairs(count / 2, depth)? else { return Ok(None) };
                let Some(value) = self.value(depth)? else { return Ok(None) };
                Value::Attributed(pairs, Box::new(value))
            }
        };
        Ok(Some(value))
    }

    fn values(&mut self, count: u64, depth: usize) -> Result<Option<Vec<Value>>, ReplyError> {
        // The count is the peer's word; every element takes three bytes at least.
        let most = (self.input.len() - self.offset) as u64 / 3;
        let mut values = Vec::with_capacity(count.min(most) as usize);
        for _ in 0..count {
            let Some(value) = self.value(depth)? else { return Ok(None) };
            values.push(value);
        }
        Ok(Some(values))
    }

    fn pairs(
        &mut self,
        count: u64,
        depth: usize,
    ) -> Result<Option<Vec<(Value, Value)>>, ReplyError> {
        let mut pairs = Vec::new();
        for _ in 0..count {
            let Some(key) = self.value(depth)? else { return Ok(None) };
            let Some(value) = self.value(depth)? else { return Ok(None) };
            pairs.push((key, value));
        }
        Ok(Some(pairs))
    }
}

fn line_value(kind: u8, line: &[u8]) -> Result<Value, ReplyError> {
    let malformed = ReplyError::Malformed(kind);
    Ok(match kind {
        b'+' => Value::Simple(line.to_vec()),
        b'-' => Value::Error(line.to_vec()),
        b':' => Value::Int(parse_i64(line.strip_prefix(b"+").unwrap_or(line)).ok_or(malformed)?),
        b'#' => Value::Bool(line == b"t"),
        b',' => Value::Double(double(line).ok_or(malformed)?),
        _ => Value::BigNumber(line.to_vec()),
    })
}

fn block_value(kind: u8, block: &[u8]) -> Result<Value, ReplyError> {
    Ok(match (kind, block) {
        (b'$', block) => Value::Bulk(block.to_vec()),
        (b'!', block) => Value::Error(block.to_vec()),
        (_, [a, b, c, b':', text @ ..]) => Value::Verbatim([*a, *b, *c], text.to_vec()),
        (kind, _) => return Err(ReplyError::Malformed(kind)),
    })
}
