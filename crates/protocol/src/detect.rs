//! Which protocol a connection speaks, from its first bytes.
//!
//! ```text
//!   *...                      RESP
//!   0x80...                   Memcached binary
//!   GET /path HTTP/1.1        HTTP: a method, a path, and `HTTP/` at the first line's end
//!   GET http://x/ HTTP/1.1    HTTP, as to a proxy
//!   PROPFIND / HTTP/1.1       HTTP by its form, whatever the method is: it is answered with 501
//!   PRI * HTTP/2.0            likewise: HTTP/2, which the HTTP codec refuses by name
//!   mg key v                  Memcached: a command that only it has
//!   incr key 5                Memcached: Redis' INCR takes no amount
//!   PING                      Redis: Memcached's commands are lower case. `Set` and `Quit` are either, as
//!                             they may be its commands with a typing error
//!   get key                   either: what the listener is named for
//! ```
//! The answer holds for the life of the connection, so it is asked for once.
//! What is a web request is decided first, and by its form (`detect/web.rs`).

mod web;

use crate::limits::HTTP_LEADING_BYTES_MAX;
use memchr::memchr;
use web::is_in_token;

/// What a listening socket is named for: the meaning of what could be several protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    Redis,
    Memcached,
    Http,
}

/// A protocol that the first bytes can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// RESP requests and inline commands.
    Resp,
    /// Memcached's text protocol, meta commands included.
    MemcacheText,
    /// Memcached's binary protocol.
    MemcacheBinary,
    Http,
}

/// What the first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    Is(Protocol),
    /// Not yet to be told; ask again with more bytes.
    NeedMore,
}

/// First byte of each request in Memcached's binary protocol.
const MEMCACHE_BINARY_MAGIC: u8 = 0x80;

/// Commands that Memcached has and Redis has not.
const MEMCACHE_ONLY: [&[u8]; 25] = [
    b"gets",
    b"gat",
    b"gats",
    b"cas",
    b"add",
    b"replace",
    b"prepend",
    b"delete",
    b"mg",
    b"ms",
    b"md",
    b"ma",
    b"mn",
    b"me",
    b"stats",
    b"version",
    b"verbosity",
    b"flush_all",
    b"slabs",
    b"lru",
    b"lru_crawler",
    b"cache_memlimit",
    b"misbehave",
    b"extstore",
    b"refresh_certs",
];

/// Longest word that decides anything: longer than any method that is registered.
const WORD_BYTES_MAX: usize = 32;

impl Listener {
    /// What it means when nothing else can be told.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Redis => Protocol::Resp,
            Self::Memcached => Protocol::MemcacheText,
            Self::Http => Protocol::Http,
        }
    }
}

/// Tells the protocol from a connection's first bytes.
pub fn detect(input: &[u8], listener: Listener) -> Detected {
    let own = Detected::Is(listener.protocol());
    match input.first() {
        None => return Detected::NeedMore,
        Some(b'*' | b'$') => return Detected::Is(Protocol::Resp),
        Some(&MEMCACHE_BINARY_MAGIC) => return Detected::Is(Protocol::MemcacheBinary),
        Some(b'\r' | b'\n') => return behind_empty_lines(input, listener),
        Some(byte) if !is_in_token(*byte) => return own,
        Some(_) => {}
    }
    let end = input.iter().take(WORD_BYTES_MAX + 1).position(|byte| b" \r\n".contains(byte));
    let Some(end) = end else {
        return if input.len() <= WORD_BYTES_MAX { Detected::NeedMore } else { own };
    };
    let (word, rest) = input.split_at(end);
    match web::request_line(word, rest) {
        Some(true) => return Detected::Is(Protocol::Http),
        Some(false) => {}
        None => return Detected::NeedMore,
    }
    if MEMCACHE_ONLY.contains(&word) {
        return Detected::Is(Protocol::MemcacheText);
    }
    if listener == Listener::Redis && (word == b"incr" || word == b"decr") {
        return match line(rest) {
            None => Detected::NeedMore,
            Some(line) => {
                match line.split(|byte| *byte == b' ').filter(|w| !w.is_empty()).count() {
                    0 | 1 => own,
                    _ => Detected::Is(Protocol::MemcacheText),
                }
            }
        };
    }
    if listener == Listener::Memcached && is_upper_case(word) {
        return Detected::Is(Protocol::Resp);
    }
    own
}

