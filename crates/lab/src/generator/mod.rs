//! The load generator: asks a store as fast as it answers, or at a rate that it does not choose.
//!
//! **Closed loop** (`Pace::Closed`): a connection sends its next requests when the last ones are
//! answered. It saturates the server, and gives CPU time per operation.
//!
//! **Open loop** (`Pace::Open`): request i is due at start + i / rate whatever the server does, and
//! its latency counts from that instant. A server that stops for 200 ms then has 200 ms in its
//! percentiles, where a closed loop would have waited politely and seen one slow request.
//!
//! A run: connect, warm up, measure a window, stop, wait for what is outstanding. Operation counts
//! and CPU times of both sides are sampled at the same two instants.

mod connection;
mod preload;
mod reply;
mod run;
mod target;
mod worker;

pub use preload::preload;
pub use run::run;
pub use target::Target;

use std::time::Duration;

use hdrhistogram::Histogram;

/// When requests are sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// When the previous ones are answered.
    Closed,
    /// This many a second over all connections, due at even intervals.
    Open { rate: f64 },
}

/// How to ask.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    pub target: Target,
    pub connections: usize,
    /// Requests in one send, and at most unanswered on a connection of a closed loop.
    pub pipeline: usize,
    pub threads: usize,
    /// Cores for the threads, in turn; empty leaves them free.
    pub cores: Vec<usize>,
    pub warm_up: Duration,
    pub window: Duration,
    pub pace: Pace,
    /// Parse every reply and compare every byte of every value.
    pub verify: bool,
    /// The process whose CPU time is the server's.
    pub server: Option<u32>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Operations answered in the window.
    pub operations: u64,
    pub seconds: f64,
    /// Nanoseconds from send (closed loop) or due time (open loop) to the reply.
    pub latency: Histogram<u64>,
    /// Open loop: nanoseconds from due time to send. Large values mean that the client was late.
    pub lag: Histogram<u64>,
    pub misses: u64,
    /// Requests of an open loop that were never answered; they are in `latency` at their age.
    pub unanswered: u64,
    pub client_cpu_ns: u64,
    pub server_cpu_ns: Option<u64>,
}

impl LoadReport {
    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds
    }

    /// Server CPU microseconds an operation.
    pub fn server_us(&self) -> Option<f64> {
        let ns = self.server_cpu_ns?;
        Some(ns as f64 / 1e3 / self.operations.max(1) as f64)
    }

    /// Client CPU microseconds an operation.
    pub fn client_us(&self) -> f64 {
        self.client_cpu_ns as f64 / 1e3 / self.operations.max(1) as f64
    }

    /// Cores that the server kept busy.
    pub fn server_busy(&self) -> Option<f64> {
        Some(self.server_cpu_ns? as f64 / 1e9 / self.seconds)
    }

    /// Latency in microseconds that `share` of the operations did not exceed.
    pub fn latency_us(&self, share: f64) -> f64 {
        self.latency.value_at_quantile(share) as f64 / 1e3
    }
}

/// A latency histogram: up to an hour, within one percent.
pub(crate) fn histogram() -> Histogram<u64> {
    let made = Histogram::new_with_bounds(1, crate::limits::LATENCY_MAX_NS, 2);
    made.expect("the bounds are constants that the library accepts")
}
