//! What is counted: by each thread for itself, summed when somebody asks.
//!
//! A counter has one writer, its thread, which loads, adds and stores: no locked instruction on
//! the path of a command. Each number is true by itself, so every access is Relaxed.

use dolium_commands::foretold;
use dolium_commands::memcache::Tally;
use dolium_commands::redis::row::{Group, Row, flag};
use dolium_commands::redis::table::ROWS;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Upper bounds of 1, 2, 4 ... microseconds; the last takes the rest (over an hour).
pub const BUCKETS: usize = 33;
/// Different error codes that are counted by name; more than these come from a client's nonsense.
const ERROR_CODES_MAX: usize = 128;

/// A number with one writing thread.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Another thread's reset may lose an addition of the same moment: a statistic, not a ledger.
    fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

#[derive(Debug)]
pub struct RowCounters {
    pub calls: Counter,
    pub ns: Counter,
    pub rejected: Counter,
    pub failed: Counter,
    histogram: [Counter; BUCKETS],
}

impl RowCounters {
    fn new() -> Self {
        RowCounters {
            calls: Counter::default(),
            ns: Counter::default(),
            rejected: Counter::default(),
            failed: Counter::default(),
            histogram: std::array::from_fn(|_| Counter::default()),
        }
    }

    /// `weight` calls took `ns` each.
    #[inline]
    pub fn time(&self, ns: u64, weight: u64) {
        self.ns.add(ns * weight);
        let us = ns.div_ceil(1000).max(1);
        let bucket = (64 - (us - 1).leading_zeros()) as usize;
        self.histogram[bucket.min(BUCKETS - 1)].add(weight);
    }
}

/// The counters of one thread.
#[derive(Debug)]
pub struct ThreadCounters {
    pub commands: Counter,
    pub connections: Counter,
    pub rejected_connections: Counter,
    pub bytes_in: Counter,
    pub bytes_out: Counter,
    /// How often something came, and something was sent.
    pub receives: Counter,
    pub sends: Counter,
    pub errors: Counter,
    /// How often a connection became one that is received from without being asked after.
    pub found_busy: Counter,
    /// Memcached's own counts.
    pub tally: Tally,
    pub rows: Box<[RowCounters]>,
}

impl Default for ThreadCounters {
    fn default() -> Self {
        ThreadCounters {
            commands: Counter::default(),
            connections: Counter::default(),
            rejected_connections: Counter::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
            receives: Counter::default(),
            sends: Counter::default(),
            errors: Counter::default(),
            found_busy: Counter::default(),
            tally: Tally::default(),
            rows: ROWS.iter().map(|_| RowCounters::new()).collect(),
        }
    }
}

/// One command over all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowTotals {
    pub calls: u64,
    pub us: u64,
    pub rejected: u64,
    pub failed: u64,
}

#[derive(Debug, Default)]
pub struct Statistics {
    pub threads: Vec<Arc<ThreadCounters>>,
    /// Error replies by their code (`WRONGTYPE`).
    errors: Mutex<BTreeMap<String, u64>>,
    pub sampled: Sampled,
    pub output_limit_disconnections: AtomicU64,
    pub query_limit_disconnections: AtomicU64,
}

/// Rates of the last second, made by housekeeping.
#[derive(Debug, Default)]
pub struct Sampled {
    pub ops_per_s: AtomicU64,
    pub in_per_s: AtomicU64,
    pub out_per_s: AtomicU64,
    pub peak_bytes: AtomicU64,
}

impl Statistics {
    pub fn new(threads: usize) -> Self {
        let threads = (0..threads).map(|_| Arc::default()).collect();
        Statistics { threads, ..Statistics::default() }
    }

    pub fn sum(&self, of: impl Fn(&ThreadCounters) -> &Counter) -> u64 {
        self.threads.iter().map(|t| of(t).get()).sum()
    }

    pub fn row(&self, row: &Row) -> RowTotals {
        let mut totals = RowTotals::default();
        let mut ns = 0;
        for counters in self.threads.iter().map(|t| &t.rows[usize::from(row.id)]) {
            totals.calls += counters.calls.get();
            ns += counters.ns.get();
            totals.rejected += counters.rejected.get();
            totals.failed += counters.failed.get();
        }
        // Of requests that were refused a share of their batch's time may have been sampled.
        totals.us = if totals.calls == 0 { 0 } else { ns / 1000 };
        totals
    }

    /// Calls of a command by duration: how many in each bucket, scaled up from what was timed.
    pub fn histogram(&self, row: &Row) -> [u64; BUCKETS] {
        let rows = || self.threads.iter().map(|t| &t.rows[usize::from(row.id)]);
        std::array::from_fn(|i| rows().map(|r| r.histogram[i].get()).sum())
    }