/// Whether a word has letters, and all are capitals. A single capital is no sign of Redis: a slip of the finger
/// would make the connection Redis' for life.
fn is_upper_case(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_uppercase) && !word.iter().any(u8::is_ascii_lowercase)
}

/// As [`detect`], for a server that stands in for Memcached: what is neither its binary protocol nor
/// RESP is text to it, a browser's request included, and such a connection it closes.
pub fn detect_memcached(first: u8) -> Protocol {
    match first {
        MEMCACHE_BINARY_MAGIC => Protocol::MemcacheBinary,
        b'*' => Protocol::Resp,
        _ => Protocol::MemcacheText,
    }
}

/// Empty lines come before a web request now and then, and say nothing to Redis, so it can wait for what
/// follows. Memcached answers each, and a web server expects nothing else.
fn behind_empty_lines(input: &[u8], listener: Listener) -> Detected {
    let own = Detected::Is(listener.protocol());
    let lead = input.iter().take_while(|byte| b"\r\n".contains(byte)).count();
    if listener != Listener::Redis || lead > HTTP_LEADING_BYTES_MAX {
        return own;
    }
    match detect(&input[lead..], listener) {
        Detected::Is(Protocol::Http) => Detected::Is(Protocol::Http),
        Detected::NeedMore => Detected::NeedMore,
        Detected::Is(_) => own,
    }
}

