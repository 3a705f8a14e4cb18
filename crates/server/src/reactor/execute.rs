//! Second and third pass of a batch: items are asked for, then every request runs in order. What it lends to them
//! for that long, and what is done once for all of them behind it, is here.

use super::Reactor;
use super::batch::{Batch, Entry, What};
use super::request::{Broken, Request};
use super::stage::Stage;
use crate::clock::Stopwatch;
use crate::connection::{Closing, Connection, Hold};
use crate::limits::*;
use crate::outlet::Loans;
use dolium_commands::connection::gate;
use dolium_protocol::resp::RespWriter;

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
        let sample = if batch.has_commands { self.sample(&batch) } else { None };
        let stopwatch = sample.map(|weight| (Stopwatch::start(), weight));
        self.sending_ns = sample.map(|_| 0);
        let mut rest = batch.entries.as_slice();
        let mut moved = 0;
        let mut is_overdue = false;
        loop {
            let run = take_run(&mut rest);
            // In one place, for no function returns behind a send (decision 121).
            if !self.replies.is_empty() && (is_overdue || !self.runs_before_replies(run)) {
                let stopwatch = self.sending_ns.is_some().then(Stopwatch::start);
                self.send_replies();
                if let (Some(stopwatch), Some(ns)) = (stopwatch, &mut self.sending_ns) {
                    *ns += stopwatch.ns();
                }
            }
            if run.is_empty() {
                break;
            }
            if self.post.has_kill() {
                self.note_kills();
            }
            if let Some(next) = rest.first() {
                self.slab.bring_near(next.token);
            }
            // Long replies drive out of the cache what was asked for: the next connection's is asked for
            // again now, so that it comes while this one's reply is copied.
            if moved >= DRIVES_OUT_BYTES
                && let Some(fetch) = rest.first().and_then(|next| batch.fetches.get(next.key))
            {
                self.session.fetch_again(fetch);
            }
            let waiting = self.replies.len();
            moved = self.run_connection(run, !rest.is_empty(), &batch, input);
            // Something was sent at once, or there was nothing to send: those who wait have waited enough.
            is_overdue = moved > 0 || self.replies.len() == waiting;
        }
        let counters = &self.counters;
        let kept = std::mem::take(&mut self.kept);
        counters.commands.add((batch.used - kept) as u64);
        if let Some((stopwatch, weight)) = stopwatch
            && batch.used > 0
            // What was held, queued or refused is no command's time.
            && kept == 0
        {
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

    /// Whether those whose replies wait may go on waiting while this runs: not behind a command that may take
    /// long, and not behind another turn of their own, nor at the batch's end.
    #[inline(always)]
    fn runs_before_replies(&mut self, run: &[Entry]) -> bool {
        let Some(first) = run.first() else { return false };
        is_rows(run) && self.slab.get(first.token).is_none_or(|connection| !connection.reply_waits)
    }

    /// The requests of one connection that stand together in the batch. Returns how many bytes were
    /// sent before the end of the connection's turn. `more`: others come behind it.
    #[inline(always)]
    fn run_connection(&mut self, run: &[Entry], more: bool, batch: &Batch, input: &[u8]) -> usize {
        let Some(connection) = self.slab.get(run[0].token) else {
            self.out.clear();
            return 0;
        };
        let moved_before = connection.moved;
        let kept_before = connection.client.kept_bytes;
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
            counters: &self.counters,
            traits: &self.traits,
            memcache_limits: &self.memcache_limits,
            http_limits: &self.http_limits,
            portion: None,
            wrote: false,
            kept: 0,
            post: &self.post,
            unanswered: &mut self.unanswered,
            mail: &mut self.mail,
        };
        if connection.client.gate & gate::SUBSCRIBED != 0 {
            stage.take_messages(connection);
        }
        let mut has_end = false;
        for entry in run {
            has_end |= entry.ends;
            if let What::Run { .. } = entry.what {
                stage.session.near().fetch(stage.fetches, entry.key);
            }
            match &entry.what {
                What::End => {}
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
                    Request::Broken(_) if connection.hold.stops_requests() => {
                        stage.keep(connection, entry);
                    }
                    Request::Broken(broken) => {
                        let request = &input[entry.start..entry.end];
                        answer_broken(connection, broken, request, stage.now, stage.out);
                    }
                },
            }
        }
        stage.end(connection);
        let (wrote, kept) = (stage.wrote, stage.kept);
        drop(stage);
        self.wrote |= wrote;
        self.kept += kept;
        let holds = !connection.held.is_empty();
        if holds {
            connection.restore_held();
        }
        let is_otherwise = connection.client.kept_bytes != kept_before;
        let waits = connection.hold == Hold::Wait;
        let moved = connection.moved.saturating_sub(moved_before);
        let may_wait = has_end && is_rows(run) && (more || !self.replies.is_empty());
        if may_wait && self.replies.take(connection, &mut self.out) {
            return moved;
        }
        if has_end {
            let stopwatch = self.sending_ns.is_some().then(Stopwatch::start);
            let is_settled = connection.end_turn(&mut self.out, &self.counters, self.now);
            if !is_settled || self.stop_at.is_some() {
                self.settle(run[0].token);
            }
            if let (Some(stopwatch), Some(ns)) = (stopwatch, &mut self.sending_ns) {
                *ns += stopwatch.ns();
            }
        }
        if holds || is_otherwise {
            // Of who waits nothing else would, and what is held takes memory, as does what its commands have had kept.
            self.count_buffers(run[0].token);
        }
        // Once: where the batch was full at the request that waits, the end comes with the next.
        if has_end && waits {
            self.begin_wait(run[0].token);
        }
        moved
    }
}

/// The entries of one connection that stand first.
#[inline(always)]
fn take_run<'e>(rest: &mut &'e [Entry]) -> &'e [Entry] {
    let len = match rest.first() {
        None => 0,
        Some(first) if first.ends => 1,
        Some(first) => rest.iter().position(|e| e.token != first.token).unwrap_or(rest.len()),
    };
    let (run, others) = rest.split_at(len);
    *rest = others;
    run
}

/// GETs and SETs only.
#[inline(always)]
fn is_rows(run: &[Entry]) -> bool {
    run.iter().all(|entry| matches!(entry.what, What::Gets { .. } | What::Sets { .. }))
}

/// The peer does not speak its protocol: it is told so in its turn, and the connection ends.
#[cold]
fn answer_broken(
    connection: &mut Connection,
    broken: &Broken,
    request: &[u8],
    now: u64,
    out: &mut Vec<u8>,
) {
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
        Broken::Http(error) => {
            error.write(request, out, now);
            connection.is_refused_unread = true;
        }
        Broken::WebRequest => {
            tracing::warn!(
                addr = connection.client.addr,
                "a client is closed that sends a web request where Redis' commands belong: a web page may \
                 be trying to use its reader's browser to reach this server"
            );
            out.clear();
            connection.closing = Closing::Now;
            return;
        }
        Broken::Overflow => {
            out.clear();
            connection.closing = Closing::Now;
            return;
        }
    }
    connection.memcache.close_reason = "error";
    connection.closing = Closing::AfterOutput;
}
