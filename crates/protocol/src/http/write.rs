//! HTTP responses to bytes.
//!
//! ```text
//!   HTTP/1.1 200 OK\r\n Date: ...\r\n Content-Type: ...\r\n Content-Length: 5\r\n \r\n value
//! ```
//! A value may be appended by whoever holds it: [`Response::body_of`] and then the bytes, and no
//! bytes when the request was HEAD.

use super::date;
use crate::number::Decimal;
use std::fmt;
use std::io::Write;

/// What a client that waits for it is told before its body is read.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A response being written: status, then headers, then one of the three endings.
#[derive(Debug)]
#[must_use = "a response must be ended by one of its body methods"]
pub struct Response<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Response<'a> {
    /// `now` is in Unix milliseconds.
    pub fn new(out: &'a mut Vec<u8>, status: u16, now: u64) -> Self {
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(Decimal::unsigned(u64::from(status)).as_bytes());
        out.push(b' ');
        out.extend_from_slice(reason(status).as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&date::line(now));
        Self { out }
    }

    /// One header. Line ends in the value become blanks: it may come from the data.
    pub fn header(self, name: &str, value: impl fmt::Display) -> Self {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        let start = self.out.len();
        // A Vec takes whatever is written to it.
        let _ = write!(self.out, "{value}");
        for byte in &mut self.out[start..] {
            if matches!(byte, b'\r' | b'\n' | 0) {
                *byte = b' ';
            }
        }
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Announces that the connection closes after this response.
    pub fn close(self) -> Self {
        self.header("Connection", "close")
    }

    /// Announces what the request's connection headers ask for: HTTP/1.0 must be told that the
    /// connection stays, HTTP/1.1 that it does not.
    pub fn connection(self, request: &super::Request<'_>) -> Self {
        match (request.keep_alive, request.is_1_1) {
            (false, _) => self.close(),
            (true, false) => self.header("Connection", "keep-alive"),
            (true, true) => self,
        }
    }

    /// Ends the head for a body of `len` bytes, which the caller appends.
    pub fn body_of(self, len: usize) {
        self.out.extend_from_slice(b"Content-Length: ");
        self.out.extend_from_slice(Decimal::unsigned(len as u64).as_bytes());
        self.out.extend_from_slice(b"\r\n\r\n");
    }

    /// Ends the response with a text.
    pub fn body(self, text: impl fmt::Display) {
        struct Count(usize);
        impl Write for Count {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0 += bytes.len();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut count = Count(0);
        let _ = write!(count, "{text}");
        let Self { out } = self;
        Response { out }.body_of(count.0);
        let _ = write!(out, "{text}");
    }

    /// Ends a response that by its status has no body and no length (204, 304).
    pub fn no_body(self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        // The words are optional; the number says it.
        _ => "",
    }
}
