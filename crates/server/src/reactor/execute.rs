//! Second and third pass of a batch: items are asked for, then every request runs in order.

use super::Reactor;
use super::batch::{Batch, Entry, What};
use super::request::{Broken, Request};
use super::stage::Stage;
use crate::attach::publish;
use crate::clock::Stopwatch;
use crate::connection::{Appetite, Closing, Connection, Hold};
use crate::limits::*;
use crate::outlet::Loans;
use crate::statistics::row_trait;
use dolium_commands::rows::InRows;
use dolium_protocol::resp::RespWriter;
use std::sync::atomic::Ordering::Relaxed;

impl Reactor {
    /// Runs what was gathered in the hot buffer, which is free afterwards.
    pub(super) fn run_batch(&mut self) {
        self.run_batch_inline();
    }

    /// As `run_batch`, where it is called most: no function returns after a send (decision 121).
    #[inline(always)]
    pub(super) fn run_batch_inline(&mut self) {
        if !self.batch.is_empty() {
            let hot = std::mem::take(&mut self.hot);
            self.run_over(&hot);
            self.hot = hot;
        }
        self.fill = 0;
    }

    /// Runs the batch, whose requests lie in `input`.
    pub(super) fn run_batch_over(&mut self, input: &[u8]) {
        self.run_over(input);
    }

    #[inline(always)]
    fn run_over(&mut self, input: &[u8]) {
        if self.batch.is_empty() {
            return;
        }
        let mut batch = std::mem::replace(&mut self.batch, self.spare.take().unwrap_or_default());
        let session = &self.session;
        session.fetch_items(&mut batch.fetches);
        let is_sampled = batch.has_commands
            && (batch.used <= SAMPLE_ALWAYS_UP_TO || self.batches.is_multiple_of(SAMPLE_BATCHES));
        self.batches += 1;
        let stopwatch = is_sampled.then(Stopwatch::start);
        self.sending_ns = is_sampled.then_some(0);
        let mut rest = batch.entries.as_slice();
        let mut moved = 0;
        while let Some(first) = rest.first() {
            let len = rest.iter().position(|e| e.token != first.token).unwrap_or(rest.len());
            let (run, others) = rest.split_at(len);
            rest = others;
            // Long replies drive out of the cache what was asked for: the next connection's is asked for
            // again now, so that it comes while this one's reply is copied.
            if moved >= DRIVES_OUT_BYTES
                && let Some(fetch) = rest.first().and_then(|next| batch.fetches.get(next.key))
            {
                self.session.fetch_again(fetch);
            }
            moved = self.run_connection(run, &batch, input);
        }
        let counters = &self.server.statistics.threads[self.thread];
        counters.commands.add((batch.used - std::mem::take(&mut self.kept)) as u64);
        if let Some(stopwatch) = stopwatch
            && batch.used > 0
        {
            let weight = if batch.used <= SAMPLE_ALWAYS_UP_TO { 1 } else { SAMPLE_BATCHES };
            // What sending took is not the commands' time.
            let ns = stopwatch.ns().saturating_sub(self.sending_ns.unwrap_or(0));
            self.share_time(&batch.entries, ns / batch.used as u64, weight);
        }
        batch.clear();
        self.spare = Some(batch);
        if std::mem::take(&mut self.wrote) {
            self.server.announce_changes();
        }
    }

