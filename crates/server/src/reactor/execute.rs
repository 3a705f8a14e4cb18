//! Second and third pass of a batch: items are asked for, then every request runs in order.

use super::Reactor;
use super::batch::{Batch, Entry, What};
use super::request::Request;
use crate::clock::Stopwatch;
use crate::connection::{Closing, Connection, Hold, Sent};
use crate::limits::*;
use crate::server::Server;
use dolium_commands::context::{Context, Flow};
use dolium_commands::dispatch::{self, Prepared};
use dolium_commands::memcache::{self as memcache_commands, McContext};
use dolium_commands::redis::row::{Group, flag};
use dolium_engine::Session;
use dolium_protocol::memcache;
use dolium_protocol::resp::{ArgVec, RespWriter};

/// What the requests of one connection run with.
struct Stage<'a> {
    server: &'a Server,
    session: &'a Session,
    slots: &'a [ArgVec],
    input: &'a [u8],
    out: &'a mut Vec<u8>,
    now: u64,
    thread: usize,
    time_all: bool,
    timed_rows: &'a [bool],
    memcache_limits: &'a memcache::Limits,
    wrote: bool,
}

impl Reactor {
    /// Runs what was gathered in the hot buffer, which is free afterwards.
    pub(super) fn run_batch(&mut self) {
        if !self.batch.is_empty() {
            let hot = std::mem::take(&mut self.hot);
            self.run_batch_over(&hot);
            self.hot = hot;
        }
        self.fill = 0;
    }

    /// Runs the batch, whose requests lie in `input`.
    pub(super) fn run_batch_over(&mut self, input: &[u8]) {
        if self.batch.is_empty() {
            return;
        }
        // Most items are named by their home line; for the others the stash line is on its way
        // by the time that all have been looked at.
        self.stashed.clear();
        for (db, hash) in &self.batch.keys {
            if self.session.prefetch_item(*db, *hash) {
                self.stashed.push((*db, *hash));
            }
        }
        for (db, hash) in &self.stashed {
            self.session.prefetch_stashed(*db, *hash);
        }
        let batch = std::mem::replace(&mut self.batch, Batch::empty());
        let is_sampled =
            batch.used <= SAMPLE_ALWAYS_UP_TO || self.batches.is_multiple_of(SAMPLE_BATCHES);
        self.batches += 1;
        let stopwatch = is_sampled.then(Stopwatch::start);
        let mut rest = batch.entries.as_slice();
        while let Some(first) = rest.first() {
            let len = rest.iter().position(|e| e.token != first.token).unwrap_or(rest.len());
            let (run, others) = rest.split_at(len);
            rest = others;
            self.run_connection(run, &batch.slots, input);
        }
        let counters = &self.server.statistics.threads[self.thread];
        counters.commands.add(batch.used as u64);
        if let Some(stopwatch) = stopwatch
            && batch.used > 0
        {
            let weight = if batch.used <= SAMPLE_ALWAYS_UP_TO { 1 } else { SAMPLE_BATCHES };
            self.share_time(&batch.entries, stopwatch.ns() / batch.used as u64, weight);
        }
        self.batch = batch;
        self.batch.clear();
        if std::mem::take(&mut self.wrote) {
            self.server.announce_changes();
        }
    }

    /// The requests of one connection that stand together in the batch.
    fn run_connection(&mut self, run: &[Entry], slots: &[ArgVec], input: &[u8]) {
        let Some(connection) = self.slab.get(run[0].token) else {
            self.out.clear();
            return;
        };
        let mut stage = Stage {
            server: &self.server,
            session: &self.session,
            slots,
            input,
            out: &mut self.out,
            now: self.now,
            thread: self.thread,
            time_all: self.time_all,
            timed_rows: &self.timed_rows,
            memcache_limits: &self.memcache_limits,
            wrote: false,
        };
        let mut has_end = false;
        for entry in run {
            match &entry.what {
                What::End => has_end = true,
                What::Run { slot, request } => match request {
                    Request::Redis(prepared) => stage.run(connection, entry, *slot, prepared),
                    Request::Memcache { is_write } => {
                        stage.run_memcache(connection, entry, *is_write);
                    }
                    Request::Broken(_) | Request::BrokenMemcache(_) | Request::Unsupported
                        if connection.hold != Hold::No || connection.is_closing() => {}
                    Request::Broken(error) => {
                        let version = connection.client.resp;
                        error.write(&mut RespWriter::new(stage.out, version));
                        connection.closing = Closing::AfterOutput;
                    }
                    Request::BrokenMemcache(refusal) => {
                        if let Some(refusal) = refusal {
                            refusal.write(stage.out);
                        }
                        connection.closing = Closing::AfterOutput;
                    }
                    Request::Unsupported => connection.closing = Closing::AfterOutput,
                },
            }
        }
        self.wrote |= stage.wrote;
        if has_end {
            self.settle(run[0].token);
        }
    }

    /// Shares the time of a batch among the commands in it that were not timed by themselves.
    fn share_time(&self, entries: &[Entry], ns: u64, weight: u64) {
        let rows = &self.server.statistics.threads[self.thread].rows;
        for entry in entries {
            if let What::Run { request: Request::Redis(prepared), .. } = &entry.what
                && let Some(row) = prepared.row()
                && !self.time_all
                && !self.timed_rows[usize::from(row.id)]
                && entry.end - entry.start <= TIMED_ARGUMENT_BYTES
            {
                rows[usize::from(row.id)].time(ns, weight);
            }
        }
    }
}

impl Stage<'_> {
    #[inline]
    fn run(
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
        if connection.hold != Hold::No {
            connection.held.extend_from_slice(&self.input[entry.start..entry.end]);
            return;
        }
        if connection.is_closing() {
            return;
        }
        let args = self.slots[slot].view(&self.input[entry.start..entry.end]);
        let row = prepared.row();
        let counters = &self.server.statistics.threads[self.thread];
        let is_long = entry.end - entry.start > TIMED_ARGUMENT_BYTES;
        let is_timed =
            self.time_all || is_long || row.is_none_or(|row| self.timed_rows[usize::from(row.id)]);
        let stopwatch = is_timed.then(Stopwatch::start);
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
                let ns = stopwatch.ns();
                row_counters.time(ns, 1);
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

    fn run_memcache(&mut self, connection: &mut Connection, entry: &Entry, is_write: bool) {
        if self.server.pause.is_on() && connection.hold == Hold::No {
            self.pause(connection, is_write);
        }
        let bytes = &self.input[entry.start..entry.end];
        if connection.hold != Hold::No {
            connection.held.extend_from_slice(bytes);
            return;
        }
        if connection.is_closing() {
            return;
        }
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
            connection.card.held.store(true, std::sync::atomic::Ordering::Relaxed);
            self.server.pause.count_held();
        }
    }
}
