//! HTTP requests: what is accepted, what is refused, and that neither depends on how the stream
//! was cut.

use dolium_protocol::http::{CONTINUE, Limits, Method, ParseState, Parsed, head, parse};
use proptest::prelude::*;

const LIMITS: Limits = Limits { body_bytes_max: 1000 };

/// What a server makes of a stream, one text a request.
fn hear(stream: &[u8], cuts: impl IntoIterator<Item = usize>) -> Vec<String> {
    let mut state = ParseState::new();
    let mut heard = Vec::new();
    let mut start = 0;
    for end in cuts.into_iter().chain([stream.len()]) {
        loop {
            let input = &stream[start..end];
            match parse(input, &LIMITS, &mut state) {
                Parsed::Complete { request, consumed } => {
                    assert!(consumed > 0 && consumed <= input.len());
                    let body: Vec<u8> = request.body.pieces().flatten().copied().collect();
                    assert_eq!(body.len(), request.body.len());
                    heard.push(format!(
                        "{:?} {} {} keep={}",
                        request.method,
                        request.path.escape_ascii(),
                        body.escape_ascii(),
                        request.keep_alive
                    ));
                    start += consumed;
                }
                Parsed::Incomplete { need_at_least, .. } => {
                    assert!(need_at_least > input.len());
                    break;
                }
                Parsed::Error(error) => {
                    heard.push(format!("{} {error:?}", error.status()));
                    return heard;
                }
            }
        }
    }
    heard
}

#[test]
fn requests_are_read_whole_and_in_pieces() {
    for (stream, expected) in [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", &["Get /  keep=true"][..]),
        ("\r\nGET /a?b=c HTTP/1.0\r\n\r\n", &["Get /a  keep=false"]),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", &["Get /  keep=true"]),
        ("GET / HTTP/1.0\r\nConnection: close, keep-alive\r\n\r\n", &["Get /  keep=false"]),
        ("GET / HTTP/1.1\nhost: x\nconnection: x, close\n\n", &["Get /  keep=false"]),
        (
            "PUT /keys/a%20b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nva\r\nlHEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
            &["Put /keys/a%20b va\\r\\nl keep=true", "Head /  keep=true"],
        ),
        (
            "PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n world\r\n0\r\nA: b\r\n\r\nDELETE /k HTTP/1.1\r\nHost: x\r\n\r\n",
            &["Put /k hello world keep=true", "Delete /k  keep=true"],
        ),
        (
            "PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            &["Put /k  keep=true"],
        ),
        ("PUT /k HTTP/1.1\r\nHost: x\r\n\r\n", &["Put /k  keep=true"]),
        ("PUT /k HTTP/1.0\r\nContent-Length: 1\r\n\r\nv", &["Put /k v keep=false"]),
        ("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", &["Options *  keep=true"]),
        ("GET http://y/a HTTP/1.1\r\nHost: x\r\n\r\n", &["Get /a  keep=true"]),
        ("BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", &["Other /pot  keep=true"]),
    ] {
        assert_eq!(hear(stream.as_bytes(), []), expected, "{stream:?}");
        assert_eq!(hear(stream.as_bytes(), 0..stream.len()), expected, "{stream:?}");
    }
}

