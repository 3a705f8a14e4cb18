//! HTTP, and telling by their first bytes which protocol a connection speaks.

use crate::run;
use dolium_protocol::detect::{Detected, Listener, detect};
use dolium_protocol::http;
use dolium_protocol::limits::HTTP_HEADERS_MAX;

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
                    assert!(request.headers().count() <= HTTP_HEADERS_MAX);
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
