//! The bytes of one request. What is answered to it is in `expected.rs`.
//!
//! ```text
//! RESP GET    *2 CRLF $3 CRLF GET CRLF $16 CRLF key:000000000042 CRLF
//! text get    get key:000000000042 CRLF
//! meta get    mg key:000000000042 v CRLF
//! binary get  80 00 | key length 2 | 00 00 00 00 | body length 4 | opaque 4 | cas 8 | key
//! HTTP GET    GET /keys/key:000000000042 HTTP/1.1 CRLF Host: localhost CRLF CRLF
//! ```

use super::{Operation, Protocol, value};

/// Key numbers stay below this: the top bit of a request's word marks a SET.
pub const KEY_IDS: u32 = 1 << 31;

/// Binary verbs of a request for many keys, which its replies repeat.
pub const BINARY_GETKQ: u8 = 0x0d;
pub const BINARY_NOOP: u8 = 0x0a;

/// Appends the key numbered `id`: `key:` and zeros before the digits, cut to the width.
pub fn push_key(out: &mut Vec<u8>, id: u32, width: usize) {
    let start = out.len();
    out.resize(start + width, b'0');
    let key = &mut out[start..];
    let mut rest = id;
    let mut at = width;
    while at > 0 && (rest > 0 || at == width) {
        at -= 1;
        key[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The prefix is decoration; it gives way where a narrow key needs its bytes for digits.
    const PREFIX: &[u8] = b"key:";
    const DIGITS: usize = 10;
    if width >= PREFIX.len() + DIGITS {
        key[..PREFIX.len()].copy_from_slice(PREFIX);
    }
}

/// A request for one key: everything that its bytes depend on.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    pub protocol: Protocol,
    pub id: u32,
    pub key_bytes: usize,
    pub value_bytes: usize,
    /// Seconds until what is set expires; 0 for never.
    pub ttl: u32,
}

/// Appends one GET or SET.
pub fn push_request(out: &mut Vec<u8>, operation: Operation, asking: Asking) {
    match operation {
        Operation::Get | Operation::Other => push_get(out, asking),
        Operation::Set => push_set(out, asking),
    }
}

fn push_get(out: &mut Vec<u8>, asking: Asking) {
    let Asking { id, key_bytes, .. } = asking;
    match asking.protocol {
        Protocol::Resp | Protocol::Resp3 => {
            out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n$");
            push_number(out, key_bytes);
            out.extend_from_slice(b"\r\n");
            push_key(out, id, key_bytes);
            out.extend_from_slice(b"\r\n");
        }
        Protocol::Memcached => {
            out.extend_from_slice(b"get ");
            push_key(out, id, key_bytes);
            out.extend_from_slice(b"\r\n");
        }
        Protocol::Meta => {
            out.extend_from_slice(b"mg ");
            push_key(out, id, key_bytes);
            out.extend_from_slice(b" v\r\n");
        }
        Protocol::Binary => {
            push_binary_head(out, 0x00, key_bytes, 0, key_bytes);
            push_key(out, id, key_bytes);
        }
        Protocol::Http => {
            out.extend_from_slice(b"GET /keys/");
            push_key(out, id, key_bytes);
            out.extend_from_slice(b" HTTP/1.1\r\nHost: localhost\r\n\r\n");
        }
    }
}

fn push_set(out: &mut Vec<u8>, asking: Asking) {
    let Asking { id, key_bytes, value_bytes, ttl, .. } = asking;
    match asking.protocol {
        Protocol::Resp | Protocol::Resp3 => {
            let head: &[u8] = if ttl == 0 { b"*3\r\n" } else { b"*5\r\n" };
            out.extend_from_slice(head);
            out.extend_from_slice(b"$3\r\nSET\r\n$");
            push_number(out, key_bytes);
            out.extend_from_slice(b"\r\n");
            push_key(out, id, key_bytes);
            out.extend_from_slice(b"\r\n$");
            push_number(out, value_bytes);
            out.extend_from_slice(b"\r\n");
            value::push(out, id, value_bytes);
            out.extend_from_slice(b"\r\n");
            if ttl > 0 {
                let seconds = ttl.to_string();
                out.extend_from_slice(b"$2\r\nEX\r\n$");
                push_number(out, seconds.len());
                out.extend_from_slice(format!("\r\n{seconds}\r\n").as_bytes());
            }
        }
        Protocol::Memcached => {
            out.extend_from_slice(b"set ");
            push_key(out, id, key_bytes);
            out.extend_from_slice(format!(" 0 {ttl} {value_bytes}\r\n").as_bytes());
            value::push(out, id, value_bytes);
            out.extend_from_slice(b"\r\n");
        }
        Protocol::Meta => {
            out.extend_from_slice(b"ms ");
            push_key(out, id, key_bytes);
            out.push(b' ');
            push_number(out, value_bytes);
            if ttl > 0 {
                out.extend_from_slice(format!(" T{ttl}").as_bytes());
            }
            out.extend_from_slice(b"\r\n");
            value::push(out, id, value_bytes);
            out.extend_from_slice(b"\r\n");
        }
        Protocol::Binary => {
            const EXTRAS: usize = 8;
            push_binary_head(out, 0x01, key_bytes, EXTRAS as u8, EXTRAS + key_bytes + value_bytes);
            out.extend_from_slice(&0u32.to_be_bytes());
            out.extend_from_slice(&ttl.to_be_bytes());
            push_key(out, id, key_bytes);
            value::push(out, id, value_bytes);
        }
        Protocol::Http => {
            out.extend_from_slice(b"PUT /keys/");
            push_key(out, id, key_bytes);
            out.extend_from_slice(b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: ");
            push_number(out, value_bytes);
            if ttl > 0 {
                out.extend_from_slice(format!("\r\nDolium-Ttl-Ms: {}", ttl * 1000).as_bytes());
            }
            out.extend_from_slice(b"\r\n\r\n");
            value::push(out, id, value_bytes);
        }
    }
}

/// The head of a binary request: magic, verb, lengths; opaque and cas are zero.
fn push_binary_head(out: &mut Vec<u8>, verb: u8, key: usize, extras: u8, body: usize) {
    out.extend_from_slice(&[0x80, verb]);
    out.extend_from_slice(&(key as u16).to_be_bytes());
    out.extend_from_slice(&[extras, 0, 0, 0]);
    out.extend_from_slice(&(body as u32).to_be_bytes());
    out.extend_from_slice(&[0; 12]);
}

/// Appends a request for `keys` (number and width of each) at once.
pub fn push_scan(out: &mut Vec<u8>, protocol: Protocol, keys: &[(u32, usize)]) {
    match protocol {
        Protocol::Resp | Protocol::Resp3 => {
            out.extend_from_slice(format!("*{}\r\n$4\r\nMGET\r\n", keys.len() + 1).as_bytes());
            for &(id, width) in keys {
                out.extend_from_slice(format!("${width}\r\n").as_bytes());
                push_key(out, id, width);
                out.extend_from_slice(b"\r\n");
            }
        }
        // The other doors have no request for many keys, or are not asked for one: text has it.
        _ => {
            out.extend_from_slice(b"get");
            for &(id, width) in keys {
                out.push(b' ');
                push_key(out, id, width);
            }
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Appends a request for exactly these keys. Where a protocol has none for many keys, it is the
/// one that its clients send: quiet or marked gets, ended by a request that is always answered.
pub fn push_gets(out: &mut Vec<u8>, protocol: Protocol, keys: &[(u32, usize)]) {
    match protocol {
        Protocol::Meta => {
            for &(id, width) in keys {
                out.extend_from_slice(b"mg ");
                push_key(out, id, width);
                out.extend_from_slice(b" k v q\r\n");
            }
            out.extend_from_slice(b"mn\r\n");
        }
        Protocol::Binary => {
            for &(id, width) in keys {
                push_binary_head(out, BINARY_GETKQ, width, 0, width);
                push_key(out, id, width);
            }
            push_binary_head(out, BINARY_NOOP, 0, 0, 0);
        }
        _ => push_scan(out, protocol, keys),
    }
}

/// Line feeds in one request, by which a null server counts requests. `None` where requests are
/// not made of lines.
pub fn newlines(protocol: Protocol, operation: Operation) -> Option<usize> {
    let get = operation != Operation::Set;
    Some(match protocol {
        Protocol::Resp | Protocol::Resp3 => {
            if get {
                5
            } else {
                7
            }
        }
        Protocol::Memcached | Protocol::Meta => {
            if get {
                1
            } else {
                2
            }
        }
        Protocol::Binary => return None,
        Protocol::Http => {
            if get {
                3
            } else {
                4
            }
        }
    })
}

pub(super) fn push_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(number.to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(protocol: Protocol, id: u32, key_bytes: usize, value_bytes: usize) -> Asking {
        Asking { protocol, id, key_bytes, value_bytes, ttl: 0 }
    }

    #[test]
    fn keys_have_one_width() {
        let mut out = Vec::new();
        push_key(&mut out, 42, 16);
        assert_eq!(out, b"key:000000000042");
        out.clear();
        push_key(&mut out, 0, 5);
        assert_eq!(out, b"00000");
    }

    #[test]
    fn requests_read_as_their_protocols_say() {
        let text = |protocol, operation, ttl| {
            let mut out = Vec::new();
            push_request(&mut out, operation, Asking { ttl, ..asking(protocol, 7, 2, 3) });
            String::from_utf8(out).unwrap()
        };
        let value = String::from_utf8({
            let mut out = Vec::new();
            value::push(&mut out, 7, 3);
            out
        })
        .unwrap();
        let (get, set) = (Operation::Get, Operation::Set);
        assert_eq!(text(Protocol::Resp, get, 0), "*2\r\n$3\r\nGET\r\n$2\r\n07\r\n");
        assert_eq!(
            text(Protocol::Resp, set, 0),
            format!("*3\r\n$3\r\nSET\r\n$2\r\n07\r\n$3\r\n{value}\r\n")
        );
        assert_eq!(
            text(Protocol::Resp, set, 60),
            format!("*5\r\n$3\r\nSET\r\n$2\r\n07\r\n$3\r\n{value}\r\n$2\r\nEX\r\n$2\r\n60\r\n")
        );
        assert_eq!(text(Protocol::Memcached, get, 0), "get 07\r\n");
        assert_eq!(text(Protocol::Memcached, set, 60), format!("set 07 0 60 3\r\n{value}\r\n"));
        assert_eq!(text(Protocol::Meta, get, 0), "mg 07 v\r\n");
        assert_eq!(text(Protocol::Meta, set, 5), format!("ms 07 3 T5\r\n{value}\r\n"));
        let http = text(Protocol::Http, set, 0);
        assert!(http.starts_with("PUT /keys/07 HTTP/1.1\r\n"), "{http}");
        assert!(http.ends_with(&format!("Content-Length: 3\r\n\r\n{value}")), "{http}");
    }

    #[test]
    fn a_binary_request_has_the_lengths_that_its_head_says() {
        let mut out = Vec::new();
        push_request(&mut out, Operation::Set, asking(Protocol::Binary, 7, 16, 100));
        let body = u32::from_be_bytes([out[8], out[9], out[10], out[11]]) as usize;
        assert_eq!((out[0], out[1], body), (0x80, 1, 8 + 16 + 100));
        assert_eq!(out.len(), 24 + body);
    }

    #[test]
    fn the_newline_counts_match_the_requests() {
        for protocol in Protocol::ALL {
            for operation in [Operation::Get, Operation::Set] {
                let Some(expected) = newlines(protocol, operation) else { continue };
                let mut out = Vec::new();
                push_request(&mut out, operation, asking(protocol, 3, 16, 100));
                let seen = out.iter().filter(|&&byte| byte == b'\n').count();
                assert_eq!(seen, expected, "{protocol:?} {operation:?}");
            }
        }
    }
}
