//! Requests from bytes: a short path for what clients send all day, and a resumable one for all.
//!
//! ```text
//!   *3\r\n $3\r\n SET\r\n $1\r\n k\r\n $5\r\n value\r\n
//!   |      |      `- bulk: `len` bytes and two more
//!   |      `- header: `$`, length, CR LF
//!   `- count
//! ```
//! The short path takes up to nine arguments of at most four digits of length, all of them
//! present; it answers for whole requests only. Anything else goes to the resumable path
//! (`parse/resumable.rs`), whose place in the request stays in [`ParseState`], so that no byte is
//! looked at twice.

mod resumable;

use super::ParseError;
use super::args::{ArgRange, ArgVec, Few, SHORT_ARGS_MAX};
use super::repeat::Repeat;
use crate::Parse;
use crate::limits::*;
use resumable::parse_resumable;

/// What a client may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    bulk_bytes_max: u64,
    request_bytes_max: usize,
    authenticated: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bulk_bytes_max: BULK_BYTES_DEFAULT,
            request_bytes_max: REQUEST_BYTES_DEFAULT,
            authenticated: true,
        }
    }
}

impl Limits {
    /// `proto-max-bulk-len`; no less than [`BULK_BYTES_LEAST`], as in Redis.
    pub fn with_bulk_bytes_max(mut self, bytes: u64) -> Self {
        self.bulk_bytes_max = bytes.max(BULK_BYTES_LEAST);
        self
    }

    /// `client-query-buffer-limit`; no less than 1 MiB, as in Redis, and no more than ranges of 32
    /// bits can reach.
    pub fn with_request_bytes_max(mut self, bytes: usize) -> Self {
        self.request_bytes_max = bytes.clamp(BULK_BYTES_LEAST as usize, REQUEST_BYTES_MOST);
        self
    }

    /// Whether the client may act. One that must authenticate first gets ten arguments of 16 KiB.
    pub fn with_authenticated(mut self, authenticated: bool) -> Self {
        self.authenticated = authenticated;
        self
    }
}

/// A connection's place in an unfinished request. Costs nothing while requests arrive whole.
#[derive(Debug, Default)]
pub struct ParseState {
    stage: Stage,
    /// Where the stage's bytes begin, from the request's first byte.
    offset: usize,
    /// No line end lies before this offset.
    searched: usize,
    args_left: u32,
    /// The arguments so far, in the shared `ArgVec`'s own vector, taken until the request is whole.
    ranges: Vec<ArgRange>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Start,
    Header,
    Bulk(u32),
}

impl ParseState {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether part of a request has been understood, or a line's end is still looked for.
    pub fn is_in_request(&self) -> bool {
        self.stage != Stage::Start || self.searched != 0
    }

    /// Forgets the unfinished request, for a connection that starts anew.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Reads one request. `input` begins at a request's first byte: the same one as in the last call
/// if that was `Incomplete`.
///
/// `Complete` with no arguments is an empty line, `*0` or a negative count: nothing to answer.
/// After `Error` the state is of no further use: answer and close.
#[inline]
pub fn parse(
    input: &[u8],
    limits: &Limits,
    state: &mut ParseState,
    args: &mut ArgVec,
) -> Parse<ParseError> {
    if state.stage == Stage::Start {
        let consumed = parse_short(input, args);
        if consumed != 0 {
            state.searched = 0;
            return Parse::Complete { consumed };
        }
    }
    parse_resumable(input, limits, state, args)
}

/// As `parse`, for a request that begins as another one did: the bytes it takes. 0: parse it.
#[inline(always)]
pub fn parse_repeat(
    input: &[u8],
    state: &mut ParseState,
    args: &mut ArgVec,
    repeat: &mut Repeat,
) -> usize {
    if state.stage != Stage::Start {
        return 0;
    }
    let consumed = repeat.parse(input, args);
    if consumed != 0 {
        state.searched = 0;
    }
    consumed
}

/// As `parse_repeat`, for a request with `N` arguments, its name included.
#[inline(always)]
pub fn parse_few<const N: usize>(
    input: &[u8],
    state: &mut ParseState,
    repeat: &mut Repeat,
) -> Option<Few<N>> {
    if state.stage != Stage::Start {
        return None;
    }
    let args = repeat.few(input)?;
    state.searched = 0;
    Some(args)
}

/// A whole request of few and short arguments, or 0. Needs no limits: nine arguments of 9,999
/// bytes are within every limit that can be set.
#[inline]
fn parse_short(input: &[u8], args: &mut ArgVec) -> usize {
    let Some([b'*', count, b'\r', b'\n']) = input.first_chunk::<4>() else { return 0 };
    let count = usize::from(count.wrapping_sub(b'0'));
    if count.wrapping_sub(1) >= SHORT_ARGS_MAX {
        return 0;
    }
    let mut at = 4;
    for range in &mut args.short()[..count] {
        let Some((len, header)) = short_header(input, at) else { return 0 };
        let start = at + header;
        at = start + len + 2;
        *range = ArgRange::new(start, len);
    }
    // Headers were read within the input, so only the last argument can pass its end.
    if at > input.len() {
        return 0;
    }
    args.set_short(count);
    at
}

const CRLF: u64 = u16::from_le_bytes(*b"\r\n") as u64;

/// Length of the argument and of its header at `at`, if the header has one to four digits without
/// leading zero and eight bytes can be read there.
#[inline(always)]
pub(super) fn short_header(input: &[u8], at: usize) -> Option<(usize, usize)> {
    let word = u64::from_le_bytes(*input.get(at..)?.first_chunk::<8>()?);
    if word & 0xff != u64::from(b'$') {
        return None;
    }
    let digit = |index: u32| ((word >> (8 * index)) & 0xff).wrapping_sub(u64::from(b'0'));
    let ends = |index: u32| (word >> (8 * index)) & 0xffff == CRLF;
    let mut len = digit(1);
    if len > 9 {
        return None;
    }
    if ends(2) {
        return Some((len as usize, 4));
    }
    if len == 0 {
        return None;
    }
    for index in 2..=4 {
        let next = digit(index);
        if next > 9 {
            return None;
        }
        len = len * 10 + next;
        if ends(index + 1) {
            return Some((len as usize, index as usize + 3));
        }
    }
    None
}
