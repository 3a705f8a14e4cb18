//! Why an HTTP request was refused. All of these end the connection.

use super::Response;
use super::policy::*;
use crate::limits::{HTTP_HEAD_BYTES_MAX, HTTP_HEADERS_MAX};

/// A request that cannot be read. The server answers with [`write`](Self::write) and closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpError {
    /// The head breaks HTTP's grammar.
    Malformed,
    /// The target is neither a path, nor `http://` with a host, nor `*`.
    BadTarget,
    /// Of HTTP/1.1 and without `Host`, or with two, or with one that names no host.
    BadHost,
    /// The head has no end within the limit, or more headers than that.
    HeadTooLarge,
    /// A line behind the last chunk, or all of them, are longer than that.
    TrailersTooLarge,
    /// The body is longer than the limit.
    BodyTooLarge,
    /// No number, or two different ones.
    BadContentLength,
    /// `Content-Length` beside `Transfer-Encoding`.
    TwoLengths,
    /// Of HTTP/1.0, with a body of which nobody says how long it is.
    NoLength,
    /// A chunk's size line or end is malformed.
    BadChunk,
    /// A line behind the last chunk is no header.
    BadTrailer,
    /// A transfer encoding other than `chunked`.
    UnknownEncoding,
    /// Chunks, of HTTP/1.0, which has none.
    ChunksTooEarly,
    /// An expectation other than `100-continue`.
    UnknownExpectation,
    /// HTTP/2 or later, or something else.
    UnknownVersion,
}

impl HttpError {
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed | Self::BadTarget | Self::BadHost => 400,
            Self::BadContentLength | Self::TwoLengths | Self::BadChunk | Self::BadTrailer => 400,
            Self::NoLength => 411,
            Self::BodyTooLarge => 413,
            Self::UnknownExpectation => 417,
            Self::HeadTooLarge | Self::TrailersTooLarge => 431,
            Self::UnknownEncoding | Self::ChunksTooEarly => 501,
            Self::UnknownVersion => 505,
        }
    }

    /// Appends the response, which announces that the connection closes. `request` is what came:
    /// HEAD is told the length of the sentence and not the sentence.
    pub fn write(self, request: &[u8], out: &mut Vec<u8>, now: u64) {
        let sentence = format!("{self}.\n");
        Response::new(out, self.status(), now)
            .header("Content-Type", "text/plain; charset=utf-8")
            .header(POLICY, POLICY_OURS)
            .header(CACHE, CACHE_NONE)
            .close()
            .body_of(sentence.len());
        let method = request.trim_ascii_start();
        if !method.starts_with(b"HEAD ") {
            out.extend_from_slice(sentence.as_bytes());
        }
    }
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "The request is not HTTP/1.1",
            Self::BadTarget => "The request's target must be a path such as /keys/NAME",
            Self::BadHost => "An HTTP/1.1 request must have one Host header, which names a host",
            Self::HeadTooLarge => {
                return write!(
                    f,
                    "The request's headers are too long or too many: {} KiB and {} beside Host are the most",
                    HTTP_HEAD_BYTES_MAX >> 10,
                    HTTP_HEADERS_MAX - 1
                );
            }
            Self::TrailersTooLarge => "The lines behind the request's last chunk are too long",
            Self::BodyTooLarge => {
                "The request's body is longer than a value may be (proto-max-bulk-len)"
            }
            Self::BadContentLength => {
                "The request's Content-Length is no number, or there are two that differ"
            }
            Self::TwoLengths => {
                "A request may have a Content-Length or a Transfer-Encoding, and this has both"
            }
            Self::NoLength => "A request of HTTP/1.0 with a body must have a Content-Length",
            Self::BadChunk => "A chunk of the request's body is malformed",
            Self::BadTrailer => "A line behind the request's last chunk is no header",
            Self::UnknownEncoding => "The only Transfer-Encoding understood is chunked",
            Self::ChunksTooEarly => "A body in chunks needs a request of HTTP/1.1",
            Self::UnknownExpectation => "The only Expect understood is 100-continue",
            Self::UnknownVersion => "Only HTTP/1.0 and HTTP/1.1 are spoken here",
        })
    }
}

impl std::error::Error for HttpError {}
