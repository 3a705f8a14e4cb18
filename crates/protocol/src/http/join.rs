//! Chunks that become one while they come, where they lie.
//!
//! ```text
//!   head | 10000\r\n first \r\n 8000;x=1\r\n second \r\n 100       as it came
//!   head | 00018000\r\n first second \r\n 100                    what stood between them is gone
//! ```
//! A long body in small chunks is a value in pieces, and to be stored in one piece it would be copied, all of
//! it at once, beside the buffer that it lies in. So each chunk is moved to the one before when it is whole.
//! What is left is a body in chunks all the same, and is read as any other.

use super::body::{Chunk, ChunkState, LINE_END, Next, next_chunk};
use std::io::Write;

/// Hexadecimal digits of a joined chunk's length, so that its line need not grow with it.
const DIGITS: usize = 8;
const WIDE: usize = DIGITS + LINE_END.len();

/// Joins the chunks that are whole. `begin` is where the body begins, and `state` a place in it.
pub(crate) fn join(
    input: &mut Vec<u8>,
    begin: usize,
    body_bytes_max: usize,
    state: &mut ChunkState,
) {
    if state.trailers.is_some() {
        return;
    }
    if !state.joins {
        // What was walked over before has not been joined.
        *state = ChunkState { joins: true, ..ChunkState::default() };
    }
    let body = &mut input[begin..];
    loop {
        // The last one, and what is no chunk, are left to who reads the body.
        let mut ahead = *state;
        let Ok(Next::Chunk(chunk)) = next_chunk(body, body_bytes_max, &mut ahead) else { break };
        let joined = state.last.map_or(chunk, |before| joined_to(body, before, chunk));
        *state = ChunkState { last: Some(joined), ..ahead };
    }
    let Some(joined) = state.last else { return };
    let (end, rest) = (joined.end() + LINE_END.len(), state.offset);
    if end < rest {
        body[joined.end()..end].copy_from_slice(LINE_END);
        input.drain(begin + end..begin + rest);
        state.offset = end;
        state.joined += rest - end;
    }
}

/// Moves a chunk to the one before. Where that one's line has no room for the length of both, which only a
/// first few bytes are too short for, they stay two.
fn joined_to(body: &mut [u8], before: Chunk, chunk: Chunk) -> Chunk {
    let start = before.line + WIDE;
    let len = before.len + chunk.len;
    let fits = start + len <= chunk.end() && u32::try_from(len).is_ok();
    if !fits {
        return chunk;
    }
    if before.start != start {
        body.copy_within(before.start..before.end(), start);
    }
    body.copy_within(chunk.start..chunk.end(), start + before.len);
    // A slice of a line's length takes a line.
    let _ = write!(&mut body[before.line..start], "{len:0DIGITS$x}\r\n");
    Chunk { line: before.line, start, len }
}
