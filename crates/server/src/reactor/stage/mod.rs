//! One request meets its command: what has a say in whether it runs now (a pause, a transaction, missing room), the
//! run itself, and what becomes of its reply.

mod memcache;
mod messages;
mod room;
mod rows;
mod send;

use super::batch::Entry;
use crate::attach::publish;
use crate::budget::Portion;
use crate::clients::Token;
use crate::clock::Stopwatch;
use crate::connection::{Closing, Connection, Hold};
use crate::limits::*;
use crate::mailbox::{Mail, Mailbox};
use crate::outlet::Loans;
use crate::server::Server;
use crate::statistics::{ThreadCounters, row_trait};
use dolium_commands::connection::{ClientState, gate};
use dolium_commands::context::{Context, Flow};
use dolium_commands::dispatch::{self, Prepared, Ran};
use dolium_commands::foretold;
use dolium_commands::http::{self as http_commands, HttpContext};
use dolium_commands::outlet::Outlet;
use dolium_commands::redis::row::Row;
use dolium_engine::{Fetch, Session};
use dolium_protocol::http;
use dolium_protocol::resp::{ArgVec, Args};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// What the requests of one connection run with.
pub(super) struct Stage<'a> {
    pub server: &'a Server,
    pub session: &'a Session,
    pub slots: &'a [ArgVec],
    /// What the passes have seen of the batch's keys.
    pub fetches: &'a [Fetch],
    pub input: &'a [u8],
    pub out: &'a mut Vec<u8>,
    /// Values that belong into `out`.
    pub loans: Loans<'a>,
    pub now: u64,
    pub thread: usize,
    pub counters: &'a ThreadCounters,
    /// See [`row_trait`].
    pub traits: &'a [u8],
    pub memcache_limits: &'a dolium_protocol::memcache::Limits,
    pub http_limits: &'a http::Limits,
    /// How much is gathered before it is sent, once somebody has asked.
    pub portion: Option<Portion>,
    pub wrote: bool,
    /// Requests that have not run yet, and will be counted when they do: held back, or queued by
    /// MULTI. Those that were refused before they ran as well, which never count.
    pub kept: usize,
    /// The thread's, and what it has taken out of it and not read yet: messages to subscribers.
    pub post: &'a Mailbox,
    /// The thread's connections whose large replies wait for room in the budget of buffers.
    pub unanswered: &'a mut Vec<Token>,
    pub mail: &'a mut Vec<Mail>,
}

