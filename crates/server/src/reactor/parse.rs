//! From received bytes to requests in the batch; first pass: their index lines are asked for.
//! Memcached's requests are in `parse/memcache.rs`.

mod memcache;

use super::Reactor;
use super::request::{Broken, Request};
use super::rows::Source;
use crate::clients::Token;
use crate::limits::*;
use dolium_commands::dispatch::{self, Prepared};
use dolium_commands::http as http_commands;
use dolium_commands::redis::row::Row;
use dolium_commands::rows::InRows;
use dolium_engine::{Db, Fetch, Session};
use dolium_protocol::Parse;
use dolium_protocol::detect::Protocol;
use dolium_protocol::http::{self, Method};
use dolium_protocol::resp::{self, Args, Repeat};
use std::sync::atomic::Ordering::Relaxed;

/// How some request of late began, and its command.
#[derive(Clone, Copy)]
pub(super) struct Known {
    repeat: Repeat,
    row: &'static Row,
    /// If its requests are gathered in rows.
    in_rows: Option<InRows>,
}

/// How far the parsing of a piece of input came.
pub(super) struct Progress {
    /// Everything before has become requests.
    pub at: usize,
    /// Bytes that the unfinished request there needs, at least.
    pub need: usize,
}

impl Reactor {
    /// The row that a connection's input begins with, as all of it is most often, if it is one of late. Where it ends:
    /// at `at` if there is none.
    pub(super) fn take_first_row(&mut self, token: Token, at: usize, end: usize) -> usize {
        let Some(connection) = self.slab.get(token) else { return at };
        let is_resp = connection.protocol == Some(Protocol::Resp);
        let known = &mut self.known[Repeat::place_of(&self.hot[at..end])];
        match known {
            Some(Known { repeat, in_rows: Some(command), .. })
                if is_resp && connection.client.authenticated() =>
            {
                let (input, db) = (self.hot.as_slice(), connection.client.db);
                let source = Source { input, end, db, session: &self.session };
                let state = &mut connection.parse;
                source.take_row(&mut self.batch, *command, token, at, state, repeat)
            }
            _ => at,
        }
    }

    /// RESP requests, until the batch is full or the input is used up.
    pub(super) fn parse_resp(
        &mut self,
        token: Token,
        input: &[u8],
        mut at: usize,
        end: usize,
    ) -> Progress {
        let Some(connection) = self.slab.get(token) else { return Progress { at: end, need: 0 } };
        let authenticated = connection.client.authenticated();
        let is_known = authenticated || !self.server.config.live.has_password.load(Relaxed);
        let limits = self.limits.with_authenticated(is_known);
        let db = connection.client.db;
        let engine = self.session.engine();
        while at < end && !self.batch.is_full() {
            let known = &mut self.known[Repeat::place_of(&input[at..end])];
            if let Some(Known { repeat, row, in_rows }) = known {
                let state = &mut connection.parse;
                if authenticated && let Some(command) = *in_rows {
                    let source = Source { input, end, db, session: &self.session };
                    let next = source.take_row(&mut self.batch, command, token, at, state, repeat);
                    if next > at {
                        at = next;
                        continue;
                    }
                }
                let slot = &mut self.batch.slots[self.batch.used];
                let consumed = resp::parse_repeat(&input[at..end], state, slot, repeat);
                if consumed != 0 && authenticated {
                    let args = slot.view(&input[at..end]);
                    let prepared = dispatch::prepare_repeat(engine, row, &args);
                    fetch_lines(&self.session, db, &prepared, &args, &mut self.batch.fetches);
                    self.batch.push(token, Request::Redis(prepared), at, at + consumed);
                    at += consumed;
                    continue;
                }
            }
            let slot = &mut self.batch.slots[self.batch.used];
            match resp::parse(&input[at..end], &limits, &mut connection.parse, slot) {
                Parse::Complete { consumed } => {
                    let is_empty = slot.is_empty();
                    if !is_empty {
                        let args = slot.view(&input[at..end]);
                        let prepared = dispatch::prepare(engine, &args);
                        if dispatch::is_of_web_request(&prepared, &args) {
                            let broken = Request::Broken(Broken::WebRequest);
                            self.batch.push(token, broken, at, end);
                            return Progress { at: end, need: 0 };
                        }
                        if let Some(row) = dispatch::is_repeatable(&prepared) {
                            let input = &input[at..end];
                            let (repeat, in_rows) = (Repeat::of(input, slot), InRows::of(row));
                            self.known[Repeat::place_of(input)] =
                                Some(Known { repeat, row, in_rows });
                        }
                        fetch_lines(&self.session, db, &prepared, &args, &mut self.batch.fetches);
                        self.batch.push(token, Request::Redis(prepared), at, at + consumed);
                    }
                    at += consumed;
                    if !authenticated && !is_empty {
                        // It may be AUTH, and what follows is read with other limits then.
                        self.run_batch_over(input);
                        break;
                    }
                }
                Parse::Incomplete { need_at_least } => {
                    return Progress { at, need: need_at_least };
                }
                Parse::Error(error) => {
                    self.batch.push(token, Request::Broken(Broken::Resp(error)), at, end);
                    at = end;
                }
            }
        }
        Progress { at, need: 0 }
    }

