//! The thread that works when nobody asks: expiry, memory ahead of need, pauses, statistics.
//!
//! ```text
//!   every 1 s       idle clients, rates, peak memory, the free heap back to the system when few ask,
//!                   the log file, if its path names another one by now
//!   every 1/hz s    maintenance, at most a quarter of the time between
//!   every 5 ms      the same while memory grows fast or work is left over
//!   now and then    a huge page in place of small ones: the first ones soon, further ones a thousandth of
//!                   the time, or a 200th when idle
//! ```

use crate::clock::{self, Stopwatch};
use crate::limits::{CENSUS_EVERY_MS, MEMCACHE_DB};
use crate::mailbox::Mail;
use crate::server::Server;
use dolium_commands::memcache::census::Walk;
use dolium_engine::{Session, Work};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Between two rounds when there is much to do.
const BUSY_MS: u64 = 5;
/// Work of one round when there is much to do; and of one with nothing special.
const BUSY_BUDGET_US: u64 = 2_000;
const QUIET_BUDGET_US: u64 = 1_000;
/// Rounds that stay frequent after the last one that had work.
const BUSY_ROUNDS: u32 = 20;
/// Expiry is prompt: no round is later than this, whatever `hz` says.
const QUIET_MS_MAX: u64 = 100;
/// One part in so many of the time goes into huge pages while requests come. The system copies for
/// 0.3 to 10 ms to make one and lets no other thread on to the core meanwhile: of the requests of a
/// second in which one is made, less than one in a hundred is to notice, and they are to be few.
const COLLAPSE_ONE_IN: u64 = 1000;
/// The same when nobody has asked for [`IDLE_MS`]. The core may be another process's as well.
const COLLAPSE_ONE_IN_IDLE: u64 = 200;
/// The same for the first ones of a server's life, and how many these are: 16 MiB, all of a small store,
/// stand on huge pages a second or two after it was filled.
const COLLAPSE_ONE_IN_FIRST: u64 = 20;
const COLLAPSES_FIRST: u32 = 8;
const IDLE_MS: u64 = 1_000;
/// Commands of a second below which the heap's allocator is too seldom called to give back by itself.
const QUIET_COMMANDS: u64 = 1_000;
/// Free bytes of the heap that are left to it then; what describes its pages counts with them.
const FREE_BYTES_KEPT: u64 = 8 << 20;
const LATENCY_EVENT: &str = "expire-cycle";

pub fn run(server: Arc<Server>, session: Session) {
    let mut busy = 0u32;
    let mut rates = Rates::new(&server);
    let mut census = Census::default();
    let mut collapses = Collapses::default();
    loop {
        let quiet_ms = (1000 / server.config.live.hz.load(Relaxed).max(1)).clamp(1, QUIET_MS_MAX);
        let wait_ms = if busy > 0 { BUSY_MS.min(quiet_ms) } else { quiet_ms };
        if server.wait_for_stop(wait_ms) {
            return;
        }
        let budget_us = if busy > 0 { BUSY_BUDGET_US } else { QUIET_BUDGET_US };
        server.flush_due(&session, clock::unix_ms());
        let work = maintain(&server, &session, budget_us);
        busy = if has_work(&work) { BUSY_ROUNDS } else { busy.saturating_sub(1) };
        server.memcached.counts.rounds.fetch_add(1, Relaxed);
        server.note_sizes();
        server.memcached.watchers.call_all(&server.posts);
        census.step(&server, &session);
        if !work.more && work.committed_bytes == 0 {
            collapses.step(&server, &session);
        }
        server.make_room_for_notifications(&session, clock::unix_ms());
        // Not only what was done here: a read that finds an item due removes it, and is not followed
        // by an announcement as a write is.
        server.announce_changes();
        if server.pause.end_if_over(clock::unix_ms()) {
            server.post_all(|| Mail::Resume);
        }
        rates.sample(&server);
    }
}

/// Counts a large store class by class, a little in each round, while somebody asks for it.
#[derive(Default)]
struct Census {
    walk: Option<Walk>,
    not_before: u64,
}

