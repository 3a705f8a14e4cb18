//! From a connection's bytes to one Memcached request: line, then data block, then what it means.
//!
//! ```text
//!   set k 0 0 5\r\n value\r\n
//!   `- line ------' `- block: as long as the line says, and CR LF
//! ```
//! A line is understood only when it has ended; while its data block is awaited, only the number
//! of bytes needed is remembered, and the line (at most 2 KiB) is read again when they are there.
//! The block of a refused command is skipped as it comes, without being gathered.

use super::line::strip_return;
use super::refusal::Refusal;
use super::text::StoreVerb;
use super::{meta, short, text};
use crate::limits::*;
use memchr::memchr;

/// What a client may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest value; a longer one is refused and skipped.
    pub value_bytes_max: usize,
    /// Most keys of a retrieval.
    pub keys_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { value_bytes_max: MEMCACHE_VALUE_BYTES_DEFAULT, keys_max: usize::MAX }
    }
}

/// One request, borrowing the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// A command of the classic protocol.
    Text(text::Command<'a>),
    /// A meta command.
    Meta(meta::Command<'a>),
    /// `mn`: answer `MN`, after everything before it.
    MetaNoop,
    /// Answer with the refusal, unless `noreply`.
    Refused { refusal: Refusal, noreply: bool },
    /// A value longer than the limit: answer [`Refusal::TooLarge`], unless `noreply`. Memcached
    /// deletes the item that a `set` could not replace, so that no stale value stays.
    TooLarge { set: bool, key: &'a [u8], noreply: bool },
    /// The same for `ms`, which never is silent about it and always deletes.
    MetaTooLarge { key: meta::Key<'a> },
    /// Nothing to answer: part of a data block that is skipped.
    Nothing,
}

/// What the bytes hold so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// The first `consumed` bytes are this request.
    Complete { request: Request<'a>, consumed: usize },
    /// As in [`Parse::Incomplete`](crate::Parse::Incomplete).
    Incomplete { need_at_least: usize },
    /// Answer with the refusal, if there is one, and close.
    Close(Option<Refusal>),
}

/// A connection's place in an unfinished request.
#[derive(Debug, Default, Clone)]
pub struct ParseState {
    /// No line end lies before this offset.
    pub(super) searched: usize,
    /// Line and data block end here, when the line is known.
    pub(super) awaited: usize,
    /// Bytes of a refused data block that are still to come.
    skipping: usize,
}

impl ParseState {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a refused request's data block is being skipped.
    pub fn is_skipping(&self) -> bool {
        self.skipping != 0
    }
}

/// Bytes that end a data block.
pub const BLOCK_END: &[u8; 2] = b"\r\n";

/// What a line says.
pub(crate) enum Understood<'a> {
    /// All of it.
    Whole(Request<'a>),
    /// A data block follows.
    Store(StoreLine<'a>),
    MetaSet(MetaLine<'a>),
    /// Refused, but a data block of `block` bytes follows and must not be taken for commands.
    Skip {
        request: Request<'a>,
        block: usize,
    },
    /// Not for us: close without a word.
    Close,
}

pub(crate) struct StoreLine<'a> {
    pub(crate) verb: StoreVerb,
    pub(crate) key: &'a [u8],
    pub(crate) flags: u32,
    pub(crate) exptime: i64,
    pub(crate) len: usize,
    pub(crate) noreply: bool,
}

pub(crate) struct MetaLine<'a> {
    pub(crate) key: meta::Key<'a>,
    pub(crate) flags: meta::Flags<'a>,
    pub(crate) len: usize,
}

impl From<Refusal> for Understood<'_> {
    fn from(refusal: Refusal) -> Self {
        Self::Whole(Request::Refused { refusal, noreply: false })
    }
}

/// Reads one request. `input` begins where the last `Complete` ended, or where it began when the
/// answer was `Incomplete`.
#[inline]
pub fn parse<'a>(input: &'a [u8], limits: &Limits, state: &mut ParseState) -> Parsed<'a> {
    if state.skipping != 0 {
        return skip(input, state);
    }
    // A line that was searched in part, or whose block is awaited, is the general path's.
    if state.searched == 0 {
        if let Some(parsed) = short::get(input) {
            return parsed;
        }
        if let Some(parsed) = short::set(input, limits) {
            return parsed;
        }
    }
    parse_any(input, limits, state)
}

