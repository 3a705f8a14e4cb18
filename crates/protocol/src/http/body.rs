//! A request's body: by length it is one slice, in chunks it is several.
//!
//! ```text
//!   5\r\n hello\r\n 6;ext=1\r\n  world\r\n 0\r\n [trailers] \r\n
//! ```
//! Chunks stay where they are in the input; whoever wants them in one piece copies them, or joins them while
//! they come (`join.rs`).
//!
//! What is no content has its bounds, or a body of one byte could take as much memory as the longest:
//! lines of chunks together as much as the content and a little (extensions, small chunks), trailers as
//! much as a head.

use super::HttpError;
use crate::limits::*;
use memchr::memchr;

pub(super) const LINE_END: &[u8] = b"\r\n";

/// A whole body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body<'a> {
    encoded: &'a [u8],
    chunked: bool,
    len: usize,
}

impl<'a> Body<'a> {
    pub(crate) fn plain(bytes: &'a [u8]) -> Self {
        Self { encoded: bytes, chunked: false, len: bytes.len() }
    }

    pub(crate) fn chunked(encoded: &'a [u8], len: usize) -> Self {
        Self { encoded, chunked: true, len }
    }

    /// Bytes of the content.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The content if it lies in one piece.
    pub fn as_slice(&self) -> Option<&'a [u8]> {
        match self.chunked {
            false => Some(self.encoded),
            true => {
                let mut pieces = self.pieces();
                let first = pieces.next().unwrap_or_default();
                pieces.next().is_none().then_some(first)
            }
        }
    }

    /// The content, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let Self { encoded, chunked, .. } = *self;
        let mut offset = 0;
        std::iter::from_fn(move || {
            if offset >= encoded.len() {
                return None;
            }
            if !chunked {
                offset = encoded.len();
                return Some(encoded);
            }
            // The body was read to its end once already, so this is a whole chunk.
            match chunk_line(encoded, offset) {
                Ok(Some((len, start))) if len > 0 => {
                    offset = start + len + 2;
                    encoded.get(start..start + len)
                }
                _ => None,
            }
        })
    }
}

/// A place in an unfinished chunked body.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ChunkState {
    /// Where the next chunk's line, or trailer line, begins.
    pub(super) offset: usize,
    /// Content so far.
    pub(super) len: usize,
    pub(super) chunks: usize,
    /// Chunks are joined, from the first one on.
    pub(super) joins: bool,
    /// Bytes that stood between the chunks that have been joined.
    pub(super) joined: usize,
    /// The last whole chunk, to which the next may be joined.
    pub(super) last: Option<Chunk>,
    /// Where they begin, once they have.
    pub(super) trailers: Option<usize>,
}

/// Where a whole chunk lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub line: usize,
    pub start: usize,
    pub len: usize,
}

impl Chunk {
    /// Behind its content.
    pub fn end(&self) -> usize {
        self.start + self.len
    }
}

/// Either the end and the content's length, or how many bytes are needed.
pub(crate) enum Chunks {
    End { offset: usize, len: usize },
    Need(usize),
}

/// What stands at the state's offset.
pub(super) enum Next {
    Chunk(Chunk),
    Last,
    /// Nothing that is whole: how many bytes are needed.
    Need(usize),
}

/// Walks over the next chunk, if it is whole and may be there; if not, the state stays as it is.
pub(super) fn next_chunk(
    input: &[u8],
    body_bytes_max: usize,
    state: &mut ChunkState,
) -> Result<Next, HttpError> {
    let line = state.offset;
    let Some((len, start)) = chunk_line(input, line)? else {
        return Ok(Next::Need(input.len() + 1));
    };
    if len > body_bytes_max.saturating_sub(state.len) {
        return Err(HttpError::BodyTooLarge);
    }
    let content = state.len + len;
    let free = HTTP_CHUNKED_BYTES_FREE + HTTP_CHUNK_BYTES_FREE * (state.chunks + 1);
    // What came before this chunk's content, and is none.
    if start + state.joined - state.len > content + free {
        return Err(HttpError::BadChunk);
    }
    if len == 0 {
        state.offset = start;
        state.trailers = Some(start);
        return Ok(Next::Last);
    }
    let chunk = Chunk { line, start, len };
    let behind = chunk.end() + LINE_END.len();
    let Some(end) = input.get(chunk.end()..behind) else { return Ok(Next::Need(behind)) };
    if end != LINE_END {
        return Err(HttpError::BadChunk);
    }
    state.offset = behind;
    state.len = content;
    state.chunks += 1;
    state.last = Some(chunk);
    Ok(Next::Chunk(chunk))
}

