//! One client's talk with a store in this process.

// Each test binary uses a part of it.
#![allow(dead_code)]

use crate::host::{FakeHost, HAS_PASSWORD};
use dolium_commands::connection::{ClientState, gate};
use dolium_commands::context::{Context, Flow};
use dolium_commands::dispatch::{self, Ran};
use dolium_commands::outlet::Outlet;
use dolium_engine::{Engine, EngineOptions, Policy, Session};
use dolium_protocol::resp::{ArgVec, ParseState, Version, parse};
use std::sync::Arc;

pub struct Conversation {
    session: Session,
    client: ClientState,
    pub now: u64,
    /// What the last command asked of the connection.
    pub flow: Flow,
    /// The command, if the last request was a call of one.
    pub called: Option<&'static str>,
}

impl Conversation {
    pub fn begin() -> Conversation {
        let options = EngineOptions {
            max_bytes: 256 << 20,
            shards: 16,
            databases: 16,
            hash_seed: [1, 2],
            policy: Policy::NoEviction,
            journal_bytes: 1 << 20,
        };
        Self::with(&Engine::create(options).unwrap(), 1)
    }

    /// A client that has said HELLO already.
    pub fn speaking(version: Version) -> Conversation {
        let mut conversation = Self::begin();
        conversation.client.resp = version;
        conversation
    }

    /// Another client of the same store.
    pub fn beside(other: &Conversation) -> Conversation {
        Self::with(other.session.engine(), 2)
    }

    /// A client of a store, with a number of its own.
    pub fn with(engine: &Arc<Engine>, id: u64) -> Conversation {
        let client = ClientState::new(id, "127.0.0.1:1".into(), "127.0.0.1:2".into(), 7, true);
        let session = engine.session().unwrap();
        Conversation { session, client, now: crate::NOW, flow: Flow::Continue, called: None }
    }

    pub fn engine(&self) -> &Engine {
        self.session.engine()
    }

    /// From now on a password is wanted.
    pub fn lock(&mut self) {
        HAS_PASSWORD.set(true);
        self.client.set_gate(gate::UNAUTHENTICATED, true);
    }

    /// The reply to a request as one would type it.
    pub fn ask(&mut self, request: &str) -> String {
        self.ask_past(None, request)
    }

    /// The same on a connection that can be lent large values.
    pub fn ask_past(&mut self, outlet: Option<&mut dyn Outlet>, request: &str) -> String {
        let line = format!("{request}\r\n");
        let mut args = ArgVec::new();
        let _ = parse(line.as_bytes(), &Default::default(), &mut ParseState::default(), &mut args);
        let args = args.view(line.as_bytes());
        let mut out = Vec::new();
        let prepared = dispatch::prepare(self.session.engine(), &args);
        let mut context = Context {
            fetch: &dolium_engine::Fetch::NONE,
            // A shorter loan than the caller's.
            outlet: outlet.map(|outlet| -> &mut dyn Outlet { outlet }),
            session: &self.session,
            host: &FakeHost,
            client: &mut self.client,
            now: self.now,
            out: &mut out,
        };
        let Ran { flow, row } = dispatch::run(&mut context, &prepared, args);
        (self.flow, self.called) = (flow, row.map(|row| row.name));
        String::from_utf8(out).unwrap()
    }
}
