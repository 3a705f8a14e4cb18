//! From a connection's bytes to one HTTP request.

use super::body::{Body, ChunkState, Chunks, walk};
use super::error::HttpError;
use super::join::join;
use super::meaning::{BodyForm, Meaning};
use super::target::{Named, named};
use crate::limits::*;
use memchr::memchr;
use std::mem::MaybeUninit;

/// What a client may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest body.
    pub body_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body_bytes_max: HTTP_BODY_BYTES_DEFAULT }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Head,
    Put,
    Delete,
    Post,
    Options,
    Patch,
    Trace,
    Connect,
    /// Anything else that is a word: answer 501.
    Other,
}

/// One request, borrowing the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    pub method: Method,
    /// The target's path as written, percent signs and all; or `*`.
    pub path: &'a [u8],
    /// The host and port in a target of the form for proxies; other requests have one in `Host`.
    pub authority: Option<&'a [u8]>,
    /// What stands behind `?`.
    pub query: Option<&'a [u8]>,
    pub body: Body<'a>,
    /// Whether the connection goes on after the response.
    pub keep_alive: bool,
    /// Whether the request says HTTP/1.1 and not 1.0.
    pub is_1_1: bool,
    head: &'a [u8],
}

impl<'a> Request<'a> {
    /// The value of the first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers_of(name).next()
    }

    /// The value of each header of that name, in any case. Where a header is a list, these are one.
    pub fn headers_of<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        self.headers()
            .filter_map(|(key, value)| key.eq_ignore_ascii_case(name.as_bytes()).then_some(value))
    }

    /// Name and value of each header, in order.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        // The head's grammar has been checked: each line behind the first has its colon.
        self.head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
            let colon = memchr(b':', line)?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }
}

/// What the bytes hold so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// The first `consumed` bytes are this request.
    Complete { request: Request<'a>, consumed: usize },
    /// As in [`Parse::Incomplete`](crate::Parse::Incomplete). When `send_continue` is set, the
    /// client waits to be asked for the body: send [`CONTINUE`](super::CONTINUE). It is set once.
    Incomplete { need_at_least: usize, send_continue: bool },
    /// Answer with the error and close.
    Error(HttpError),
}

/// A connection's place in an unfinished request.
#[derive(Debug, Default, Clone)]
pub struct ParseState {
    /// No end of the head lies before this offset.
    searched: usize,
    /// The head's length, when it has ended.
    head_len: usize,
    is_chunked: bool,
    chunks: ChunkState,
    continued: bool,
    is_head_shown: bool,
}

impl ParseState {
    pub fn new() -> Self {
        Self::default()
    }

    /// The request has a body in chunks, of which nobody knows how many will come.
    pub fn has_chunks(&self) -> bool {
        self.is_chunked
    }

    /// Joins what has come whole of an unfinished body in chunks, so that it is in one piece when the rest has
    /// come: for who owns the input, before `parse` reads it again.
    pub fn join_chunks(&mut self, input: &mut Vec<u8>, limits: &Limits) {
        if self.is_chunked {
            join(input, self.head_len, limits.body_bytes_max, &mut self.chunks);
        }
    }
}

/// Reads one request. `input` begins where the last `Complete` ended, or where it began when the
/// answer was `Incomplete`.
pub fn parse<'a>(input: &'a [u8], limits: &Limits, state: &mut ParseState) -> Parsed<'a> {
    match step(input, limits, state) {
        Ok(parsed) => {
            if matches!(parsed, Parsed::Complete { .. }) {
                *state = ParseState::default();
            }
            parsed
        }
        Err(error) => Parsed::Error(error),
    }
}

/// A request of which the head alone has come, once, when that is so: with no body, and as the last of its
/// connection. Whoever may not make it can be told before the body is asked for, or waited for.
pub fn head<'a>(input: &'a [u8], state: &mut ParseState) -> Option<Request<'a>> {
    let head = input.get(..state.head_len).filter(|head| !head.is_empty())?;
    let is_news = !std::mem::replace(&mut state.is_head_shown, true);
    let (request, _) = read_head(head).ok().filter(|_| is_news)?;
    Some(Request { keep_alive: false, ..request })
}

