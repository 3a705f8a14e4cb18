//! A thread's figures, put where attached processes can read them: in its session's slot.

use crate::statistics::ThreadCounters;
use dolium_commands::redis::row::{Row, flag};
use dolium_engine::Session;
use dolium_engine::published::{Latency, ServerCounter};

/// What a thread has published so far, so that it adds what came since.
#[derive(Debug, Default)]
pub struct Published {
    last: [u64; ServerCounter::ALL.len()],
}

impl Published {
    /// Brings the published sums up to date; once a second is enough.
    pub fn update(&mut self, session: &Session, counters: &ThreadCounters) {
        for (last, (_, place)) in self.last.iter_mut().zip(ServerCounter::ALL) {
            let now = match place {
                ServerCounter::Commands => &counters.commands,
                ServerCounter::Connections => &counters.connections,
                ServerCounter::BytesIn => &counters.bytes_in,
                ServerCounter::BytesOut => &counters.bytes_out,
                ServerCounter::Errors => &counters.errors,
            }
            .get();
            // Smaller than before: CONFIG RESETSTAT has set it back. Published sums only grow.
            let more = if now < *last { now } else { now - *last };
            session.count_for_server(place as usize, more);
            *last = now;
        }
    }
}

/// Counts how long a command ran.
#[inline]
pub fn record(session: &Session, row: &Row, ns: u64) {
    let sort = if row.flags & flag::WRITE != 0 {
        Latency::Writes
    } else if row.flags & flag::READONLY != 0 {
        Latency::Reads
    } else {
        Latency::Others
    };
    session.record_latency(sort as usize, ns);
}