    /// Web requests, until the batch is full or the input is used up.
    pub(super) fn parse_http(
        &mut self,
        token: Token,
        input: &[u8],
        mut at: usize,
        end: usize,
    ) -> Progress {
        let Some(connection) = self.slab.get(token) else { return Progress { at: end, need: 0 } };
        while at < end && !self.batch.is_full() {
            let state = &mut connection.http_parse;
            match http::parse(&input[at..end], &self.http_limits, state) {
                http::Parsed::Complete { request, consumed } => {
                    if let Some((db, hash)) = http_commands::prepare(&self.session, &request) {
                        self.session.fetch_line(db, hash, &mut self.batch.fetches);
                    }
                    let is_write = !matches!(request.method, Method::Get | Method::Head);
                    self.batch.push(token, Request::Http { is_write }, at, at + consumed);
                    at += consumed;
                }
                http::Parsed::Incomplete { need_at_least, send_continue } => {
                    // Before the body is asked for, or memory is set aside for it.
                    let is_refused = http::head(&input[at..end], state).is_some_and(|request| {
                        http_commands::refuses(&self.session, &*self.server, &request)
                    });
                    if is_refused {
                        self.batch.push(token, Request::Http { is_write: false }, at, end);
                        return Progress { at: end, need: 0 };
                    }
                    if send_continue {
                        self.batch.push(token, Request::Continue, at, at);
                    }
                    return Progress { at, need: need_at_least };
                }
                http::Parsed::Error(error) => {
                    self.batch.push(token, Request::Broken(Broken::Http(error)), at, end);
                    at = end;
                }
            }
        }
        Progress { at, need: 0 }
    }
}

/// First pass: the index lines of the request's keys are asked for.
#[inline(always)]
fn fetch_lines(
    session: &Session,
    db: Db,
    prepared: &Prepared,
    args: &Args<'_>,
    fetches: &mut Vec<Fetch>,
) {
    let Some(hash) = prepared.key_hash() else { return };
    session.fetch_line(db, hash, fetches);
    if prepared.row().is_some_and(|row| row.keys.last != 1) {
        fetch_other_lines(session, db, prepared, args, fetches);
    }
}

/// The same for the keys beyond the first.
#[cold]
fn fetch_other_lines(
    session: &Session,
    db: Db,
    prepared: &Prepared,
    args: &Args<'_>,
    fetches: &mut Vec<Fetch>,
) {
    for key in prepared.other_keys(args) {
        if fetches.len() >= BATCH_COMMANDS + BATCH_EXTRA_KEYS {
            return;
        }
        session.fetch_line(db, session.engine().key(key).hash(), fetches);
    }
}