fn step<'a>(
    input: &'a [u8],
    limits: &Limits,
    state: &mut ParseState,
) -> Result<Parsed<'a>, HttpError> {
    let more = |need_at_least| Parsed::Incomplete { need_at_least, send_continue: false };
    if state.head_len == 0 {
        match head_end(input, &mut state.searched)? {
            Some(end) => state.head_len = end,
            None => return Ok(more(input.len() + 1)),
        }
    }
    let Some(head) = input.get(..state.head_len) else { return Ok(more(state.head_len)) };
    let (request, meaning) = read_head(head)?;
    let start = head.len();
    let (body, consumed) = match meaning.body {
        BodyForm::Length(len) => {
            if len > limits.body_bytes_max as u64 {
                return Err(HttpError::BodyTooLarge);
            }
            let end = start + len as usize;
            match input.get(start..end) {
                Some(body) => (Body::plain(body), end),
                None => return Ok(state.body_needs(end, input.len() == start, meaning)),
            }
        }
        BodyForm::Chunked => {
            let encoded = &input[start..];
            state.is_chunked = true;
            match walk(encoded, limits.body_bytes_max, &mut state.chunks)? {
                Chunks::End { offset, len } => {
                    (Body::chunked(&encoded[..offset], len), start + offset)
                }
                Chunks::Need(len) => {
                    return Ok(state.body_needs(start + len, encoded.is_empty(), meaning));
                }
            }
        }
    };
    Ok(Parsed::Complete { request: Request { body, ..request }, consumed })
}

/// The request without its body, and what its headers say of that.
fn read_head(head: &[u8]) -> Result<(Request<'_>, Meaning), HttpError> {
    // Most requests have a few: the room for the rest is not even written to.
    let mut headers = [const { MaybeUninit::uninit() }; HTTP_HEADERS_MAX];
    let mut line = httparse::Request::new(&mut []);
    match line.parse_with_uninit_headers(head, &mut headers) {
        Ok(httparse::Status::Complete(len)) if len == head.len() => {}
        Ok(_) => return Err(HttpError::Malformed),
        Err(httparse::Error::TooManyHeaders) => return Err(HttpError::HeadTooLarge),
        Err(httparse::Error::Version) => return Err(HttpError::UnknownVersion),
        Err(_) => return Err(HttpError::Malformed),
    }
    let is_1_1 = line.version == Some(1);
    let method = match line.method.unwrap_or_default() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "POST" => Method::Post,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        "TRACE" => Method::Trace,
        "CONNECT" => Method::Connect,
        _ => Method::Other,
    };
    let meaning = Meaning::of(method, line.headers, is_1_1)?;
    let target = line.path.unwrap_or_default().as_bytes();
    let Named { authority, path, query } = named(target, method == Method::Options)?;
    // Empty lines before the request are no part of its headers.
    let lead = head.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let head = &head[lead..];
    let (body, keep_alive) = (Body::plain(b""), meaning.keep_alive);
    Ok((Request { method, path, authority, query, body, keep_alive, is_1_1, head }, meaning))
}

impl ParseState {
    /// The body is not whole. A client that waits to be asked has sent none of it.
    fn body_needs<'a>(&mut self, need_at_least: usize, none: bool, meaning: Meaning) -> Parsed<'a> {
        let send_continue = meaning.expects_continue && none && !self.continued;
        self.continued |= send_continue;
        Parsed::Incomplete { need_at_least, send_continue }
    }
}

/// Where the head ends: behind its first empty line that follows a line.
fn head_end(input: &[u8], searched: &mut usize) -> Result<Option<usize>, HttpError> {
    let lead = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    if lead > HTTP_LEADING_BYTES_MAX {
        return Err(HttpError::Malformed);
    }
    let mut from = (*searched).max(lead);
    let within = &input[..input.len().min(HTTP_HEAD_BYTES_MAX)];
    while let Some(newline) = within.get(from..).and_then(|rest| memchr(b'\n', rest)) {
        let newline = from + newline;
        match within[newline + 1..] {
            [b'\n', ..] => return Ok(Some(newline + 2)),
            [b'\r', b'\n', ..] => return Ok(Some(newline + 3)),
            // Not to be told yet: look at this line end again.
            [] | [b'\r'] => {
                from = newline;
                break;
            }
            _ => from = newline + 1,
        }
    }
    if input.len() >= HTTP_HEAD_BYTES_MAX {
        return Err(HttpError::HeadTooLarge);
    }
    // Without a line end in what is left, all of it has been searched.
    let rest = &within[from.min(within.len())..];
    *searched = if rest.first() == Some(&b'\n') { from } else { within.len() };
    Ok(None)
}