#[inline(never)]
fn parse_any<'a>(input: &'a [u8], limits: &Limits, state: &mut ParseState) -> Parsed<'a> {
    if input.len() < state.awaited {
        return Parsed::Incomplete { need_at_least: state.awaited };
    }
    let newline = match input.get(state.searched..).and_then(|rest| memchr(b'\n', rest)) {
        Some(at) => state.searched + at,
        None => {
            if is_line_too_long(input) {
                return Parsed::Close(Some(Refusal::LineTooLong));
            }
            state.searched = input.len();
            return Parsed::Incomplete { need_at_least: input.len() + 1 };
        }
    };
    if newline >= MEMCACHE_LINE_BYTES_MAX && is_line_too_long(&input[..newline]) {
        return Parsed::Close(Some(Refusal::LineTooLong));
    }
    let start = newline + 1;
    let (request, consumed) = match understand(strip_return(&input[..newline]), limits) {
        Understood::Whole(request) => (request, start),
        Understood::Skip { request, block } => {
            state.skipping = block;
            (request, start)
        }
        Understood::Store(line) => {
            let Some(block) = input.get(start..start + line.len + 2) else {
                return state.wait(newline, start + line.len + 2);
            };
            (line.with_block(block), start + block.len())
        }
        Understood::MetaSet(line) => {
            let Some(block) = input.get(start..start + line.len + 2) else {
                return state.wait(newline, start + line.len + 2);
            };
            (line.with_block(block), start + block.len())
        }
        Understood::Close => return Parsed::Close(None),
    };
    state.searched = 0;
    state.awaited = 0;
    Parsed::Complete { request, consumed }
}

impl ParseState {
    #[inline]
    pub(super) fn wait<'a>(&mut self, newline: usize, end: usize) -> Parsed<'a> {
        self.searched = newline;
        self.awaited = end;
        Parsed::Incomplete { need_at_least: end }
    }
}

#[inline]
pub(super) fn understand<'a>(line: &'a [u8], limits: &Limits) -> Understood<'a> {
    if line.first() == Some(&b'g')
        && let Some(understood) = text::retrieval(line, limits)
    {
        return understood;
    }
    understand_other(line, limits)
}

fn understand_other<'a>(line: &'a [u8], limits: &Limits) -> Understood<'a> {
    let mut words = super::Words::new(line);
    if let Some([b'm', letter]) = words.next() {
        return meta::command(line, *letter, limits);
    }
    if let Some(understood) = text::retrieval(line, limits) {
        return understood;
    }
    let understood = text::command(line, limits);
    // A web request that was not detected as one, as Memcached does it: anything else that a
    // browser can be made to send must not be executed line by line.
    if matches!(understood, Understood::Whole(Request::Refused { refusal: Refusal::Unknown, .. }))
        && words.last().is_some_and(|word| word.starts_with(b"HTTP/"))
    {
        return Understood::Close;
    }
    understood
}

/// Drops what there is of a refused data block.
#[cold]
fn skip<'a>(input: &'a [u8], state: &mut ParseState) -> Parsed<'a> {
    if input.is_empty() {
        return Parsed::Incomplete { need_at_least: 1 };
    }
    let consumed = input.len().min(state.skipping);
    state.skipping -= consumed;
    Parsed::Complete { request: Request::Nothing, consumed }
}

/// Judges a line, without its newline, that is longer than most: only a retrieval may be.
#[cold]
fn is_line_too_long(line: &[u8]) -> bool {
    if line.len() < MEMCACHE_LINE_BYTES_MAX {
        return false;
    }
    const LEADING_BLANKS_MAX: usize = 100;
    let blanks = line.iter().take_while(|byte| **byte == b' ').count();
    let verb = &line[blanks..];
    let retrieval = [&b"get "[..], b"gets ", b"gat ", b"gats ", b"bget "];
    blanks > LEADING_BLANKS_MAX
        || !retrieval.iter().any(|prefix| verb.starts_with(prefix))
        || line.len() > MEMCACHE_RETRIEVAL_BYTES_MAX
}

impl<'a> StoreLine<'a> {
    #[inline]
    fn with_block(self, block: &'a [u8]) -> Request<'a> {
        self.with_data(block.strip_suffix(BLOCK_END))
    }

    /// `None`: it does not end as it must.
    #[inline]
    pub(super) fn with_data(self, data: Option<&'a [u8]>) -> Request<'a> {
        let Self { verb, key, flags, exptime, noreply, .. } = self;
        match data {
            Some(data) => {
                Request::Text(text::Command::Store { verb, key, flags, exptime, data, noreply })
            }
            None => Request::Refused { refusal: Refusal::BadDataChunk, noreply },
        }
    }
}

impl<'a> MetaLine<'a> {
    fn with_block(self, block: &'a [u8]) -> Request<'a> {
        self.with_data(block.strip_suffix(BLOCK_END))
    }

    /// `None`: it does not end as it must.
    pub(super) fn with_data(self, data: Option<&'a [u8]>) -> Request<'a> {
        let Self { key, flags, .. } = self;
        match data {
            Some(data) => Request::Meta(meta::Command { verb: meta::Verb::Set, key, flags, data }),
            None => Request::Refused { refusal: Refusal::BadDataChunk, noreply: false },
        }
    }
}
