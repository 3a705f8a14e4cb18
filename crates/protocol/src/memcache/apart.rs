//! Stores of the text and meta protocols whose value is received apart from their line: what the
//! line foretells, and the request that line and value are together.

use super::line::strip_return;
use super::parse::{BLOCK_END, Limits, ParseState, Request, Understood, understand};

/// A store whose line has come, and whose value is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced<'a> {
    /// With an empty value.
    pub request: Request<'a>,
    /// Bytes of the line, with its end.
    pub line: usize,
    /// Bytes of the value, without what ends it.
    pub len: usize,
}

/// What the line says for which `parse` has answered [`Parsed::Incomplete`], if it is a store's.
pub fn announced<'a>(
    input: &'a [u8],
    limits: &Limits,
    state: &ParseState,
) -> Option<Announced<'a>> {
    if state.awaited == 0 {
        return None;
    }
    let line = state.searched + 1;
    let len = state.awaited.checked_sub(line + BLOCK_END.len())?;
    let request = received(input.get(..line)?, b"", BLOCK_END, limits)?;
    Some(Announced { request, line, len })
}

/// The request of a line (with its end) whose value was received apart, and after it `end`. Where
/// the limits have become narrower meanwhile it is refused. `None`: it is no store's line.
pub fn received<'a>(
    line: &'a [u8],
    value: &'a [u8],
    end: &[u8],
    limits: &Limits,
) -> Option<Request<'a>> {
    let line = line.strip_suffix(b"\n")?;
    let data = (end == BLOCK_END).then_some(value);
    match understand(strip_return(line), limits) {
        Understood::Store(line) => Some(line.with_data(data)),
        Understood::MetaSet(line) => Some(line.with_data(data)),
        Understood::Skip { request, .. } => Some(request),
        _ => None,
    }
}