    /// The requests of one connection that stand together in the batch. Returns how many bytes were
    /// sent before the end of the connection's turn.
    #[inline(always)]
    fn run_connection(&mut self, run: &[Entry], batch: &Batch, input: &[u8]) -> usize {
        let Some(connection) = self.slab.get(run[0].token) else {
            self.out.clear();
            return 0;
        };
        let moved_before = connection.moved;
        let budget = self.server.config.live.client_buffers_max.load(Relaxed);
        let mut portion = self.server.buffers.portion(budget);
        match connection.appetite {
            Appetite::Unknown => {}
            Appetite::Large => portion.lent = self.server.buffers.portion_of_who_reads(budget),
            Appetite::Small => portion.lent = portion.lent.min(LOANS_SEND_FULL_BYTES),
        }
        let mut stage = Stage {
            server: &self.server,
            session: &self.session,
            slots: &batch.slots,
            fetches: &batch.fetches,
            input,
            out: &mut self.out,
            loans: Loans::new(&self.session),
            now: self.now,
            thread: self.thread,
            counters: &self.server.statistics.threads[self.thread],
            traits: &self.traits,
            memcache_limits: &self.memcache_limits,
            http_limits: &self.http_limits,
            portion,
            wrote: false,
            kept: 0,
        };
        let mut has_end = false;
        for entry in run {
            if let What::Run { .. } = entry.what {
                stage.session.fetch_near(stage.fetches, entry.key);
            }
            match &entry.what {
                What::End => has_end = true,
                What::Gets { first, count } => {
                    stage.run_gets(connection, entry, &batch.gets[*first..*first + *count]);
                }
                What::Sets { first, count } => {
                    stage.run_sets(connection, entry, &batch.sets[*first..*first + *count]);
                }
                What::Run { slot, request } => match request {
                    Request::Redis(prepared) => stage.run(connection, entry, *slot, prepared),
                    Request::Memcache { is_write, is_skipped } => {
                        stage.run_memcache(connection, entry, *is_write, *is_skipped);
                    }
                    Request::MemcacheBinary { is_write } => {
                        stage.run_memcache_binary(connection, entry, *is_write);
                    }
                    Request::Received => stage.run_received(connection, entry),
                    Request::Http { is_write } => stage.run_http(connection, entry, *is_write),
                    Request::Continue => stage.run_continue(connection),
                    // Found anew when it is its turn: what follows it is not to be read as requests.
                    Request::Broken(_) if connection.hold != Hold::No => {
                        stage.keep(connection, entry);
                    }
                    Request::Broken(broken) => answer_broken(connection, broken, stage.out),
                },
            }
        }
        stage.end(connection);
        let (wrote, kept) = (stage.wrote, stage.kept);
        drop(stage);
        self.wrote |= wrote;
        self.kept += kept;
        connection.restore_held();
        let waits = connection.hold == Hold::Wait;
        let moved = connection.moved.saturating_sub(moved_before);
        if has_end {
            let stopwatch = self.sending_ns.is_some().then(Stopwatch::start);
            self.settle(run[0].token);
            if let (Some(stopwatch), Some(ns)) = (stopwatch, &mut self.sending_ns) {
                *ns += stopwatch.ns();
            }
        }
        // Once: where the batch was full at the request that waits, the end comes with the next.
        if has_end && waits {
            self.begin_wait(run[0].token);
        }
        moved
    }

    /// Shares the time of a batch among the commands in it that were not timed by themselves.
    fn share_time(&self, entries: &[Entry], ns: u64, weight: u64) {
        let rows = &self.server.statistics.threads[self.thread].rows;
        let mut is_published = false;
        for entry in entries {
            let (row, count) = match &entry.what {
                What::Run { request: Request::Redis(prepared), .. }
                    if entry.end - entry.start <= TIMED_ARGUMENT_BYTES =>
                {
                    (prepared.row(), 1)
                }
                What::Gets { count, .. } => (Some(InRows::Get.row()), *count as u64),
                What::Sets { count, .. } => (Some(InRows::Set.row()), *count as u64),
                What::Run { .. } | What::End => (None, 0),
            };
            if let Some(row) = row
                && !self.server.config.live.times_all.load(Relaxed)
                && self.traits[usize::from(row.id)] & row_trait::TIMED == 0
            {
                rows[usize::from(row.id)].time(ns, weight * count);
                // One of a batch: the published histograms are a sample.
                if !std::mem::replace(&mut is_published, true) {
                    publish::record(&self.session, row, ns);
                }
            }
        }
    }
}

/// The peer does not speak its protocol: it is told so in its turn, and the connection ends.
#[cold]
fn answer_broken(connection: &mut Connection, broken: &Broken, out: &mut Vec<u8>) {
    if connection.is_closing() {
        return;
    }
    match broken {
        Broken::Resp(error) => error.write(&mut RespWriter::new(out, connection.client.resp)),
        Broken::Memcache(refusal) => {
            if let Some(refusal) = refusal {
                refusal.write(out);
            }
        }
        Broken::Http(error) => error.write(out),
        Broken::Overflow => {
            out.clear();
            connection.closing = Closing::Now;
            return;
        }
    }
    connection.memcache.close_reason = "error";
    connection.closing = Closing::AfterOutput;
}