/// Walks chunks from the state's offset on.
pub(crate) fn walk(
    input: &[u8],
    body_bytes_max: usize,
    state: &mut ChunkState,
) -> Result<Chunks, HttpError> {
    while state.trailers.is_none() {
        if let Next::Need(len) = next_chunk(input, body_bytes_max, state)? {
            return Ok(Chunks::Need(len));
        }
    }
    let begin = state.trailers.unwrap_or(state.offset);
    // Trailers say nothing to a store: each is skipped, an empty line ends them. What has no colon is
    // none: its sender means something else by it, the next request perhaps.
    loop {
        let rest = &input[state.offset..];
        let Some(newline) = memchr(b'\n', rest) else {
            return match rest.len() > HTTP_CHUNK_LINE_BYTES_MAX {
                true => Err(HttpError::TrailersTooLarge),
                false => Ok(Chunks::Need(input.len() + 1)),
            };
        };
        if newline > HTTP_CHUNK_LINE_BYTES_MAX {
            return Err(HttpError::TrailersTooLarge);
        }
        state.offset += newline + 1;
        if matches!(rest[..newline], [] | [b'\r']) {
            return Ok(Chunks::End { offset: state.offset, len: state.len });
        }
        if state.offset - begin > HTTP_HEAD_BYTES_MAX {
            return Err(HttpError::TrailersTooLarge);
        }
        if memchr(b':', &rest[..newline]).is_none_or(|colon| colon == 0) {
            return Err(HttpError::BadTrailer);
        }
    }
}

/// Length of the chunk whose line begins at `offset`, and where its bytes begin.
fn chunk_line(input: &[u8], offset: usize) -> Result<Option<(usize, usize)>, HttpError> {
    let rest = &input[offset..];
    let line = &rest[..rest.len().min(HTTP_CHUNK_LINE_BYTES_MAX)];
    match httparse::parse_chunk_size(line) {
        Ok(httparse::Status::Complete((start, len))) => {
            // The reader also takes an empty size for 0, where a chunk must state its own; and any byte in an
            // extension, where to a proxy in front that ends lines at a bare line feed the content begins.
            let is_strange = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
            let text = &line[..start.saturating_sub(LINE_END.len())];
            if !line[0].is_ascii_hexdigit() || text.iter().any(is_strange) {
                return Err(HttpError::BadChunk);
            }
            let len = usize::try_from(len).map_err(|_| HttpError::BodyTooLarge)?;
            Ok(Some((len, offset + start)))
        }
        Ok(httparse::Status::Partial) if rest.len() < HTTP_CHUNK_LINE_BYTES_MAX => Ok(None),
        _ => Err(HttpError::BadChunk),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end_of(encoded: &[u8]) -> Result<usize, HttpError> {
        match walk(encoded, usize::MAX, &mut ChunkState::default())? {
            Chunks::End { len, .. } => Ok(len),
            Chunks::Need(_) => panic!("not whole"),
        }
    }

    #[test]
    fn small_chunks_and_signed_ones_are_no_burden() {
        let small = [b"1\r\nx\r\n".repeat(100_000), b"0\r\n\r\n".to_vec()].concat();
        assert_eq!(end_of(&small), Ok(100_000));
        let line = format!("400;chunk-signature={}\r\n", "f".repeat(64));
        let signed = [line.as_bytes(), &[b'x'; 1024], b"\r\n"].concat().repeat(1000);
        assert_eq!(end_of(&[&signed[..], b"0\r\n\r\n"].concat()), Ok(1_024_000));
    }

    /// What stood behind a line feed within an extension was skipped. A proxy that ends the line there takes it
    /// for content, and one's content is the other's next request.
    #[test]
    fn an_extension_holds_no_line_of_its_own() {
        for extension in ["a\nb", "\n", "a\n\r\n1;b", "a=\"\n\"", "a\rb", "a\0b"] {
            let encoded = format!("1;{extension}\r\nx\r\n0\r\n\r\n");
            assert_eq!(end_of(encoded.as_bytes()), Err(HttpError::BadChunk), "{extension:?}");
            let encoded = format!("1\r\nx\r\n0;{extension}\r\n\r\n");
            assert_eq!(end_of(encoded.as_bytes()), Err(HttpError::BadChunk), "{extension:?}");
        }
        assert_eq!(end_of(b"1;a=\"b\tc\" ; \xe4\r\nx\r\n0;d\r\n\r\n"), Ok(1));
    }

    /// A megabyte of extensions stood in memory for a body of a few bytes, and of trailers any number.
    #[test]
    fn what_is_no_content_is_bounded() {
        let line = format!("1;{}\r\nx\r\n", "e".repeat(1000));
        assert_eq!(end_of(&line.repeat(1000).into_bytes()), Err(HttpError::BadChunk));
        let trailers = format!("0\r\n{}\r\n", "a: b\r\n".repeat(10_000));
        assert_eq!(end_of(trailers.as_bytes()), Err(HttpError::TrailersTooLarge));
        let trailers = format!("0\r\n{}\r\n", "a: b\r\n".repeat(2000));
        assert_eq!(end_of(trailers.as_bytes()), Ok(0));
    }

    /// A single one was called a malformed chunk (400), where many of them are too long (431).
    #[test]
    fn a_trailer_that_is_too_long_is_no_malformed_chunk() {
        let trailer = format!("a: {}", "b".repeat(HTTP_CHUNK_LINE_BYTES_MAX));
        for end in ["", "\r\n\r\n"] {
            let encoded = format!("0\r\n{trailer}{end}");
            assert_eq!(end_of(encoded.as_bytes()), Err(HttpError::TrailersTooLarge), "{end:?}");
        }
        let longest = format!("0\r\n{}\r\n\r\n", &trailer[..HTTP_CHUNK_LINE_BYTES_MAX - 1]);
        assert_eq!(end_of(longest.as_bytes()), Ok(0));
    }
}
