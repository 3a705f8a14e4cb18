//! Which batches are timed, and whose the time is.
//!
//! ```text
//!   a few requests    the first of a millisecond, and commands that have no time yet     count once
//!   any others        one batch in eight                                                 counts for eight
//! ```
//! Reading the clock four times around a single GET costs as much as a good part of it, so of requests
//! that come thick and fast only some are timed. Who asks one thing now and then sees how long it took.

use super::Reactor;
use super::batch::{Batch, Entry, What};
use super::request::Request;
use crate::attach::publish;
use crate::limits::*;
use crate::statistics::row_trait;
use dolium_commands::redis::row::Row;
use dolium_commands::rows::InRows;
use std::sync::atomic::Ordering::Relaxed;

/// The command of an entry whose time is sampled, and how many requests of it there are.
#[inline(always)]
fn sampled(entry: &Entry) -> Option<(&'static Row, u64)> {
    match &entry.what {
        What::Run { request: Request::Redis(prepared), .. }
            if entry.end - entry.start <= TIMED_ARGUMENT_BYTES =>
        {
            prepared.row().map(|row| (row, 1))
        }
        What::Gets { count, .. } => Some((InRows::Get.row(), *count as u64)),
        What::Sets { count, .. } => Some((InRows::Set.row(), *count as u64)),
        What::Run { .. } | What::End => None,
    }
}

impl Reactor {
    /// Whether the batch is to be timed, and for how many such its time counts.
    #[inline(always)]
    pub(super) fn sample(&mut self, batch: &Batch) -> Option<u64> {
        let is_small = batch.used <= SAMPLE_SURELY_UP_TO;
        if is_small && self.now != self.sampled_at {
            self.sampled_at = self.now;
            return Some(1);
        }
        self.batches += 1;
        if self.batches.is_multiple_of(SAMPLE_BATCHES) {
            return Some(SAMPLE_BATCHES);
        }
        (is_small && self.has_untimed(&batch.entries)).then_some(1)
    }

    /// A command among them has been asked for, and no time of it is known.
    #[inline(always)]
    fn has_untimed(&self, entries: &[Entry]) -> bool {
        let is_untimed = |row: &Row| self.counters.rows[usize::from(row.id)].ns.get() == 0;
        entries.iter().any(|entry| sampled(entry).is_some_and(|(row, _)| is_untimed(row)))
    }

    /// Shares the time of a batch among the commands in it that were not timed by themselves.
    #[cold]
    pub(super) fn share_time(&self, entries: &[Entry], ns: u64, weight: u64) {
        let rows = &self.counters.rows;
        let mut is_published = false;
        for entry in entries {
            if let Some((row, count)) = sampled(entry)
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
