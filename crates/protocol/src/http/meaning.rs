//! What a request's headers say about its body, its connection and whom it is meant for.
//!
//! ```text
//!   Host: example.org:8379        once; HTTP/1.0 may leave it out
//!   Content-Length: 5             the body's length, or
//!   Transfer-Encoding: chunked    its chunks say; HTTP/1.1 without either has no body
//!   Connection: close             this is the last request
//!   Expect: 100-continue          the client waits to be asked for the body
//! ```

use super::error::HttpError;
use super::parse::Method;
use super::target::is_authority;
use crate::number::parse_digits;

#[derive(Debug, Clone, Copy)]
pub(super) enum BodyForm {
    Length(u64),
    Chunked,
}

/// What the headers say about the body and the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaning {
    pub body: BodyForm,
    pub keep_alive: bool,
    pub expects_continue: bool,
}

impl Meaning {
    pub(super) fn of(
        method: Method,
        headers: &[httparse::Header<'_>],
        is_1_1: bool,
    ) -> Result<Self, HttpError> {
        let mut length = None;
        let mut chunked = false;
        let mut closes = false;
        let mut keeps = is_1_1;
        let mut expects_continue = false;
        let mut hosts = 0;
        for header in headers {
            let value = header.value.trim_ascii();
            if header.name.eq_ignore_ascii_case("host") {
                hosts += 1;
                if !value.is_empty() && !is_authority(value) {
                    return Err(HttpError::BadHost);
                }
            } else if header.name.eq_ignore_ascii_case("content-length") {
                let len = parse_digits(value).ok_or(HttpError::BadContentLength)?;
                if length.is_some_and(|other| other != len) {
                    return Err(HttpError::BadContentLength);
                }
                length = Some(len);
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                if chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(HttpError::UnknownEncoding);
                }
                chunked = true;
            } else if header.name.eq_ignore_ascii_case("connection") {
                for option in value.split(|byte| *byte == b',') {
                    let option = option.trim_ascii();
                    if option.eq_ignore_ascii_case(b"close") {
                        closes = true;
                    } else if option.eq_ignore_ascii_case(b"keep-alive") {
                        keeps = true;
                    }
                }
            } else if header.name.eq_ignore_ascii_case("expect") {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(HttpError::UnknownExpectation);
                }
                expects_continue = is_1_1;
            }
        }
        if hosts > 1 || hosts == 0 && is_1_1 {
            return Err(HttpError::BadHost);
        }
        let body = match (length, chunked) {
            (Some(_), true) => return Err(HttpError::TwoLengths),
            (None, true) if !is_1_1 => return Err(HttpError::ChunksTooEarly),
            (None, true) => BodyForm::Chunked,
            // What such a client sends up to its end is the body; to later ones it would be a request.
            (None, false) if !is_1_1 && has_body(method) => return Err(HttpError::NoLength),
            (length, false) => BodyForm::Length(length.unwrap_or(0)),
        };
        Ok(Self { body, keep_alive: keeps && !closes, expects_continue })
    }
}

/// Whether it is a method that sends something.
fn has_body(method: Method) -> bool {
    matches!(method, Method::Put | Method::Post | Method::Patch)
}
