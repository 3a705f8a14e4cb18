//! Keys by web requests, from their bytes to the bytes of the response.

mod http_harness;

use dolium_commands::context::Flow;
use dolium_commands::http::{self, HttpContext};
use dolium_engine::Db;
use dolium_protocol::http::{Limits, ParseState, Parsed, parse};
use http_harness::{Web, tag_of};

#[test]
fn a_value_comes_and_goes() {
    let mut web = Web::new();
    assert_eq!(web.get("/keys/a").0, 404);
    assert_eq!(web.put("/keys/a", "", "hello").0, 201);
    assert_eq!(web.put("/keys/a", "", "hello!").0, 204);
    let (status, head, body) = web.get("/keys/a");
    assert_eq!((status, body.as_str()), (200, "hello!"));
    for line in
        ["Content-Length: 6", "Dolium-Type: string", "Content-Type: application/octet-stream"]
    {
        assert!(head.contains(line), "{line} in {head}");
    }
    let (status, head, body) = web.send("HEAD /keys/a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!((status, body.as_str()), (200, ""));
    assert!(head.contains("Content-Length: 6"), "{head}");
    assert_eq!(web.send("DELETE /keys/a HTTP/1.1\r\nHost: x\r\n\r\n").0, 204);
    assert_eq!(web.send("DELETE /keys/a HTTP/1.1\r\nHost: x\r\n\r\n").0, 404);
    assert_eq!(web.send("HEAD /keys/a HTTP/1.1\r\nHost: x\r\n\r\n").2, "");
}

#[test]
fn names_and_databases_are_read_from_the_target() {
    let mut web = Web::new();
    assert_eq!(web.put("/keys/a%20b%2F%00?x=1&db=3", "", "v").0, 201);
    let key = web.session.engine().key(b"a b/\0");
    assert!(web.session.peek(Db(3), &key, web.now).is_some());
    assert_eq!(web.get("/keys/a%20b/%00?db=3").2, "v");
    assert_eq!(web.get("/keys/a%20b/%00").0, 404);
    for path in ["/keys/a?db=16", "/keys/a?db=x", "/keys/a%2", "/keys/"] {
        assert_eq!(web.get(path).0, 400, "{path}");
    }
    assert_eq!(web.get("/elsewhere").0, 404);
}

#[test]
fn a_time_to_live_is_in_milliseconds() {
    let mut web = Web::new();
    assert_eq!(web.put("/keys/a", "Dolium-Ttl-Ms: 1500\r\n", "v").0, 201);
    web.now += 1000;
    assert!(web.get("/keys/a").1.contains("Dolium-Ttl-Ms: 500\r\n"));
    web.now += 500;
    assert_eq!(web.get("/keys/a").0, 404);
    for ttl in ["0", "-1", "x", ""] {
        assert_eq!(web.put("/keys/a", &format!("Dolium-Ttl-Ms: {ttl}\r\n"), "v").0, 400);
    }
    assert_eq!(web.put("/keys/a", "Dolium-Ttl-Ms: 1500\r\nDolium-Ttl-Ms: 5\r\n", "v").0, 400);
    // A time that PTTL could not tell of: such a value never expired, or PTTL was negative.
    let most = i64::MAX as u64 - web.now;
    for ttl in [most + 1, u64::MAX - web.now, u64::MAX] {
        let (status, _, body) = web.put("/keys/a", &format!("Dolium-Ttl-Ms: {ttl}\r\n"), "v");
        assert_eq!(status, 400, "{ttl}");
        assert!(body.contains("2^63"), "{body}");
    }
    assert_eq!(web.get("/keys/a").0, 404);
    assert_eq!(web.put("/keys/a", &format!("Dolium-Ttl-Ms: {most}\r\n"), "v").0, 201);
    assert!(web.get("/keys/a").1.contains(&format!("Dolium-Ttl-Ms: {most}\r\n")));
    assert_eq!(web.put("/keys/a", "Dolium-Type: hash\r\n", "v").0, 415);
}

#[test]
fn conditions_compare_tags() {
    let mut web = Web::new();
    assert_eq!(web.put("/keys/a", "If-Match: *\r\n", "1").0, 412);
    let (status, head, _) = web.put("/keys/a", "If-None-Match: *\r\n", "1");
    assert_eq!(status, 201);
    let first = tag_of(&head);
    assert_eq!(web.put("/keys/a", "If-None-Match: *\r\n", "2").0, 412);
    assert_eq!(tag_of(&web.get("/keys/a").1), first);
    let (status, head, body) =
        web.send(&format!("GET /keys/a HTTP/1.1\r\nHost: x\r\nIf-None-Match: {first}\r\n\r\n"));
    assert_eq!((status, body.as_str()), (304, ""));
    assert_eq!(tag_of(&head), first);
    let (status, head, _) = web.put("/keys/a", &format!("If-Match: {first}\r\n"), "2");
    assert_eq!(status, 204);
    let second = tag_of(&head);
    assert_ne!(first, second);
    assert_eq!(web.put("/keys/a", &format!("If-Match: {first}\r\n"), "3").0, 412);
    assert_eq!(web.put("/keys/a", "", "4").0, 204);
    let stale = format!("DELETE /keys/a HTTP/1.1\r\nHost: x\r\nIf-Match: {second}\r\n\r\n");
    assert_eq!(web.send(&stale).0, 412);
    assert_eq!(web.get("/keys/a").2, "4");
}

#[test]
fn a_weak_tag_never_lets_a_change_through() {
    let mut web = Web::new();
    web.put("/keys/a", "", "1");
    let tag = tag_of(&web.get("/keys/a").1);
    assert_eq!(web.put("/keys/a", &format!("If-Match: W/{tag}\r\n"), "2").0, 412);
    assert_eq!(web.put("/keys/a", &format!("If-None-Match: W/{tag}\r\n"), "2").0, 412);
    assert_eq!(web.get("/keys/a").2, "1");
    let weak = format!("GET /keys/a HTTP/1.1\r\nHost: x\r\nIf-None-Match: W/{tag}\r\n\r\n");
    assert_eq!(web.send(&weak).0, 304);
}

#[test]
fn the_lines_of_a_condition_are_one_list() {
    let mut web = Web::new();
    web.put("/keys/a", "", "1");
    let tag = tag_of(&web.get("/keys/a").1);
    let lines = |name: &str| format!("{name}: \"zz\", \"y\"\r\n{name}: {tag}\r\n");
    assert_eq!(web.put("/keys/a", &lines("If-None-Match"), "2").0, 412);
    let cached = format!("GET /keys/a HTTP/1.1\r\nHost: x\r\n{}\r\n", lines("If-None-Match"));
    assert_eq!(web.send(&cached).0, 304);
    assert_eq!(web.put("/keys/a", &lines("If-Match"), "2").0, 204);
    assert_eq!(web.put("/keys/a", &lines("If-Match"), "3").0, 412);
}

#[test]
fn a_body_in_chunks_is_one_value() {
    let mut web = Web::new();
    let chunked = "PUT /keys/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(web.send(chunked).0, 201);
    assert_eq!(web.get("/keys/a").2, "abcde");
}

#[test]
fn a_part_is_not_stored_as_the_whole() {
    let mut web = Web::new();
    web.put("/keys/a", "", "whole");
    assert_eq!(web.put("/keys/a", "Content-Range: bytes 0-2/5\r\n", "who").0, 400);
    assert_eq!(web.get("/keys/a").2, "whole");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut web = Web::new();
    assert_eq!(web.put("/keys/a", "", "old").0, 201);
    let large = "x".repeat(80 << 20);
    let (status, _, body) = web.put("/keys/a", "", &large);
    assert_eq!(status, 507);
    assert!(body.contains("memory is full"), "{body}");
    assert_eq!(web.get("/keys/a").2, "old", "a refused PUT changes nothing");
}

/// `ETag: "0"` was the tag of all such values.
#[test]
fn a_value_without_a_number_is_not_modified_without_a_tag() {
    let mut web = Web::new();
    assert_eq!(web.put("/keys/a", "", "1").0, 201);
    for len in [1 << 20, 1 << 14, 1 << 8, 1] {
        let value = "x".repeat(len);
        let mut number = 0;
        while web.put(&format!("/keys/{len}/{number}"), "", &value).0 == 201 {
            number += 1;
        }
    }
    let (status, head, _) = web.get("/keys/a");
    assert_eq!(status, 200);
    assert!(!head.contains("ETag"), "there is no memory for a number: {head}");
    let asked = "GET /keys/a HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\n";
    let (status, head, _) = web.send(asked);
    assert_eq!(status, 304);
    assert!(!head.contains("ETag"), "{head}");
}

/// Who asked whether his copy of a long value was still good had all of it copied, to be told 304.
#[test]
fn a_value_that_is_not_sent_is_not_copied() {
    let mut web = Web::new();
    assert_eq!(web.put("/keys/a", "", &"x".repeat(1 << 20)).0, 201);
    let tag = tag_of(&web.get("/keys/a").1);
    for (condition, status) in [
        (format!("If-None-Match: {tag}"), "304"),
        ("If-None-Match: *".to_string(), "304"),
        ("If-Match: \"0\"".to_string(), "412"),
    ] {
        let request = format!("GET /keys/a HTTP/1.1\r\nHost: x\r\n{condition}\r\n\r\n");
        let parsed = parse(request.as_bytes(), &Limits::default(), &mut ParseState::new());
        let Parsed::Complete { request, .. } = parsed else { panic!("not whole: {parsed:?}") };
        let mut out = Vec::new();
        let (session, server, now) = (&web.session, &web.server, web.now);
        let flow = http::run(&mut HttpContext { session, server, now, out: &mut out }, &request);
        assert_eq!(flow, Flow::Continue);
        assert!(out.starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{condition}");
        assert!(out.capacity() < 4096, "{condition}: memory for {} bytes", out.capacity());
    }
    let elsewhere = "GET /keys/a HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"0\"\r\n\r\n";
    assert_eq!(web.send(elsewhere).2.len(), 1 << 20);
}