    /// Counts an error reply, such as `-ERR no such key\r\n`.
    #[cold]
    pub fn note_error(&self, thread: usize, row: Option<&Row>, reply: &[u8], ran: bool) {
        let counters = &self.threads[thread];
        counters.errors.add(1);
        if let Some(row) = row {
            let counters = &counters.rows[usize::from(row.id)];
            if ran { counters.failed.add(1) } else { counters.rejected.add(1) }
        }
        let code = reply[1..].split(|b| matches!(b, b' ' | b'\r' | b'\n')).next().unwrap_or(b"");
        let code = String::from_utf8_lossy(code).into_owned();
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() < ERROR_CODES_MAX || errors.contains_key(&code) {
            *errors.entry(code).or_default() += 1;
        }
    }

    pub fn errors(&self) -> BTreeMap<String, u64> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// CONFIG RESETSTAT.
    pub fn reset(&self) {
        for t in &self.threads {
            for counter in [
                &t.commands,
                &t.connections,
                &t.rejected_connections,
                &t.bytes_in,
                &t.bytes_out,
                &t.receives,
                &t.sends,
                &t.errors,
                &t.found_busy,
            ] {
                counter.reset();
            }
            t.tally.reset();
            for row in &t.rows {
                for counter in [&row.calls, &row.ns, &row.rejected, &row.failed] {
                    counter.reset();
                }
                row.histogram.iter().for_each(Counter::reset);
            }
        }
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// What the loop must know of a command before and after it runs, as bits.
pub mod row_trait {
    /// Its work is not bounded: each call is timed by itself. What others take is sampled by the
    /// batch.
    pub const TIMED: u8 = 1;
    /// It may change keys. EXEC and the like, which are neither reads nor writes, too.
    pub const MAY_WRITE: u8 = 1 << 1;
    /// It may change what CLIENT LIST shows.
    pub const DESCRIBES: u8 = 1 << 2;
    /// It may end subscriptions, or change the form in which their messages come.
    pub const PARTS: u8 = 1 << 3;
    /// It may answer with values of its keys, whose lengths tell of its reply before it runs.
    pub const FORETELLS: u8 = 1 << 4;
    /// And changes something by that: two of them on two threads are not both to find that they are alone.
    pub const HANDS_OVER: u8 = 1 << 5;
    /// It may change what CLIENT LIST shows of a transaction, and nothing else of that.
    pub const TRANSACTS: u8 = 1 << 6;
}

/// The commands with the trait `PARTS`.
const PARTING: [&str; 6] = ["unsubscribe", "punsubscribe", "reset", "quit", "hello", "exec"];

/// The commands with the trait `HANDS_OVER`. SET is not one: it seldom answers with anything.
const HANDING_OVER: [&str; 4] = ["exec", "getdel", "getex", "getset"];

/// It may change keys, or is of those that are neither reads nor writes.
pub fn may_write(row: &Row) -> bool {
    row.has(flag::WRITE) || !row.has(flag::READONLY)
}

/// The traits of every row, by its id.
pub fn row_traits() -> Vec<u8> {
    use row_trait::*;
    let traits = |row: &Row| {
        // What a command about connections tells includes the call itself.
        let is_bounded = row.complexity == "O(1)" && row.group != Group::Connection;
        let is_timed = row.flags & flag::FAST == 0 && !is_bounded;
        // What EXEC runs may be about the connection.
        let describes =
            matches!(row.group, Group::Connection | Group::PubSub) || row.name == "exec";
        let transacts = row.group == Group::Transactions && !describes;
        let parts = PARTING.contains(&row.name);
        let foretells = row.name == "exec" || foretold::answers_with_values(row);
        let hands_over = HANDING_OVER.contains(&row.name);
        let writes = may_write(row);
        [(is_timed, TIMED), (writes, MAY_WRITE), (describes, DESCRIBES), (parts, PARTS)]
            .iter()
            .chain(&[(foretells, FORETELLS), (hands_over, HANDS_OVER), (transacts, TRANSACTS)])
            .filter(|(is_so, _)| *is_so)
            .fold(0, |traits, (_, bit)| traits | bit)
    };
    ROWS.iter().map(traits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_that_have_traits_by_their_names_are_there() {
        for name in PARTING.iter().chain(&HANDING_OVER) {
            assert!(ROWS.iter().any(|row| row.name == *name), "{name}");
        }
    }

    #[test]
    fn durations_fall_into_the_bucket_that_bounds_them() {
        let row = RowCounters::new();
        for ns in [1, 1000, 1001, 2000, 2001, 4000, u64::MAX >> 1] {
            row.time(ns, 1);
        }
        let filled: Vec<u64> = row.histogram.iter().map(Counter::get).collect();
        assert_eq!(filled[..4], [2, 2, 2, 0]);
        assert_eq!(filled[BUCKETS - 1], 1);
    }
}