/// `rest` to its line's end.
fn line(rest: &[u8]) -> Option<&[u8]> {
    let line = &rest[..memchr(b'\n', rest)?];
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::Detected::{Is, NeedMore};
    use super::Listener::{Http as H, Memcached as M, Redis as R};
    use super::Protocol::{Http, MemcacheBinary, MemcacheText, Resp};
    use super::*;

    #[test]
    fn unmistakable_bytes_mean_the_same_on_every_listener() {
        for listener in [R, M, H] {
            for (input, protocol) in [
                (&b"*"[..], Resp),
                (b"*1\r\n$4\r\nPING\r\n", Resp),
                (b"\x80\x0b", MemcacheBinary),
                (b"GET /keys/a HTTP/1.1\r\n", Http),
                (b"PUT /keys/a HTTP/1.1\r\nHost: x\r\n", Http),
                (b"DELETE /keys/a HTTP/1.0\r\n", Http),
                (b"OPTIONS * HTTP/1.1\r\n", Http),
                (b"HEAD /metrics HTTP/1.1\r\n", Http),
                (b"GET http://x/keys/a HTTP/1.1\r\n", Http),
                (b"PUT HTTPS://x/keys/a HTTP/1.1\r\n", Http),
                (b"PRI * HTTP/2.0\r\n", Http),
                (b"PROPFIND / HTTP/1.1\r\nHost: x\r\n", Http),
                (b"UPDATEREDIRECTREF /a HTTP/1.1\r\n", Http),
                (b"post / HTTP/1.1\r\n", Http),
                (b"set /a HTTP/1.1\r\n", Http),
                (b"-x * HTTP/1.1\r\n", Http),
                (b"M http://x/ HTTP/1.0\r\n", Http),
                (b"mg key v\r\n", MemcacheText),
                (b"mn\r\n", MemcacheText),
                (b"gets k\r\n", MemcacheText),
                (b"gat 0 k\r\n", MemcacheText),
                (b"add k 0 0 1\r\n", MemcacheText),
                (b"flush_all\r\n", MemcacheText),
                (b"version\r\n", MemcacheText),
                (b"cache_memlimit 64\r\n", MemcacheText),
            ] {
                assert_eq!(detect(input, listener), Is(protocol), "{}", input.escape_ascii());
            }
        }
    }

    #[test]
    fn ambiguous_lines_mean_what_the_listener_is_named_for() {
        for line in [
            &b"get k\r\n"[..],
            b"set k 0 0 1\r\n",
            b"append k v\r\n",
            b"touch k 0\r\n",
            b"incr k\r\n",
            b"quit\r\n",
            b"watch k\r\n",
            b"nonsense\r\n",
            b"Set k 0 0 1\r\n",
            b"sEt k 0 0 1\r\n",
            b"Quit\r\n",
            b"\x00",
            b"\xff\xfe",
            b"averyveryveryveryveryveryverylongword",
            b"set /k HTTP/1.1 x\r\n",
            b"set /k \"HTTP/1.1\"\r\n",
            b"append /k HTTP/\r\n",
            b"touch /k 0\r\n",
            b"\r\nset k 0 0 1\r\n",
        ] {
            assert_eq!(detect(line, R), Is(Resp), "{}", line.escape_ascii());
            assert_eq!(detect(line, M), Is(MemcacheText), "{}", line.escape_ascii());
            assert_eq!(detect(line, H), Is(Http), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn form_tells_redis_and_memcached_apart() {
        assert_eq!(detect(b"incr k 5\r\n", R), Is(MemcacheText));
        assert_eq!(detect(b"decr k 5 noreply\r\n", R), Is(MemcacheText));
        assert_eq!(detect(b"PING\r\n", M), Is(Resp));
        assert_eq!(detect(b"SET k v\r\n", M), Is(Resp));
        assert_eq!(detect(b"SORT_RO k\r\n", M), Is(Resp));
        assert_eq!(detect(b"GET /k\r\n", R), Is(Resp), "a key that begins with a slash");
        assert_eq!(detect(b"GET http://x/\r\n", R), Is(Resp), "a key that is a link");
        assert_eq!(detect(b"GET hello", R), Is(Resp), "decided before the line's end");
        assert_eq!(detect(b"GET /k\r\n", H), Is(Http));
        assert_eq!(detect(b"GET k\r\n", R), Is(Resp));
    }

    #[test]
    fn waits_only_while_more_bytes_could_decide() {
        for input in
            [&b""[..], b"G", b"GET", b"GET ", b"GET /keys/a HTT", b"GET ht", b"incr k", b"ge"]
        {
            assert_eq!(detect(input, R), NeedMore, "{}", input.escape_ascii());
        }
        assert_eq!(detect(b"set /k HTT", M), NeedMore, "the line's end tells");
        let many = [b"get /".as_slice(), &[b'a'; 4096]].concat();
        assert_eq!(detect(&many, M), Is(MemcacheText), "a retrieval of much");
        let long_path = [b"PUT /".as_slice(), &[b'a'; 4096]].concat();
        assert_eq!(detect(&long_path, R), Is(Http));
    }

    #[test]
    fn empty_lines_may_come_before_a_web_request() {
        let request = b"\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(detect(request, R), Is(Http));
        assert_eq!(detect(request, H), Is(Http));
        assert_eq!(detect(request, M), Is(MemcacheText), "which has answered ERROR by then");
        assert_eq!(detect(b"\r\n", R), NeedMore, "Redis does not answer an empty line");
        assert_eq!(detect(b"\r\n", M), Is(MemcacheText));
        assert_eq!(detect(b"\r\nmg k v\r\n", R), Is(Resp));
        assert_eq!(detect(&[b'\n'; 9], R), Is(Resp));
    }

    /// An answer given early must not be contradicted by what follows.
    #[test]
    fn more_bytes_never_change_an_answer() {
        for listener in [R, M, H] {
            for whole in [
                &b"GET /keys/a HTTP/1.1\r\nHost: a\r\n\r\n"[..],
                b"GET /k\r\nGET / HTTP/1.1\r\n",
                b"GET http://a/keys/a HTTP/1.1\r\nHost: a\r\n\r\n",
                b"GET http://a\r\nGET / HTTP/1.1\r\n",
                b"GET htt\r\n",
                b"incr k 5\r\nincr k\r\n",
                b"incr k\r\nincr k 5\r\n",
                b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
                b"mg key v\r\n",
                b"PING\r\nmg key v\r\n",
                b"set k 0 0 1\r\nx\r\n",
                b"\x80\0\0\0",
                b"PRI * HTTP/2.0\r\n\r\nSM",
                b"PRI * x\r\n",
                &[b"PROPFIND /".as_slice(), &[b'a'; 4096][..], b" HTTP/1.1\r\n"].concat(),
                &[b"GET /".as_slice(), &[b'a'; 4096][..], b"\r\n"].concat(),
                b"PROPFIND / HTTP/1.1\r\nHost: x\r\n\r\nSET pwn 1\r\n",
                b"set /k 0 0 1\r\nGET / HTTP/1.1\r\n",
                b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"\r\nPING\r\n",
            ] {
                let mut first = NeedMore;
                for cut in 0..=whole.len() {
                    let now = detect(&whole[..cut], listener);
                    if first == NeedMore {
                        first = now;
                    }
                    assert_eq!(now, first, "{} at {cut}", whole.escape_ascii());
                }
                assert_ne!(first, NeedMore);
            }
        }
    }
}