impl Census {
    fn step(&mut self, server: &Server, session: &Session) {
        let now = clock::unix_ms();
        if self.walk.is_none() {
            let is_due = now >= self.not_before;
            if !is_due || !server.memcached.censuses.take_wanted() {
                return;
            }
        }
        let walk = self.walk.get_or_insert_default();
        let stopwatch = Stopwatch::start();
        while stopwatch.us() < BUSY_BUDGET_US {
            let settings = &server.memcached.settings;
            if let Some(census) = walk.step(settings, session, MEMCACHE_DB, now) {
                server.memcached.censuses.put(census);
                self.walk = None;
                self.not_before = now + CENSUS_EVERY_MS;
                return;
            }
        }
    }
}

fn maintain(server: &Server, session: &Session, budget_us: u64) -> Work {
    let stopwatch = Stopwatch::start();
    let work = session.maintain(clock::unix_ms(), budget_us, &|| stopwatch.us());
    let threshold = server.config.live.latency_threshold_ms.load(Relaxed);
    let ms = stopwatch.ms();
    if threshold != 0 && ms >= threshold {
        server.latency.note(LATENCY_EVENT, clock::unix_us() / 1_000_000, ms);
    }
    work
}

fn has_work(work: &Work) -> bool {
    work.more || work.committed_bytes + work.moved_bytes > 0
}

/// Huge pages for a store that has come to rest.
#[derive(Default)]
struct Collapses {
    not_before: u64,
    /// Commands when there was one last.
    commands: u64,
    idle_since: u64,
    made: u32,
}

impl Collapses {
    fn step(&mut self, server: &Server, session: &Session) {
        let now = clock::unix_ms();
        let commands = server.statistics.sum(|t| &t.commands);
        if commands != std::mem::replace(&mut self.commands, commands) {
            self.idle_since = now;
        }
        if now < self.not_before {
            return;
        }
        let stopwatch = Stopwatch::start();
        if session.collapse() {
            let is_idle = now.saturating_sub(self.idle_since) >= IDLE_MS;
            self.made = self.made.saturating_add(1);
            let one_in = match is_idle {
                _ if self.made < COLLAPSES_FIRST => COLLAPSE_ONE_IN_FIRST,
                true => COLLAPSE_ONE_IN_IDLE,
                false => COLLAPSE_ONE_IN,
            };
            self.not_before = now + stopwatch.us() * one_in / 1000;
        }
    }
}

/// Rates of the last second.
struct Rates {
    since: Stopwatch,
    commands: u64,
    bytes_in: u64,
    bytes_out: u64,
}

impl Rates {
    fn new(server: &Server) -> Self {
        let sum = |of: fn(&crate::statistics::ThreadCounters) -> &crate::statistics::Counter| {
            server.statistics.sum(of)
        };
        Rates {
            since: Stopwatch::start(),
            commands: sum(|t| &t.commands),
            bytes_in: sum(|t| &t.bytes_in),
            bytes_out: sum(|t| &t.bytes_out),
        }
    }

    /// Once a second: what was counted since becomes a rate, threads look at their clients, and the
    /// log at its file.
    fn sample(&mut self, server: &Server) {
        let ms = self.since.ms();
        if ms < 1000 {
            return;
        }
        let now = Rates::new(server);
        // After CONFIG RESETSTAT the counters are below what they were.
        let rate = |new: u64, old: u64| new.saturating_sub(old) * 1000 / ms;
        let sampled = &server.statistics.sampled;
        sampled.ops_per_s.store(rate(now.commands, self.commands), Relaxed);
        sampled.in_per_s.store(rate(now.bytes_in, self.bytes_in), Relaxed);
        sampled.out_per_s.store(rate(now.bytes_out, self.bytes_out), Relaxed);
        let used = server.engine.memory().committed + server.buffers.used();
        sampled.peak_bytes.fetch_max(used, Relaxed);
        // An allocator that is seldom called does not notice that time passes.
        if now.commands.saturating_sub(self.commands) < QUIET_COMMANDS {
            let heap = server.config.heap.usage();
            if heap.resident.saturating_sub(heap.active) > FREE_BYTES_KEPT {
                server.config.heap.give_back();
            }
        }
        *self = now;
        crate::logging::follow();
        if !server.clients.is_empty() {
            server.post_all(|| Mail::Tick);
        }
    }
}
