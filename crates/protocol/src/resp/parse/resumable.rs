//! The resumable path: a request in however many pieces it comes, within every limit, and every refusal.
//!
//! ```text
//!   *3\r\n         count     -> Start
//!   $3\r\n         header    -> Header, `args_left` times
//!   SET\r\n        bulk      -> Bulk(3)
//! ```
//! What was understood stays in [`ParseState`]: the stage, where its bytes begin, and up to where there is no
//! line's end. An inline command is one line, and waits for its end only.

use super::super::args::{ArgRange, ArgVec};
use super::super::{ParseError, inline};
use super::{Limits, ParseState, Stage, short_header};
use crate::Parse;
use crate::limits::*;
use crate::number::parse_i64;
use memchr::memchr2;

/// Why the resumable path stopped before the request's end.
enum Stop {
    Need(usize),
    Refused(ParseError),
}

impl From<ParseError> for Stop {
    fn from(error: ParseError) -> Self {
        Self::Refused(error)
    }
}

#[inline(never)]
pub(super) fn parse_resumable(
    input: &[u8],
    limits: &Limits,
    state: &mut ParseState,
    args: &mut ArgVec,
) -> Parse<ParseError> {
    let result = match input.first() {
        None => Err(Stop::Need(1)),
        Some(b'*') => {
            if state.stage == Stage::Start {
                state.ranges = args.take();
            }
            multibulk(input, limits, state)
        }
        Some(_) => inline_command(input, state, args),
    };
    match result {
        Ok(consumed) => {
            if input[0] == b'*' {
                args.clear();
                args.put(std::mem::take(&mut state.ranges));
            }
            state.stage = Stage::Start;
            state.offset = 0;
            state.searched = 0;
            Parse::Complete { consumed }
        }
        Err(Stop::Need(need_at_least)) => {
            args.clear();
            Parse::Incomplete { need_at_least }
        }
        Err(Stop::Refused(error)) => {
            args.clear();
            Parse::Error(error)
        }
    }
}

fn multibulk(input: &[u8], limits: &Limits, state: &mut ParseState) -> Result<usize, Stop> {
    if state.stage == Stage::Start {
        let end = line_end(input, b'\r', state, ParseError::CountLineTooLong)?;
        let count = match parse_i64(&input[1..end]) {
            Some(count) if count <= ARGS_MAX => count,
            _ => return Err(ParseError::InvalidMultibulkLength.into()),
        };
        if count > UNAUTHENTICATED_ARGS_MAX && !limits.authenticated {
            return Err(ParseError::UnauthenticatedMultibulkLength.into());
        }
        if count <= 0 {
            return Ok(end + 2);
        }
        state.args_left = count as u32;
        state.enter(Stage::Header, end + 2);
    }
    while state.args_left > 0 {
        let len = match state.stage {
            Stage::Bulk(len) => len,
            _ => bulk_header(input, limits, state)?,
        };
        let start = state.offset;
        let end = start + len as usize + 2;
        if end > input.len() {
            return Err(Stop::Need(end));
        }
        state.ranges.push(ArgRange::new(start, len as usize));
        state.args_left -= 1;
        state.enter(Stage::Header, end);
    }
    Ok(state.offset)
}

/// Reads the header at the state's offset and moves the state to the bulk behind it.
#[inline]
fn bulk_header(input: &[u8], limits: &Limits, state: &mut ParseState) -> Result<u32, Stop> {
    let at = state.offset;
    let (len, start) = match short_header(input, at) {
        Some((len, header)) => (len as u64, at + header),
        None => {
            let end = line_end(input, b'\r', state, ParseError::LengthLineTooLong)?;
            if input[at] != b'$' {
                return Err(ParseError::ExpectedDollar(input[at]).into());
            }
            match parse_i64(&input[at + 1..end]) {
                Some(len) if len >= 0 && len as u64 <= limits.bulk_bytes_max => {
                    (len as u64, end + 2)
                }
                _ => return Err(ParseError::InvalidBulkLength.into()),
            }
        }
    };
    if len > UNAUTHENTICATED_BULK_BYTES_MAX && !limits.authenticated {
        return Err(ParseError::UnauthenticatedBulkLength.into());
    }
    // No overflow: the offset is within the input, and an i64 was positive.
    if start as u64 + len + 2 > limits.request_bytes_max as u64 {
        return Err(ParseError::RequestTooLong.into());
    }
    state.enter(Stage::Bulk(len as u32), start);
    Ok(len as u32)
}

fn inline_command(input: &[u8], state: &mut ParseState, args: &mut ArgVec) -> Result<usize, Stop> {
    let newline = line_end(input, b'\n', state, ParseError::InlineTooLong)?;
    let line = &input[..newline];
    inline::split(line.strip_suffix(b"\r").unwrap_or(line), args)?;
    Ok(newline + 1)
}

/// Where the line at the state's offset ends: at `\n`, or at `\r` with one byte behind it.
///
/// A NUL before the end hides it, so that such a line grows until it is refused as too long. Redis
/// searches with `strchr`, and its desynchronisation tests pin that.
fn line_end(
    input: &[u8],
    terminator: u8,
    state: &mut ParseState,
    too_long: ParseError,
) -> Result<usize, Stop> {
    let from = state.searched.max(state.offset);
    let found = input.get(from..).and_then(|rest| memchr2(terminator, 0, rest)).map(|at| from + at);
    let end = match found {
        Some(at) if input[at] == terminator => Some(at),
        _ => None,
    };
    // Judged by where the line ends and not by how much of it has come, so that the answer does
    // not depend on how the stream was cut.
    if end.unwrap_or(input.len()) > state.offset + LINE_BYTES_MAX {
        return Err(too_long.into());
    }
    match end {
        Some(end) if terminator == b'\r' && end + 1 == input.len() => {
            state.searched = end;
            Err(Stop::Need(end + 2))
        }
        Some(end) => Ok(end),
        None => {
            state.searched = found.unwrap_or(input.len());
            Err(Stop::Need(input.len() + 1))
        }
    }
}

impl ParseState {
    #[inline]
    fn enter(&mut self, stage: Stage, offset: usize) {
        self.stage = stage;
        self.offset = offset;
        self.searched = offset;
    }
}
