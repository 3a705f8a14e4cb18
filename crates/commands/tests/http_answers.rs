//! What responses say beside values: which methods there are, who may ask, what may be kept.

mod http_harness;

use dolium_commands::http::{self, HttpContext};
use dolium_protocol::http::{Limits, ParseState, Parsed, head, parse};
use http_harness::{Web, tag_of};

#[test]
fn methods_are_named_where_another_is_used() {
    let mut web = Web::new();
    let (status, head, _) = web.send("POST /keys/a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status, 405);
    assert!(head.contains("\r\nAllow: GET, HEAD, PUT, DELETE, OPTIONS\r\n"), "{head}");
    let (status, head, _) = web.put("/metrics", "", "x");
    assert_eq!(status, 405);
    assert!(head.contains("\r\nAllow: GET, HEAD, OPTIONS\r\n"), "{head}");
    for method in ["PATCH", "TRACE"] {
        let (status, head, _) = web.send(&format!("{method} /keys/a HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(status, 405, "{method}");
        assert!(head.contains("\r\nAllow: "), "{head}");
    }
}

/// A page of another origin could load a value as a script, and a cache on the way could go on answering
/// with what was deleted.
#[test]
fn values_are_no_scripts_and_are_asked_for_again() {
    let mut web = Web::new();
    let asked = "\r\nCache-Control: no-cache";
    assert!(web.get("/keys/a").1.contains(asked), "404");
    for status in [201, 204] {
        let (found, head, _) = web.put("/keys/a", "", "alert(1)");
        assert_eq!(found, status);
        assert!(head.contains(asked), "{head}");
    }
    let (_, head, _) = web.get("/keys/a");
    assert!(head.contains(asked) && head.contains("X-Content-Type-Options: nosniff"), "{head}");
    let tag = tag_of(&head);
    for method in ["GET", "HEAD", "DELETE", "DELETE"] {
        let none_match = if method == "DELETE" { "zz" } else { tag.as_str() };
        let (status, head, _) = web.send(&format!(
            "{method} /keys/a HTTP/1.1\r\nHost: x\r\nIf-None-Match: {none_match}\r\n\r\n"
        ));
        assert!([204, 304, 404].contains(&status), "{status}");
        assert!(head.contains(asked), "{head}");
    }
}

#[test]
fn a_refusal_is_kept_by_nobody() {
    let mut web = Web::new();
    let kept = |(status, head, _): (u16, String, String), expected: u16| {
        assert_eq!(status, expected);
        assert_eq!(head.matches("Cache-Control").count(), 1, "{head}");
        assert!(head.contains("\r\nCache-Control: no-store"), "{head}");
    };
    kept(web.put("/keys/a", "If-Match: *\r\n", "1"), 412);
    kept(web.put("/keys/a", "Dolium-Ttl-Ms: 0\r\n", "1"), 400);
    kept(web.put("/keys/a", "Dolium-Type: hash\r\n", "1"), 415);
    kept(web.put("/keys/a", "Content-Encoding: gzip\r\n", "1"), 415);
    kept(web.get("http://evil.example/keys/a"), 421);
    kept(web.put("/healthz", "", "1"), 405);
    kept(web.get("/elsewhere"), 404);
    kept(web.send("BREW / HTTP/1.1\r\nHost: x\r\n\r\n"), 501);
    web.server.password = true;
    kept(web.get("/keys/a"), 401);
}

#[test]
fn a_method_that_nobody_knows_is_not_implemented() {
    let mut web = Web::new();
    for path in ["/keys/a", "/", "/elsewhere", "*"] {
        assert_eq!(web.send(&format!("BREW {path} HTTP/1.1\r\nHost: x\r\n\r\n")).0, 501, "{path}");
    }
}

#[test]
fn options_tell_of_the_server() {
    let mut web = Web::new();
    for target in ["*", "http://x"] {
        let request = format!("OPTIONS {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        let (status, head, body) = web.send(&request);
        assert_eq!((status, body.as_str()), (204, ""), "{target}");
        assert!(head.contains("\r\nAllow: GET, HEAD, PUT, DELETE, OPTIONS"), "{head}");
    }
    assert_eq!(web.get("*").0, 404);
    assert_eq!(web.put("/keys/a", "", "v").0, 201);
    for (target, methods) in [
        ("/keys/a", "GET, HEAD, PUT, DELETE, OPTIONS"),
        ("/keys/none", "GET, HEAD, PUT, DELETE, OPTIONS"),
        ("/", "GET, HEAD, OPTIONS"),
        ("/healthz", "GET, HEAD, OPTIONS"),
        ("/metrics", "GET, HEAD, OPTIONS"),
    ] {
        let (status, head, body) =
            web.send(&format!("OPTIONS {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!((status, body.as_str()), (204, ""), "{target}");
        assert!(format!("{head}\r\n").contains(&format!("\r\nAllow: {methods}\r\n")), "{head}");
        assert!(!head.contains("Access-Control"), "no other origin is let in: {head}");
    }
    assert_eq!(web.send("OPTIONS /elsewhere HTTP/1.1\r\nHost: x\r\n\r\n").0, 404);
    assert_eq!(web.get("/keys/a").2, "v", "asking changes nothing");
    web.server.password = true;
    assert_eq!(web.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").0, 401);
}

#[test]
fn pages_tell_of_the_server() {
    let mut web = Web::new();
    assert!(web.get("/").2.contains("/keys/"));
    assert_eq!(web.get("/healthz"), web.get("/healthz"));
    assert_eq!(web.get("/healthz").2, "ok\n");
    let (_, head, body) = web.get("/metrics");
    assert!(head.contains("version=0.0.4"), "{head}");
    assert_eq!(body, "# HELP dolium_up Always 1.\n# TYPE dolium_up gauge\ndolium_up 1\n");
}

#[test]
fn a_password_guards_all_but_health() {
    let mut web = Web::new();
    web.server.password = true;
    let (status, head, _) = web.get("/keys/a");
    assert_eq!(status, 401);
    assert!(head.contains("WWW-Authenticate: Bearer"), "{head}");
    assert_eq!(web.get("/metrics").0, 401);
    assert_eq!(web.get("/elsewhere").0, 401);
    assert_eq!(web.get("/healthz").0, 200);
    let with = |web: &mut Web, value: &str| {
        web.send(&format!("GET /keys/a HTTP/1.1\r\nHost: x\r\nAuthorization: {value}\r\n\r\n")).0
    };
    assert_eq!(with(&mut web, "Bearer secret"), 404);
    assert_eq!(with(&mut web, "Bearer wrong"), 401);
    assert_eq!(with(&mut web, "Basic ZGVmYXVsdDpzZWNyZXQ="), 404);
    assert_eq!(with(&mut web, "Basic OnNlY3JldA=="), 404);
    assert_eq!(with(&mut web, "Basic bm9ib2R5OnNlY3JldA=="), 401);
    assert_eq!(with(&mut web, "Basic %%"), 401);
}

/// A page could let its own name mean this server's address, and to its reader's browser be of one origin
/// with it.
#[test]
fn a_name_that_another_may_own_is_answered_with_a_password_only() {
    let mut web = Web::new();
    let ask = |web: &mut Web, target: &str, version: &str, host: &str| {
        web.send(&format!("GET {target} HTTP/{version}\r\n{host}\r\n")).0
    };
    for host in ["127.0.0.1:8379", "[::1]", "LOCALHOST:8379", "a.localhost", "x", ""] {
        let found = ask(&mut web, "/keys/a", "1.1", &format!("Host: {host}\r\n"));
        assert_eq!(found, 404, "{host}");
    }
    assert_eq!(ask(&mut web, "/keys/a", "1.0", ""), 404, "no browser asks so");
    for host in ["evil.example:8379", "127.0.0.1.evil.example", "y"] {
        let host = format!("Host: {host}\r\n");
        for target in ["/keys/a", "/", "/metrics", "/elsewhere"] {
            assert_eq!(ask(&mut web, target, "1.1", &host), 421, "{host}");
            assert_eq!(ask(&mut web, target, "1.0", &host), 421, "{host}");
        }
        assert_eq!(ask(&mut web, "/healthz", "1.1", &host), 200, "{host}");
    }
    assert_eq!(ask(&mut web, "http://y/keys/a", "1.1", "Host: x\r\n"), 421);
    assert_eq!(ask(&mut web, "http://x/keys/a", "1.1", "Host: y\r\n"), 421);
    assert_eq!(web.send("DELETE /keys/a HTTP/1.1\r\nHost: y\r\n\r\n").0, 421);
    web.server.password = true;
    let host = "Host: evil.example\r\nAuthorization: Bearer secret\r\n";
    assert_eq!(ask(&mut web, "/keys/a", "1.1", host), 404);
}

/// Or another origin's page could show it, and learn how large it is.
#[test]
fn what_is_said_of_a_key_is_for_pages_of_its_own_origin() {
    let mut web = Web::new();
    for (method, status) in
        [("GET", 404), ("PUT", 201), ("PUT", 204), ("GET", 200), ("DELETE", 204)]
    {
        let (found, head, _) =
            web.send(&format!("{method} /keys/a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(found, status);
        assert!(head.contains("\r\nCross-Origin-Resource-Policy: same-origin"), "{head}");
    }
}

/// A client that asks before it sends its body would be asked for all of it, and told then that its head was
/// wrong.
#[test]
fn what_a_head_alone_decides_waits_for_no_body() {
    let web = Web::new();
    let answer_to = |headers: &str| {
        let bytes =
            format!("PUT /keys/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n{headers}\r\n");
        let mut state = ParseState::new();
        let parsed = parse(bytes.as_bytes(), &Limits::default(), &mut state);
        assert!(matches!(parsed, Parsed::Incomplete { .. }), "{headers}");
        let request = head(bytes.as_bytes(), &mut state).expect("a whole head");
        if !http::refuses(&web.session, &web.server, &request) {
            return 100;
        }
        let (session, server, mut out) = (&web.session, &web.server, Vec::new());
        let _ =
            http::run(&mut HttpContext { session, server, now: web.now, out: &mut out }, &request);
        str::from_utf8(&out[9..12]).expect("text").parse().expect("a status")
    };
    for (headers, status) in [
        ("Dolium-Ttl-Ms: 0\r\n", 400),
        ("Dolium-Ttl-Ms: x\r\n", 400),
        ("Dolium-Ttl-Ms: 5\r\nDolium-Ttl-Ms: 5\r\n", 400),
        ("Dolium-Ttl-Ms: 18446744073709551615\r\n", 400),
        ("Content-Range: bytes 0-4/9\r\n", 400),
        ("Content-Encoding: gzip\r\n", 415),
        ("Dolium-Type: list\r\n", 415),
        ("", 100),
        ("Dolium-Ttl-Ms: 5\r\nContent-Encoding: identity\r\nDolium-Type: string\r\n", 100),
        // Whether these hold is known when the body has come.
        ("If-Match: *\r\n", 100),
    ] {
        for expect in ["", "Expect: 100-continue\r\n"] {
            assert_eq!(answer_to(&format!("{headers}{expect}")), status, "{headers}");
        }
    }
}
