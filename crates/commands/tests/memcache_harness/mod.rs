//! A Memcached connection without a socket: request bytes in, reply bytes out, through the parser,
//! the commands and a store of its own.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod judge;

use dolium_commands::context::Flow;
use dolium_commands::memcache::census::Census;
use dolium_commands::memcache::classes::CLASSES_MAX;
use dolium_commands::memcache::details::Details;
use dolium_commands::memcache::{
    self, Client, Departed, McContext, Process, Reason, Server, Settings, Tally, Totals,
};
use dolium_engine::{Db, Engine, EngineOptions, Millis, Session};
use dolium_protocol::memcache::{Limits, ParseState, Parsed, parse};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A server that remembers what it was told.
#[derive(Default)]
pub struct FakeServer {
    pub flush_at: RefCell<Option<Option<Millis>>>,
    pub verbosity: Cell<u32>,
    pub resets: Cell<u32>,
    pub settings: Settings,
    pub details: Details,
    pub details_on: Cell<bool>,
    /// Lines for watchers.
    pub told: RefCell<Vec<String>>,
    pub watching: Cell<u32>,
    pub departed: RefCell<Vec<(u64, Reason)>>,
}

impl Server for FakeServer {
    fn check_password(&self, user: &[u8], password: &[u8]) -> bool {
        user == b"default" && password == b"secret"
    }
    fn uptime_s(&self) -> u64 {
        0
    }
    fn pages_bytes(&self) -> u64 {
        0
    }
    fn process(&self) -> Process {
        Process { pid: 7, cpu_user_us: 1_500_000, ..Process::default() }
    }
    fn totals(&self) -> Totals {
        Totals::default()
    }
    fn reset_statistics(&self) {
        self.resets.set(self.resets.get() + 1);
    }
    fn settings(&self) -> &Settings {
        &self.settings
    }
    fn configured(&self) -> Vec<(&'static str, String)> {
        vec![("maxbytes", "64".to_owned())]
    }
    fn census(&self, session: &Session, db: Db, now: Millis) -> Arc<Census> {
        Arc::new(Census::take(&self.settings, session, db, now, u64::MAX))
    }
    fn departures(&self) -> [Departed; CLASSES_MAX + 1] {
        [Departed::default(); CLASSES_MAX + 1]
    }
    fn departed_lately(&self, hash: u64) -> Option<Reason> {
        self.departed.borrow().iter().find(|(gone, _)| *gone == hash).map(|(_, reason)| *reason)
    }
    fn note_departure(&self, hash: u64, reason: Reason) {
        self.departed.borrow_mut().push((hash, reason));
    }
    fn note_flushed(&self, _items: u64) {}
    fn note_response_oom(&self) {}
    fn details(&self) -> &Details {
        &self.details
    }
    fn set_details(&self, on: bool) {
        self.details_on.set(on);
    }
    fn watch(&self, _client: u64, streams: u32) {
        self.watching.set(streams);
    }
    fn tell(&self, _stream: u32, line: &str) {
        self.told.borrow_mut().push(line.to_owned());
    }
    fn apply_live(&self) {}
    fn max_memory(&self) -> u64 {
        64 << 20
    }
    fn spare_pages(&self) -> [u64; CLASSES_MAX + 1] {
        [0; CLASSES_MAX + 1]
    }
    fn reassign(&self, _: &Session, _: i64, _: usize, _: Millis) -> &'static str {
        "OK"
    }
    fn crawl(&self) {}
    fn refresh_certificates(&self) -> Result<(), String> {
        Err("Error TLS not enabled".into())
    }
    fn shutdown(&self, _graceful: bool) {}
    fn connections(&self, _me: u64) -> Vec<(i32, &'static str, String)> {
        vec![(7, "state", "conn_parse_cmd".to_owned())]
    }
    fn set_verbosity(&self, level: u32) {
        self.verbosity.set(level);
    }
    fn value_bytes_max(&self) -> usize {
        Limits::default().value_bytes_max
    }
    fn set_max_memory(&self, _bytes: u64) -> Result<(), String> {
        Ok(())
    }
    fn schedule_flush(&self, _db: Db, at: Option<Millis>) {
        *self.flush_at.borrow_mut() = Some(at);
    }
}

pub struct Connection {
    pub engine: Arc<Engine>,
    pub session: Session,
    pub server: FakeServer,
    pub tally: Tally,
    pub client: Client,
    pub now: Millis,
    pub closed: bool,
    pub limits: Limits,
}

impl Connection {
    pub fn new() -> Self {
        let options = EngineOptions { max_bytes: 64 << 20, shards: 16, ..Default::default() };
        Self::on(&Engine::create(options).expect("an arena of 64 MiB"))
    }

    /// One of several on a store.
    pub fn on(engine: &Arc<Engine>) -> Self {
        let session = engine.session().expect("a session");
        Connection {
            engine: engine.clone(),
            session,
            server: FakeServer::default(),
            tally: Tally::default(),
            client: Client { id: 1, fd: 7, authenticated: true, ..Client::default() },
            now: 1_700_000_000_000,
            closed: false,
            limits: Limits::default(),
        }
    }

    /// The replies to one or more requests.
    pub fn send(&mut self, input: &[u8]) -> Vec<u8> {
        let (mut out, mut state, mut at) = (Vec::new(), ParseState::new(), 0);
        while !self.closed {
            let Parsed::Complete { request, consumed } =
                parse(&input[at..], &self.limits, &mut state)
            else {
                break;
            };
            at += consumed;
            memcache::prepare(&self.session, &request, |hash| {
                let _ = self.session.fetch_line_at_once(Db(0), hash);
            });
            let mut context = McContext {
                session: &self.session,
                server: &self.server,
                tally: &self.tally,
                client: &mut self.client,
                watched: self.server.watching.get()
                    | if self.server.details_on.get() { memcache::DETAILS_ON } else { 0 },
                db: Db(0),
                now: self.now,
                out: &mut out,
                piece: memcache::Piece::ALL,
                reply_bytes_max: usize::MAX,
                outlet: None,
            };
            self.closed = memcache::run(&mut context, &request) == Flow::Close;
        }
        out
    }

    /// Fails with both texts readable.
    #[track_caller]
    pub fn expect(&mut self, input: &str, reply: &str) {
        let got = self.send(input.as_bytes()).escape_ascii().to_string();
        assert_eq!(got, reply.as_bytes().escape_ascii().to_string(), "reply to {input:?}");
    }
}
