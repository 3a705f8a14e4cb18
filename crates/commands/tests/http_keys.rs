//! Web requests, from their bytes to the bytes of the response.

use dolium_commands::context::Flow;
use dolium_commands::http::{self, HttpContext, Metric, MetricKind, Server};
use dolium_engine::{Db, Engine, EngineOptions, Millis, Session};
use dolium_protocol::http::{Limits, ParseState, Parsed, parse};

struct FakeServer {
    password: bool,
}

impl Server for FakeServer {
    fn has_password(&self) -> bool {
        self.password
    }
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool {
        user == b"default" && password == b"secret"
    }
    fn metrics(&self) -> Vec<Metric> {
        vec![Metric {
            name: "dolium_up",
            help: "Always 1.",
            kind: MetricKind::Gauge,
            labels: Vec::new(),
            value: 1.0,
        }]
    }
}

struct Web {
    session: Session,
    server: FakeServer,
    now: Millis,
}

impl Web {
    fn new() -> Web {
        let options = EngineOptions { max_bytes: 64 << 20, shards: 16, ..Default::default() };
        let engine = Engine::create(options).expect("an arena of 64 MiB");
        let session = engine.session().expect("the first session");
        Web { session, server: FakeServer { password: false }, now: 1_700_000_000_000 }
    }

    /// Status, head and body of the response.
    fn send(&mut self, request: &str) -> (u16, String, String) {
        let mut state = ParseState::new();
        let Parsed::Complete { request, consumed } =
            parse(request.as_bytes(), &Limits::default(), &mut state)
        else {
            panic!("not a whole request: {request}");
        };
        assert!(consumed > 0);
        let mut out = Vec::new();
        let mut context = HttpContext {
            session: &self.session,
            server: &self.server,
            now: self.now,
            out: &mut out,
        };
        let flow = http::run(&mut context, &request);
        assert_eq!(flow == Flow::Continue, request.keep_alive);
        let text = String::from_utf8(out).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("\r\nDate: Tue, 14 Nov 2023 22:13:2"), "{head}");
        let status = head[9..12].parse().expect("a status");
        (status, head.to_owned(), body.to_owned())
    }

    fn get(&mut self, path: &str) -> (u16, String, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
    }

    fn put(&mut self, path: &str, headers: &str, body: &str) -> (u16, String, String) {
        let len = body.len();
        self.send(&format!(
            "PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len}\r\n{headers}\r\n{body}"
        ))
    }
}

fn tag_of(head: &str) -> String {
    let line = head.lines().find_map(|line| line.strip_prefix("ETag: "));
    line.expect("an ETag").to_owned()
}

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

#[test]
fn methods_are_named_where_another_is_used() {
    let mut web = Web::new();
    let (status, head, _) = web.send("POST /keys/a HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status, 405);
    assert!(head.contains("Allow: GET, HEAD, PUT, DELETE"), "{head}");
    assert_eq!(web.put("/metrics", "", "x").0, 405);
    for method in ["PATCH", "TRACE", "OPTIONS"] {
        let (status, head, _) = web.send(&format!("{method} /keys/a HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(status, 405, "{method}");
        assert!(head.contains("\r\nAllow: "), "{head}");
    }
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
