//! A store's web door without a socket: the bytes of a request in, those of the response out.
#![allow(dead_code, reason = "each test file uses its part")]

use dolium_commands::context::Flow;
use dolium_commands::http::{self, HttpContext, Metric, MetricKind, Server};
use dolium_engine::{Engine, EngineOptions, Millis, Session};
use dolium_protocol::http::{Limits, ParseState, Parsed, parse};

pub struct FakeServer {
    pub password: bool,
}

impl Server for FakeServer {
    fn has_password(&self) -> bool {
        self.password
    }
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool {
        user == b"default" && password == b"secret"
    }
    fn has_host(&self, name: &[u8]) -> bool {
        name == b"x"
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

pub struct Web {
    pub session: Session,
    pub server: FakeServer,
    pub now: Millis,
}

impl Web {
    pub fn new() -> Web {
        let options = EngineOptions { max_bytes: 64 << 20, shards: 16, ..Default::default() };
        let engine = Engine::create(options).expect("an arena of 64 MiB");
        let session = engine.session().expect("the first session");
        Web { session, server: FakeServer { password: false }, now: 1_700_000_000_000 }
    }

    /// Status, head and body of the response.
    pub fn send(&mut self, request: &str) -> (u16, String, String) {
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

    pub fn get(&mut self, path: &str) -> (u16, String, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
    }

    pub fn put(&mut self, path: &str, headers: &str, body: &str) -> (u16, String, String) {
        let len = body.len();
        self.send(&format!(
            "PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len}\r\n{headers}\r\n{body}"
        ))
    }
}

pub fn tag_of(head: &str) -> String {
    let line = head.lines().find_map(|line| line.strip_prefix("ETag: "));
    line.expect("an ETag").to_owned()
}