#[test]
fn a_hundred_headers_are_read_beside_the_host() {
    let stream = format!("GET /a HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(100));
    assert_eq!(hear(stream.as_bytes(), []), ["Get /a  keep=true"]);
}

#[test]
fn what_cannot_be_read_safely_is_refused() {
    let head = |lines: &str| format!("PUT /k HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n");
    for (stream, expected) in [
        ("hello\r\n\r\n".to_string(), "400 Malformed"),
        ("GET /\r\n\r\n".to_string(), "400 Malformed"),
        ("GET / HTTP/2.0\r\n\r\n".to_string(), "505 UnknownVersion"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_string(), "505 UnknownVersion"),
        ("GET x:80 HTTP/1.1\r\nHost: x\r\n\r\n".to_string(), "400 BadTarget"),
        ("\r\n".repeat(5), "400 Malformed"),
        (head("Content-Length: x"), "400 BadContentLength"),
        (head("Content-Length: +1"), "400 BadContentLength"),
        (head("Content-Length: 1\r\nContent-Length: 2"), "400 BadContentLength"),
        (head("Content-Length: 1\r\nTransfer-Encoding: chunked"), "400 TwoLengths"),
        (head("Content-Length: 1001"), "413 BodyTooLarge"),
        (head("Content-Length: 18446744073709551615"), "413 BodyTooLarge"),
        (head("Transfer-Encoding: gzip, chunked"), "501 UnknownEncoding"),
        ("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_string(), "501 ChunksTooEarly"),
        (head("Expect: miracles"), "417 UnknownExpectation"),
        (head("Na me: x"), "400 Malformed"),
        (head("A: b\r\n folded"), "400 Malformed"),
        (head("Transfer-Encoding: chunked") + "x\r\n", "400 BadChunk"),
        (head("Transfer-Encoding: chunked") + "\r\n", "400 BadChunk"),
        (head("Transfer-Encoding: chunked") + "1\r\nab\r\n", "400 BadChunk"),
        (head("Transfer-Encoding: chunked") + "3e9\r\n", "413 BodyTooLarge"),
        (head("Transfer-Encoding: chunked") + "ffffffffffffffff\r\n", "413 BodyTooLarge"),
        (head("Transfer-Encoding: chunked") + &"0".repeat(1100), "400 BadChunk"),
        (head("Transfer-Encoding: chunked") + "0\r\n" + &"t".repeat(1100), "431 TrailersTooLarge"),
        (head("Transfer-Encoding: chunked") + "0\r\nno colon\r\n\r\n", "400 BadTrailer"),
        (head("Transfer-Encoding: chunked") + "0\r\n: a\r\n\r\n", "400 BadTrailer"),
        (
            head("Transfer-Encoding: chunked")
                + "0\r\n"
                + &format!("A: {}\r\n", "b".repeat(1000)).repeat(17),
            "431 TrailersTooLarge",
        ),
        (
            head("Transfer-Encoding: chunked")
                + &format!("1;{}\r\nx\r\n", "e".repeat(900)).repeat(20),
            "400 BadChunk",
        ),
        ("PUT /k HTTP/1.0\r\n\r\nvalue".to_string(), "411 NoLength"),
        ("POST /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_string(), "411 NoLength"),
        (head(&format!("A: {}", "a".repeat(20_000))), "431 HeadTooLarge"),
        (head(&"A: b\r\n".repeat(101)), "431 HeadTooLarge"),
    ] {
        let shown = &stream[..stream.len().min(80)];
        assert_eq!(hear(stream.as_bytes(), []), [expected], "{shown:?}");
        assert_eq!(hear(stream.as_bytes(), 0..stream.len()), [expected], "{shown:?}");
    }
}

#[test]
fn a_request_names_one_host() {
    for (head, expected) in [
        ("GET / HTTP/1.1\r\nHost: x:8379\r\n\r\n", "Get /  keep=true"),
        ("GET / HTTP/1.1\r\nhOST:\r\n\r\n", "Get /  keep=true"),
        ("GET / HTTP/1.0\r\n\r\n", "Get /  keep=false"),
        ("GET / HTTP/1.1\r\n\r\n", "400 BadHost"),
        ("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "400 BadHost"),
        ("GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", "400 BadHost"),
        ("GET / HTTP/1.1\r\nHost: a b/c@\r\n\r\n", "400 BadHost"),
    ] {
        assert_eq!(hear(head.as_bytes(), []), [expected], "{head:?}");
    }
}

#[test]
fn headers_are_found_in_any_case() {
    let stream =
        b"\r\nGET /k?x=1&y HTTP/1.1\r\nHost:  example \r\nX-TTL: 5\r\nx-ttl: 6\r\nEmpty:\r\n\r\n";
    let Parsed::Complete { request, .. } = parse(stream, &LIMITS, &mut ParseState::new()) else {
        panic!("not a request")
    };
    assert_eq!(request.method, Method::Get);
    assert_eq!(request.query, Some(&b"x=1&y"[..]));
    assert_eq!(request.header("host"), Some(&b"example"[..]));
    assert_eq!(request.header("X-Ttl"), Some(&b"5"[..]));
    assert!(request.headers_of("x-ttl").eq([&b"5"[..], b"6"]));
    assert_eq!(request.header("empty"), Some(&b""[..]));
    assert_eq!(request.header("none"), None);
    assert_eq!(request.headers().count(), 4);
    assert_eq!(request.body.as_slice(), Some(&b""[..]));
}

#[test]
fn a_client_that_waits_is_asked_for_its_body_once() {
    let head = b"PUT /k HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    let mut state = ParseState::new();
    let need_at_least = head.len() + 5;
    for send_continue in [true, false] {
        let answer = parse(head, &LIMITS, &mut state);
        assert_eq!(answer, Parsed::Incomplete { need_at_least, send_continue });
    }
    let whole = [&head[..], b"value"].concat();
    let answer = parse(&whole, &LIMITS, &mut state);
    assert!(
        matches!(answer, Parsed::Complete { request, .. } if request.body.as_slice() == Some(b"value"))
    );
    // One that has begun to send does not wait.
    let answer = parse(&whole[..head.len() + 1], &LIMITS, &mut ParseState::new());
    assert_eq!(answer, Parsed::Incomplete { need_at_least, send_continue: false });
    assert!(CONTINUE.ends_with(b"\r\n\r\n"));
}

#[test]
fn a_body_in_one_chunk_is_one_slice() {
    let body_of = |chunks: &str| {
        let stream = format!(
            "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
        );
        match parse(stream.as_bytes(), &LIMITS, &mut ParseState::new()) {
            Parsed::Complete { request, .. } => request.body.as_slice().map(<[u8]>::to_vec),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(body_of("2\r\nhi\r\n"), Some(b"hi".to_vec()));
    assert_eq!(body_of(""), Some(b"".to_vec()));
    assert_eq!(body_of("2\r\nhi\r\n1\r\n!\r\n"), None);
}

/// As `hear` with a buffer of its own, in which chunks are joined before each look; whether the bodies were in
/// one piece then.
fn hear_joined(stream: &[u8], cuts: impl IntoIterator<Item = usize>) -> (Vec<String>, Vec<bool>) {
    let (mut state, mut input) = (ParseState::new(), Vec::new());
    let (mut heard, mut are_whole) = (Vec::new(), Vec::new());
    let mut start = 0;
    for end in cuts.into_iter().chain([stream.len()]) {
        input.extend_from_slice(&stream[start..end]);
        start = end;
        loop {
            state.join_chunks(&mut input, &LIMITS);
            let consumed = match parse(&input, &LIMITS, &mut state) {
                Parsed::Complete { request, consumed } => {
                    // Who runs it reads it once more, from its beginning.
                    let again = parse(&input[..consumed], &LIMITS, &mut ParseState::new());
                    assert_eq!(again, Parsed::Complete { request, consumed });
                    let body: Vec<u8> = request.body.pieces().flatten().copied().collect();
                    are_whole.push(request.body.as_slice().is_some());
                    heard.push(format!(
                        "{:?} {} {} keep={}",
                        request.method,
                        request.path.escape_ascii(),
                        body.escape_ascii(),
                        request.keep_alive
                    ));
                    consumed
                }
                Parsed::Incomplete { need_at_least, .. } => {
                    assert!(need_at_least > input.len());
                    break;
                }
                Parsed::Error(error) => {
                    heard.push(format!("{} {error:?}", error.status()));
                    return (heard, are_whole);
                }
            };
            input.drain(..consumed);
        }
    }
    (heard, are_whole)
}

/// A body in many chunks was copied, all of it at once, when the last had come.
#[test]
fn chunks_become_one_piece_while_they_come() {
    let head = "PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks: String =
        (0..20).map(|i| format!("{:x};n={i}\r\n{}\r\n", i + 1, "v".repeat(i + 1))).collect();
    let rest = "0\r\nA: b\r\n\r\nGET /k HTTP/1.1\r\nHost: x\r\n\r\n";
    let stream = format!("{head}{chunks}{rest}").into_bytes();
    let (plain, behind) = (hear(&stream, []), head.len() + chunks.len());
    for step in 1..40 {
        let cuts = (head.len() + 1..behind).step_by(step).chain([behind]);
        let (heard, are_whole) = hear_joined(&stream, cuts);
        assert_eq!(heard, plain);
        assert_eq!(are_whole, [true, true], "in steps of {step}");
    }
}

#[test]
fn joined_chunks_are_bounded_as_any() {
    let head = "PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let with_lines = format!("{head}{}", format!("1;{}\r\nx\r\n", "e".repeat(500)).repeat(60));
    let too_long = format!("{head}{}", format!("100\r\n{}\r\n", "v".repeat(256)).repeat(5));
    let bad_end = format!("{head}20\r\n{0}\r\n20\r\n{0}\r\n20\r\n{0}xx0\r\n\r\n", "v".repeat(32));
    for (stream, error) in
        [(with_lines, "400 BadChunk"), (too_long, "413 BodyTooLarge"), (bad_end, "400 BadChunk")]
    {
        let stream = stream.as_bytes();
        assert_eq!(hear(stream, []), [error]);
        for step in [1, 7, 100, 900] {
            assert_eq!(hear_joined(stream, (1..stream.len()).step_by(step)).0, [error]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_stream_is_understood_the_same_at_any_cut(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "GET /a HTTP/1.1\r\n", "Host: x\r\n",
                "PUT /k HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
                "PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n", "10;x\r\n0123456789abcdef\r\n",
                "0\r\n\r\n", "hello", "\r\n", "\r\n", "\n", "\r", "Connection: close\r\n", ": ",
                "Content-Length: 2\r\n", "a", "\0",
            ]),
            0..20,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..10),
    ) {
        let stream = pieces.concat().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.sort_unstable();
        let expected = hear(&stream, []);
        prop_assert_eq!(&hear_joined(&stream, cuts.iter().copied()).0, &expected);
        prop_assert_eq!(&hear_joined(&stream, 0..stream.len()).0, &expected);
        prop_assert_eq!(&hear(&stream, cuts), &expected);
        prop_assert_eq!(&hear(&stream, 0..stream.len()), &expected);
    }
}

/// Whoever may not make a request is told before its body is waited for.
#[test]
fn a_head_is_shown_once_and_before_its_body() {
    let stream = b"\r\nPUT /keys/a?db=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nvalue";
    let mut state = ParseState::new();
    for end in 0..stream.len() {
        assert!(matches!(parse(&stream[..end], &LIMITS, &mut state), Parsed::Incomplete { .. }));
        let shown = head(&stream[..end], &mut state);
        let is_head_whole = end + b"value".len() == stream.len();
        assert_eq!(shown.is_some(), is_head_whole, "{end}");
        if let Some(request) = shown {
            assert_eq!((request.method, request.path), (Method::Put, &b"/keys/a"[..]));
            assert_eq!(
                (request.query, request.header("host")),
                (Some(&b"db=1"[..]), Some(&b"x"[..]))
            );
            assert!(request.body.is_empty() && !request.keep_alive);
        }
    }
    assert!(matches!(parse(stream, &LIMITS, &mut state), Parsed::Complete { .. }));
    assert!(head(b"GET /", &mut state).is_none(), "another request's head");
}
