//! Memcached: text and meta requests, and binary ones.

use crate::run;
use dolium_protocol::memcache;
use dolium_protocol::memcache::binary;

#[test]
fn memcache_requests() {
    let seeds = [
        &b"get key\r\n"[..],
        b"gets a b c d\r\n",
        b"gat 10 a b\r\n",
        b"set key 0 0 5\r\nhello\r\n",
        b"cas key 1 2 5 99 noreply\r\nhello\r\n",
        b"append key 0 0 2\r\nhi\r\n",
        b"incr key 5\r\n",
        b"delete key 0 noreply\r\n",
        b"touch key 60\r\n",
        b"flush_all 5\r\n",
        b"stats items\r\n",
        b"verbosity 1\r\n",
        b"version\r\n",
        b"mg key t v k Oabc\r\n",
        b"ms key 5 T60 F7\r\nhello\r\n",
        b"ms Zm9v 2 b MA q\r\nhi\r\n",
        b"md key q\r\n",
        b"ma key N60 J5 D2 v\r\n",
        b"mn\r\n",
        b"me key\r\n",
    ];
    let dictionary = [
        &b"\r\n"[..],
        b" ",
        b"noreply",
        b"9999999",
        b"-1",
        b"18446744073709551616",
        b"b",
        b" T",
        b" Mx",
        b"\0",
        b"HTTP/1.1",
        b" v v",
        b"=",
        b"4294967296",
    ];
    let limits = memcache::Limits { value_bytes_max: 1000, ..memcache::Limits::default() };
    run(3, &seeds, &dictionary, |input| {
        let mut state = memcache::ParseState::new();
        let (mut at, mut count) = (0, 0);
        loop {
            let rest = &input[at..];
            count += 1;
            let before = state.clone();
            match memcache::parse(rest, &limits, &mut state) {
                memcache::Parsed::Complete { request, consumed } => {
                    assert!(consumed > 0 && consumed <= rest.len());
                    if let memcache::Request::Meta(command) = request {
                        let mut buffer = [0; 250];
                        let key = command.key.bytes(&mut buffer);
                        assert!(!key.is_empty() && key.len() <= 250);
                    }
                    let again = memcache::parse(&rest[..consumed], &limits, &mut before.clone());
                    assert_eq!(again, memcache::Parsed::Complete { request, consumed });
                    at += consumed;
                }
                memcache::Parsed::Incomplete { need_at_least } => {
                    assert!(need_at_least > rest.len() && need_at_least < rest.len() + 2000);
                    return count;
                }
                memcache::Parsed::Close(_) => return count,
            }
        }
    });
}

/// Opcode, extras, key and value under a header that says how long they are.
fn whole(opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let body = (extras.len() + key.len() + value.len()) as u32;
    let mut bytes = vec![0x80, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
    bytes.extend(body.to_be_bytes());
    bytes.extend(*b"opaq\0\0\0\0\0\0\0\x09");
    [&bytes, extras, key, value].concat()
}

#[test]
fn memcache_binary_requests() {
    let seeds = [
        whole(0x00, b"", b"key", b""),
        whole(0x0d, b"", b"key", b""),
        whole(0x01, &[0, 0, 0, 7, 0, 0, 0, 60], b"key", b"hello"),
        whole(0x12, &[0; 8], b"key", b"a longer value"),
        whole(0x0e, b"", b"key", b"more"),
        whole(0x04, b"", b"key", b""),
        whole(0x05, &[0; 20], b"key", b""),
        whole(0x1d, &[0, 0, 0, 60], b"key", b""),
        whole(0x08, &[0; 4], b"", b""),
        whole(0x0a, b"", b"", b""),
        whole(0x10, b"", b"items", b""),
        whole(0x21, b"", b"PLAIN", b"\0user\0password"),
        whole(0x6f, b"", b"key", b"of an opcode that there is not"),
    ];
    let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
    let dictionary = [
        &b"\x80"[..],
        b"\x81",
        b"\0",
        b"\0\0\0\0",
        b"\xff\xff",
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        b"\0\0\x03\xe8",
        b"\0\0\x03\xe9",
        b"\x80\x0a\0\0\0\0\0\0",
        b"\r\n",
    ];
    let limits = memcache::Limits { value_bytes_max: 1000, ..memcache::Limits::default() };
    run(6, &seeds, &dictionary, |input| {
        let (mut at, mut count) = (0, 0);
        loop {
            let rest = &input[at..];
            count += 1;
            match binary::parse(rest, &limits) {
                binary::Parsed::Complete { request, consumed } => {
                    assert!(consumed > 0 && consumed <= rest.len());
                    assert!(request.key.len() <= 250 && request.value.len() <= 1000);
                    let again = binary::parse(&rest[..consumed], &limits);
                    assert_eq!(again, binary::Parsed::Complete { request, consumed });
                    // A refused request's value is for the reader to pass over.
                    let skip = match request.operation {
                        binary::Operation::Refused { close: true, .. } => return count,
                        binary::Operation::Refused { skip, .. } => skip,
                        _ => 0,
                    };
                    at = (at + consumed + skip).min(input.len());
                }
                binary::Parsed::Incomplete { need_at_least } => {
                    assert!(need_at_least > rest.len());
                    // A header, extras, a key, and a value that is not too large.
                    assert!(need_at_least <= 24 + 255 + 250 + 1000);
                    return count;
                }
                binary::Parsed::Close => return count,
            }
        }
    });
}