impl Stage<'_> {
    /// A RESP request.
    #[inline]
    pub fn run(
        &mut self,
        connection: &mut Connection,
        entry: &Entry,
        slot: usize,
        prepared: &Prepared,
    ) {
        let range = entry.start..entry.end;
        let args = self.slots[slot].view(&self.input[range.clone()]);
        self.run_args(connection, range, prepared, &args, entry.key);
    }

    /// A RESP request that lies in that range of the input, and whose first key is the batch's of
    /// that number.
    #[inline(always)]
    fn run_args(
        &mut self,
        connection: &mut Connection,
        range: Range<usize>,
        prepared: &Prepared,
        args: &Args<'_>,
        key: usize,
    ) {
        // CLIENT PAUSE does not hold back what is refused in any case.
        let must_wait = match prepared.is_sound() {
            true => self.must_wait(connection, |client| prepared.may_write(client)),
            false => connection.hold.stops_requests() || connection.is_closing(),
        };
        if must_wait {
            return self.hold_back(connection, &self.input[range]);
        }
        let len = range.len();
        let traits = prepared.row().map_or(row_trait::TIMED, |row| self.traits[row.id as usize]);
        if traits & row_trait::FORETELLS != 0
            && (self.is_room_shared(connection) || traits & row_trait::HANDS_OVER != 0)
            && !self.has_room_ahead(connection, |session, client, now| {
                foretold::reply_bytes(session, client, prepared, args, now)
            })
        {
            return self.hold_back(connection, &self.input[range]);
        }
        let is_long = len > TIMED_ARGUMENT_BYTES;
        let before = self.out.len();
        let is_timed = traits & row_trait::TIMED != 0
            || is_long
            // Looked at for every command: CONFIG SET may have run in this very batch.
            || self.server.config.live.times_all.load(Relaxed);
        if is_timed {
            // CLIENT LIST shows the request that asks for it among the bytes not yet used up.
            connection.card.query_bytes.store(len as u64, Relaxed);
            let stopwatch = Stopwatch::start();
            let ran = self.call(connection, prepared, args, key, traits);
            self.note_time(connection, ran, args, stopwatch.ns());
        } else {
            self.call(connection, prepared, args, key, traits);
        }
        if self.is_much(connection) {
            // Nothing that was asked of keys only is lost where it is asked again.
            let may_wait = traits & row_trait::MAY_WRITE == 0;
            if !self.has_room_for_reply(connection, before, may_wait) {
                return self.hold_back(connection, &self.input[range]);
            }
            self.send_early(connection);
        }
    }

    /// Returns the command, if the request was a call of one.
    #[inline(always)]
    fn call(
        &mut self,
        connection: &mut Connection,
        prepared: &Prepared,
        args: &Args<'_>,
        key: usize,
        traits: u8,
    ) -> Option<&'static Row> {
        let may_part =
            traits & row_trait::PARTS != 0 && connection.client.gate & gate::SUBSCRIBED != 0;
        if may_part {
            self.take_messages(connection);
        }
        let before = self.out.len();
        let version = connection.client.resp;
        let may_borrow = connection.may_borrow();
        let mut context = Context {
            session: self.session,
            host: self.server,
            client: &mut connection.client,
            now: self.now,
            out: self.out,
            fetch: self.fetches.get(key).unwrap_or(&Fetch::NONE),
            outlet: may_borrow.then_some(&mut self.loans as &mut dyn Outlet),
        };
        let Ran { flow, row } = dispatch::run(&mut context, prepared, *args);
        let Some(row) = row else {
            self.note_no_call(connection, prepared, before, traits);
            return None;
        };
        self.counters.rows[row.id as usize].calls.add(1);
        if traits & row_trait::MAY_WRITE != 0 {
            self.wrote = true;
            self.serve_waiting();
        }
        if traits & row_trait::DESCRIBES != 0 {
            connection.card.describe(&connection.client);
        } else if traits & row_trait::TRANSACTS != 0 || connection.client.gate != 0 {
            connection.card.describe_transaction(&connection.client);
        }
        if self.out.get(before) == Some(&b'-') {
            let reply = &self.out[before..];
            self.server.statistics.note_error(self.thread, Some(row), reply, true);
        }
        if may_part {
            self.take_last_messages(connection, before, version);
        }
        match flow {
            Flow::Continue => {}
            Flow::Close => connection.closing = Closing::AfterOutput,
            Flow::Wait => connection.hold = Hold::Wait,
        }
        Some(row)
    }

    /// The request was refused before its command ran, or is queued: neither is a call, and it was
    /// not the command that took the time.
    #[cold]
    fn note_no_call(
        &mut self,
        connection: &Connection,
        prepared: &Prepared,
        before: usize,
        traits: u8,
    ) {
        self.kept += 1;
        // Room is made for what is queued: what was evicted for it is to be announced.
        self.wrote |= traits & row_trait::MAY_WRITE != 0;
        connection.card.describe_transaction(&connection.client);
        if self.out.get(before) == Some(&b'-') {
            let row = prepared.row().filter(|_| prepared.is_known());
            self.server.statistics.note_error(self.thread, row, &self.out[before..], false);
        }
    }

    /// Serves who waits for what was written.
    #[inline(always)]
    fn serve_waiting(&self) {
        if self.server.waiting.has_ready() {
            self.server.waiting.serve(self.server, self.session, self.now);
        }
    }

    /// A command that was timed by itself, if it ran.
    fn note_time(
        &self,
        connection: &Connection,
        ran: Option<&'static Row>,
        args: &Args<'_>,
        ns: u64,
    ) {
        connection.card.query_bytes.store(0, Relaxed);
        if let Some(row) = ran {
            self.counters.rows[row.id as usize].time(ns, 1);
            publish::record(self.session, row, ns);
            self.server.note_duration(row, ns / 1000, args, &connection.client);
        }
    }

    /// The connection is held or closing, or CLIENT PAUSE begins to hold it now.
    #[inline(always)]
    fn must_wait(
        &self,
        connection: &mut Connection,
        may_write: impl FnOnce(&ClientState) -> bool,
    ) -> bool {
        if self.server.pause.is_on() && !connection.hold.stops_requests() {
            let may_write = may_write(&connection.client);
            connection.pause(self.server, may_write);
        }
        connection.hold.stops_requests() || connection.is_closing()
    }

    pub fn run_http(&mut self, connection: &mut Connection, entry: &Entry, is_write: bool) {
        if self.must_wait(connection, |_| is_write) {
            return self.keep(connection, entry);
        }
        let bytes = &self.input[entry.start..entry.end];
        let mut state = http::ParseState::new();
        let parsed = http::parse(bytes, self.http_limits, &mut state);
        let request = match parsed {
            http::Parsed::Complete { request, .. } => request,
            // The limits have become narrower meanwhile.
            http::Parsed::Error(error) => {
                error.write(bytes, self.out, self.now);
                connection.is_refused_unread = true;
                connection.closing = Closing::AfterOutput;
                return;
            }
            // Its head has been refused already, and the body is not waited for.
            http::Parsed::Incomplete { .. } => {
                connection.is_refused_unread = true;
                connection.closing = Closing::AfterOutput;
                match http::head(bytes, &mut state) {
                    Some(request)
                        if http_commands::refuses(self.session, self.server, &request) =>
                    {
                        request
                    }
                    // The password has changed since: the body that would now be stored is not here.
                    _ => return,
                }
            }
        };
        let mut context = HttpContext {
            session: self.session,
            server: self.server,
            now: self.now,
            out: self.out,
        };
        let before = context.out.len();
        let flow = http_commands::run(&mut context, &request);
        if !self.has_room_for_reply(connection, before, !is_write) {
            return self.keep(connection, entry);
        }
        self.finish(connection, flow, is_write);
    }

    /// An HTTP client waits to be asked for the body. Behind a request that is held it is asked when
    /// its own is read anew.
    pub fn run_continue(&mut self, connection: &mut Connection) {
        match connection.hold {
            _ if connection.is_closing() => {}
            Hold::No => self.out.extend_from_slice(http::CONTINUE),
            _ => connection.http_parse = http::ParseState::new(),
        }
    }

    fn finish(&mut self, connection: &mut Connection, flow: Flow, is_write: bool) {
        self.wrote |= is_write;
        if flow == Flow::Close {
            connection.closing = Closing::AfterOutput;
        }
        if self.is_much(connection) {
            self.send_early(connection);
        }
    }

    /// The connection is held: the request waits. Or it is closing: the request is dropped.
    #[cold]
    pub fn keep(&mut self, connection: &mut Connection, entry: &Entry) {
        self.hold_back(connection, &self.input[entry.start..entry.end]);
    }

    fn hold_back(&mut self, connection: &mut Connection, request: &[u8]) {
        self.kept += 1;
        if !connection.is_closing() {
            connection.held.extend_from_slice(request);
        }
    }
}
