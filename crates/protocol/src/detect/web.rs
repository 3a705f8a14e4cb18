//! Whether a line is a web request's first one, by its form and not by a list of methods.
//!
//! A web request that is taken for something else is dangerous: what a web page makes a browser send as
//! its body would run as commands. What gets past this is met again where Redis' requests are dispatched:
//! `Host:` and `POST` end the connection.

use super::line;
use crate::limits::DETECT_LINE_BYTES_MAX;

const HTTP_METHODS: [&[u8]; 9] =
    [b"GET", b"PUT", b"HEAD", b"DELETE", b"POST", b"OPTIONS", b"PATCH", b"TRACE", b"CONNECT"];

/// Whether ` /path HTTP/1.1` or ` http://host/path HTTP/1.1` follows a method. `GET /key` alone is a
/// Redis inline command, and so is `GET http://x`. All of them have their meaning at their line's end
/// only, so that to wait for it delays nobody.
pub(super) fn request_line(word: &[u8], rest: &[u8]) -> Option<bool> {
    if !word.iter().all(|byte| is_in_token(*byte)) {
        return Some(false);
    }
    match rest {
        [b' '] => return None,
        [b' ', b'/' | b'*', ..] => {}
        [b' ', target @ ..] => {
            let begins = |scheme: &[u8]| {
                let len = target.len().min(scheme.len());
                target[..len].eq_ignore_ascii_case(&scheme[..len])
            };
            if !begins(b"http://") && !begins(b"https://") {
                return Some(false);
            }
        }
        _ => return Some(false),
    }
    let is_method = HTTP_METHODS.contains(&word);
    // No further, so that the answer does not depend on how the stream was cut.
    match line(&rest[..rest.len().min(DETECT_LINE_BYTES_MAX + 1)]) {
        Some(line) if is_method => Some(memchr::memmem::find(line, b" HTTP/").is_some()),
        Some(line) => Some(is_target_and_version(line)),
        // No inline command for a key of that length is typed: it is a long path. Behind another word
        // it may be a retrieval of many keys.
        None if rest.len() > DETECT_LINE_BYTES_MAX => Some(is_method),
        None => None,
    }
}

/// ` target HTTP/1.1` and nothing else: neither Redis nor Memcached has a command of two arguments of
/// which the second is such a word.
fn is_target_and_version(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ').skip(1);
    let (target, version) = (words.next(), words.next());
    let is_version = |word: &[u8]| {
        word.strip_prefix(b"HTTP/").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    };
    target.is_some() && version.is_some_and(is_version) && words.next().is_none()
}

/// What a method may consist of (RFC 9110, 5.6.2).
pub(super) fn is_in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
