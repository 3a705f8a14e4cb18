//! One request meets its command.

use super::batch::Entry;
use crate::attach::publish;
use crate::clock::Stopwatch;
use crate::connection::{Closing, Connection, Hold, Sent};
use crate::limits::*;
use crate::server::Server;
use dolium_commands::context::{Context, Flow};
use dolium_commands::dispatch::{self, Prepared};
use dolium_commands::http::{self as http_commands, HttpContext};
use dolium_commands::memcache::{self as memcache_commands, McContext};
use dolium_commands::redis::row::{Group, flag};
use dolium_engine::Session;
use dolium_protocol::resp::ArgVec;
use dolium_protocol::{http, memcache};
use std::sync::atomic::Ordering::Relaxed;

/// What the requests of one connection run with.
pub(super) struct Stage<'a> {
    pub server: &'a Server,
    pub session: &'a Session,
    pub slots: &'a [ArgVec],
    pub input: &'a [u8],
    pub out: &'a mut Vec<u8>,
    pub now: u64,
    pub thread: usize,
    pub timed_rows: &'a [bool],
    pub memcache_limits: &'a memcache::Limits,
    pub http_limits: &'a http::Limits,
    pub wrote: bool,
}

impl Stage<'_> {
    #[inline]
    pub fn run(
        &mut self,
        connection: &mut Connection,
        entry: &Entry,
        slot: usize,
        prepared: &Prepared,
    ) {
        if self.server.pause.is_on() && connection.hold == Hold::No {
            let may_write = prepared.may_write(&connection.client);
            self.pause(connection, may_write);
        }
        if connection.hold != Hold::No || connection.is_closing() {
            return self.keep(connection, entry);
        }
        let args = self.slots[slot].view(&self.input[entry.start..entry.end]);
        let row = prepared.row();
        let counters = &self.server.statistics.threads[self.thread];
        let is_long = entry.end - entry.start > TIMED_ARGUMENT_BYTES;
        let is_timed = self.times_all()
            || is_long
            || row.is_none_or(|row| self.timed_rows[usize::from(row.id)]);
        let stopwatch = is_timed.then(Stopwatch::start);
        if is_timed {
            // CLIENT LIST shows the request that asks for it among the bytes not yet used up.
            connection.card.query_bytes.store((entry.end - entry.start) as u64, Relaxed);
        }
        let before = self.out.len();
        let mut context = Context {
            session: self.session,
            host: self.server,
            client: &mut connection.client,
            now: self.now,
            out: self.out,
        };
        let flow = dispatch::run(&mut context, prepared, args);
        if let Some(row) = row {
            let row_counters = &counters.rows[usize::from(row.id)];
            row_counters.calls.add(1);
            if row.flags & flag::WRITE != 0 || row.flags & flag::READONLY == 0 {
                // EXEC and the like may have written too.
                self.wrote = true;
                counters.writes.add(1);
            } else {
                counters.reads.add(1);
            }
            if let Some(stopwatch) = stopwatch {
                connection.card.query_bytes.store(0, Relaxed);
                let ns = stopwatch.ns();
                row_counters.time(ns, 1);
                publish::record(self.session, row, ns);
                self.server.note_duration(row, ns / 1000, &args, &connection.client);
            }
            if matches!(row.group, Group::Connection | Group::PubSub | Group::Transactions)
                || connection.client.gate != 0
            {
                connection.card.describe(&connection.client);
            }
        }
        if self.out.get(before) == Some(&b'-') {
            let ran = prepared.is_sound();
            self.server.statistics.note_error(self.thread, row, &self.out[before..], ran);
        }
        if flow == Flow::Close {
            connection.closing = Closing::AfterOutput;
        }
        if self.out.len() >= SEND_BYTES {
            self.send_early(connection);
        }
    }

    pub fn run_memcache(&mut self, connection: &mut Connection, entry: &Entry, is_write: bool) {
        if self.server.pause.is_on() && connection.hold == Hold::No {
            self.pause(connection, is_write);
        }
        if connection.hold != Hold::No || connection.is_closing() {
            return self.keep(connection, entry);
        }
        let bytes = &self.input[entry.start..entry.end];
        let counters = &self.server.statistics.threads[self.thread];
        let mut state = memcache::ParseState::new();
        let parsed = memcache::parse(bytes, self.memcache_limits, &mut state);
        let memcache::Parsed::Complete { request, .. } = parsed else { return };
        let mut context = McContext {
            session: self.session,
            server: self.server,
            tally: &counters.tally,
            client: &mut connection.memcache,
            db: MEMCACHE_DB,
            now: self.now,
            out: self.out,
        };
        let flow = memcache_commands::run(&mut context, &request);
        self.finish(connection, flow, is_write);
    }

    pub fn run_http(&mut self, connection: &mut Connection, entry: &Entry, is_write: bool) {
        if self.server.pause.is_on() && connection.hold == Hold::No {
            self.pause(connection, is_write);
        }
        if connection.hold != Hold::No || connection.is_closing() {
            return self.keep(connection, entry);
        }
        let bytes = &self.input[entry.start..entry.end];
        let mut state = http::ParseState::new();
        let parsed = http::parse(bytes, self.http_limits, &mut state);
        let http::Parsed::Complete { request, .. } = parsed else { return };
        let mut context = HttpContext {
            session: self.session,
            server: self.server,
            now: self.now,
            out: self.out,
        };
        let flow = http_commands::run(&mut context, &request);
        self.finish(connection, flow, is_write);
    }

    /// Looked at for every command: CONFIG SET may have run in this very batch.
    #[inline]
    fn times_all(&self) -> bool {
        self.server.config.live.times_all.load(Relaxed)
    }

    fn finish(&mut self, connection: &mut Connection, flow: Flow, is_write: bool) {
        let counters = &self.server.statistics.threads[self.thread];
        if is_write {
            self.wrote = true;
            counters.writes.add(1);
        } else {
            counters.reads.add(1);
        }
        if flow == Flow::Close {
            connection.closing = Closing::AfterOutput;
        }
        if self.out.len() >= SEND_BYTES {
            self.send_early(connection);
        }
    }

    /// The connection is held: the request waits. Or it is closing: the request is dropped.
    #[cold]
    fn keep(&self, connection: &mut Connection, entry: &Entry) {
        if !connection.is_closing() {
            connection.held.extend_from_slice(&self.input[entry.start..entry.end]);
        }
    }

    /// Much has been answered already: it is sent, and a peer that does not read waits.
    #[cold]
    fn send_early(&mut self, connection: &mut Connection) {
        let bytes = self.out.len() as u64;
        self.server.statistics.threads[self.thread].bytes_out.add(bytes);
        match connection.send(self.out) {
            Sent::All => {}
            Sent::Partly if connection.unsent() > OUTPUT_HIGH_WATER => {
                connection.hold = Hold::Output;
            }
            Sent::Partly => {}
            Sent::Gone => connection.closing = Closing::Now,
        }
    }

    #[cold]
    fn pause(&self, connection: &mut Connection, may_write: bool) {
        let now_ms = self.server.unix_us() / 1000;
        if self.server.pause.holds(now_ms, may_write) {
            connection.hold = Hold::Pause;
            connection.card.held.store(true, Relaxed);
            self.server.pause.count_held();
        }
    }
}
