//! A million mutated requests for each protocol, from fixed seeds.
//!
//! Whatever the bytes, a parser must not panic, must consume no more than it was given, must ask
//! for more than it has, and must read the consumed prefix alone as the same request.

use dolium_protocol::detect::{Detected, Listener, detect};
use dolium_protocol::resp::reply::{SkipState, decode, skip};
use dolium_protocol::{Parse, http, memcache, resp};

/// Each protocol's share. Set `DOLIUM_MUTATIONS` to look at more.
const REQUESTS: usize = 1_000_000;

fn requests() -> usize {
    match std::env::var("DOLIUM_MUTATIONS") {
        Ok(count) => count.parse().expect("DOLIUM_MUTATIONS is a number of requests"),
        Err(_) => REQUESTS,
    }
}

/// A small generator of its own, so that a failure's seed says everything.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound
    }
}

/// Changes `bytes` in one to four places, with a taste for what protocols are made of.
fn mutate(bytes: &mut Vec<u8>, dictionary: &[&[u8]], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at),
            3 => {
                let end = (at + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let from = random.below(bytes.len() + 1).min(at);
                let copy = bytes[from..at.min(from + 40)].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let word = dictionary[random.below(dictionary.len())];
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
}

/// Mutates pipelines of `seeds` until enough requests were looked at by `check`, which answers
/// how many it saw.
fn run(seed: u64, seeds: &[&[u8]], dictionary: &[&[u8]], mut check: impl FnMut(&[u8]) -> usize) {
    let mut random = Random(seed);
    let (mut looked_at, requests) = (0, requests());
    let mut input = Vec::new();
    while looked_at < requests {
        input.clear();
        for _ in 0..1 + random.below(4) {
            input.extend_from_slice(seeds[random.below(seeds.len())]);
        }
        mutate(&mut input, dictionary, &mut random);
        looked_at += check(&input).max(1);
    }
}

#[test]
fn resp_requests() {
    let seeds = [
        &b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"[..],
        b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$12\r\nhello world!\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"*11\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n$1\r\nj\r\n$1\r\nk\r\n",
        b"set \"a\\x41b\" 'it\\'s'\r\n",
        b"ping\r\n",
        b"*0\r\n",
    ];
    let dictionary = [
        &b"\r\n"[..],
        b"*",
        b"$",
        b"-1",
        b"$0\r\n",
        b"*2147483648\r\n",
        b"$536870913\r\n",
        b"\"",
        b"'",
        b"\\x",
        b"\0",
        b"99999999999999999999",
        b"$9999\r\n",
        b"$10000\r\n",
    ];
    let (mut state, mut args) = (resp::ParseState::new(), resp::ArgVec::new());
    run(1, &seeds, &dictionary, |input| {
        let limits = resp::Limits::default().with_authenticated(input.len() % 3 != 0);
        state.reset();
        let (mut at, mut count) = (0, 0);
        loop {
            let rest = &input[at..];
            count += 1;
            match resp::parse(rest, &limits, &mut state, &mut args) {
                Parse::Complete { consumed } => {
                    assert!(consumed > 0 && consumed <= rest.len() && !state.is_in_request());
                    let whole: Vec<Vec<u8>> = args.view(rest).iter().map(<[u8]>::to_vec).collect();
                    let again = resp::parse(&rest[..consumed], &limits, &mut state, &mut args);
                    assert_eq!(again, Parse::Complete { consumed });
                    assert!(args.view(rest).iter().eq(whole.iter().map(Vec::as_slice)));
                    at += consumed;
                }
                Parse::Incomplete { need_at_least } => {
                    assert!(need_at_least > rest.len());
                    return count;
                }
                Parse::Error(error) => {
                    let mut out = Vec::new();
                    error.write(&mut resp::RespWriter::new(&mut out, resp::Version::V2));
                    assert!(out.starts_with(b"-ERR Protocol error: ") && out.ends_with(b"\r\n"));
                    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
                    return count;
                }
            }
        }
    });
}

#[test]
fn resp_replies() {
    let seeds = [
        &b"+OK\r\n"[..],
        b"-ERR x\r\n",
        b":12\r\n",
        b"$5\r\nhello\r\n",
        b"$-1\r\n",
        b"*2\r\n:1\r\n$1\r\na\r\n",
        b"%1\r\n+k\r\n,1.5\r\n",
        b"~1\r\n#t\r\n",
        b">2\r\n+message\r\n_\r\n",
        b"=7\r\ntxt:abc\r\n",
        b"(12345678901234567890\r\n",
        b"|1\r\n+a\r\n:1\r\n:2\r\n",
        b"!5\r\nERR x\r\n",
    ];
    let dictionary = [
        &b"\r\n"[..],
        b"*",
        b"*1\r\n",
        b"%9\r\n",
        b"$",
        b"-1",
        b"9223372036854775807",
        b"?",
        b"*99999999\r\n",
    ];
    run(2, &seeds, &dictionary, |input| {
        let (mut at, mut count) = (0, 0);
        loop {
            let rest = &input[at..];
            count += 1;
            let mut state = SkipState::default();
            match skip(rest, &mut state) {
                Parse::Complete { consumed } => {
                    assert!(consumed > 0 && consumed <= rest.len());
                    // Decoding may still refuse what skipping does not look into.
                    if let Ok(decoded) = decode(rest) {
                        assert_eq!(decoded.map(|(_, len)| len), Some(consumed));
                    }
                    let again = skip(&rest[..consumed], &mut state);
                    assert_eq!(again, Parse::Complete { consumed });
                    at += consumed;
                }
                Parse::Incomplete { need_at_least } => {
                    assert!(need_at_least > rest.len());
                    assert!(!matches!(decode(rest), Ok(Some(_))));
                    return count;
                }
                Parse::Error(_) => {
                    assert!(decode(rest).is_err());
                    return count;
                }
            }
        }
    });
}

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

#[test]
fn http_requests() {
    let seeds = [
        &b"GET /keys/a HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        b"PUT /keys/a%20b?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-TTL: 10\r\n\r\nhello",
        b"PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;a=b\r\nabc\r\n0\r\nT: r\r\n\r\n",
        b"DELETE /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"HEAD /k HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
    ];
    let dictionary = [
        &b"\r\n"[..],
        b"\r\n\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"0\r\n\r\n",
        b"ffffffffffffffff",
        b": ",
        b"%",
        b"HTTP/2.0",
        b"\0",
        b"Connection: close\r\n",
    ];
    let limits = http::Limits { body_bytes_max: 1000 };
    run(4, &seeds, &dictionary, |input| {
        let mut state = http::ParseState::new();
        let (mut at, mut count) = (0, 0);
        loop {
            let rest = &input[at..];
            count += 1;
            match http::parse(rest, &limits, &mut state) {
                http::Parsed::Complete { request, consumed } => {
                    assert!(consumed > 0 && consumed <= rest.len());
                    assert_eq!(
                        request.body.pieces().map(<[u8]>::len).sum::<usize>(),
                        request.body.len()
                    );
                    assert!(request.headers().count() <= 64);
                    let mut key = Vec::new();
                    if http::percent_decode(request.path, &mut key).is_ok() {
                        assert!(key.len() <= request.path.len());
                    }
                    let again = http::parse(&rest[..consumed], &limits, &mut state);
                    assert_eq!(again, http::Parsed::Complete { request, consumed });
                    at += consumed;
                }
                http::Parsed::Incomplete { need_at_least, .. } => {
                    assert!(need_at_least > rest.len() && need_at_least < rest.len() + 2000);
                    return count;
                }
                http::Parsed::Error(error) => {
                    assert!((400..600).contains(&error.status()));
                    return count;
                }
            }
        }
    });
}

#[test]
fn detection_never_takes_an_answer_back() {
    let seeds = [
        &b"GET /keys/a HTTP/1.1\r\n\r\n"[..],
        b"get key\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"mg key v\r\n",
        b"incr k 5\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
        b"\x80\x01\0\0",
        b"flush_all\r\n",
    ];
    let dictionary = [&b"\r\n"[..], b" ", b"/", b" HTTP/1.1", b"\0", b"GET", b"decr"];
    run(5, &seeds, &dictionary, |input| {
        for listener in [Listener::Redis, Listener::Memcached, Listener::Http] {
            let mut first = Detected::NeedMore;
            for cut in 0..=input.len() {
                let now = detect(&input[..cut], listener);
                if first != Detected::NeedMore {
                    assert_eq!(now, first, "{} at {cut}", input.escape_ascii());
                }
                first = now;
            }
        }
        // Each cut was a look at a request of its own.
        3 * input.len()
    });
}
