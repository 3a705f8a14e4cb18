//! Why a request was refused, in Redis 7.0.15's words. All of them end the connection.

use super::RespWriter;

/// A break of the protocol. The server answers with [`write`](ParseError::write) and closes: what
/// follows in the stream cannot be told from data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// `*` was not followed by a count that Redis accepts.
    InvalidMultibulkLength,
    /// 64 KiB and the count line has no end.
    CountLineTooLong,
    /// An argument began with this byte and not with `$`.
    ExpectedDollar(u8),
    /// `$` was not followed by a length within `proto-max-bulk-len`.
    InvalidBulkLength,
    /// 64 KiB and the length line has no end.
    LengthLineTooLong,
    /// 64 KiB and the inline command has no end.
    InlineTooLong,
    /// An inline command's quotes do not pair, or text follows a closing quote.
    UnbalancedQuotes,
    /// More than ten arguments from a client that has not authenticated.
    UnauthenticatedMultibulkLength,
    /// More than 16,384 bytes in an argument of a client that has not authenticated.
    UnauthenticatedBulkLength,
    /// The request as a whole passes the limit on a client's query buffer. Redis closes without a
    /// word; a sentence costs nothing.
    RequestTooLong,
}

impl ParseError {
    /// Appends the error reply that Redis would send, terminator included.
    pub fn write(&self, reply: &mut RespWriter<'_>) {
        match self {
            Self::ExpectedDollar(got) => {
                // The byte is the client's: as in Redis, it must not end the error's line early.
                let got = if matches!(got, b'\r' | b'\n') { b' ' } else { *got };
                reply.raw(b"-ERR Protocol error: expected '$', got '");
                reply.raw(&[got]);
                reply.raw(b"'\r\n");
            }
            _ => {
                reply.raw(b"-ERR ");
                reply.raw(self.text().as_bytes());
                reply.raw(b"\r\n");
            }
        }
    }

    fn text(&self) -> &'static str {
        match self {
            Self::InvalidMultibulkLength => "Protocol error: invalid multibulk length",
            Self::CountLineTooLong => "Protocol error: too big mbulk count string",
            Self::ExpectedDollar(_) => "Protocol error: expected '$'",
            Self::InvalidBulkLength => "Protocol error: invalid bulk length",
            Self::LengthLineTooLong => "Protocol error: too big bulk count string",
            Self::InlineTooLong => "Protocol error: too big inline request",
            Self::UnbalancedQuotes => "Protocol error: unbalanced quotes in request",
            Self::UnauthenticatedMultibulkLength => {
                "Protocol error: unauthenticated multibulk length"
            }
            Self::UnauthenticatedBulkLength => "Protocol error: unauthenticated bulk length",
            Self::RequestTooLong => "Protocol error: request exceeds client-query-buffer-limit",
        }
    }
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ExpectedDollar(got) => {
                write!(f, "{}, got '{}'", self.text(), got.escape_ascii())
            }
            _ => f.write_str(self.text()),
        }
    }
}

impl std::error::Error for ParseError {}
