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

mod arrival;
mod closed;
mod connection;
mod disagreement;
mod fresh;
mod idle;
mod link;
mod open;
mod poller;
mod preload;
mod reply;
mod ring;
mod run;
mod schedule;
mod series;
mod session;
mod stream;
mod target;
mod tls;
mod turns;
mod worker;

pub use preload::{preload, preload_records};
pub use run::run;
pub use series::{Counts, Interval};
pub use session::{Session, check};
pub use target::Target;
pub use tls::{Tls, TlsOptions};
pub use turns::{Side, take_turns};

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::io::Errno;

use crate::LabError;
use crate::limits::TURN;
use crate::workload::{Operation, Protocol};

/// When requests are sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// When the previous ones are answered.
    Closed,
    /// This many a second over all connections, due at even intervals.
    Open { rate: f64 },
    /// A rate that grows (or falls) evenly from the first request to the last.
    Ramp { from: f64, to: f64 },
}

/// What the thread of an open loop does besides, while none of its requests is due.
pub trait Between: Debug + Send {
    /// One small thing, or nothing. It must not wait: a request that falls due meanwhile is late.
    fn act(&mut self);
}

/// How to ask.
#[derive(Clone, Debug)]
pub struct LoadSpec {
    pub target: Target,
    /// Further processes of the same store; connections are dealt out to all in turn.
    pub more: Vec<Target>,
    pub connections: usize,
    /// Requests in one send, and at most unanswered on a connection of a closed loop.
    pub pipeline: usize,
    pub threads: usize,
    /// Cores for the threads, in turn; empty leaves them free.
    pub cores: Vec<usize>,
    pub warm_up: Duration,
    pub window: Duration,
    /// How long each turn is where several stores take turns, unless answers take longer.
    pub turn: Duration,
    pub pace: Pace,
    /// Parse every reply and compare every byte of every value.
    pub verify: bool,
    /// The processes whose CPU time is the server's.
    pub servers: Vec<u32>,
    /// Keep operations and latencies in intervals of this width, the warm-up included.
    pub interval: Option<Duration>,
    /// Store so many keys, each once, in place of asking for what the pool holds; the run ends
    /// when all are stored. The pool may then hold few requests.
    pub fill: Option<u32>,
    /// Threads of a closed loop look for replies without a pause in place of sleeping: a server is then
    /// not charged for waking them. Only for threads that have their cores to themselves.
    pub spins: bool,
    /// Done by one thread of an open loop.
    pub between: Option<Arc<Mutex<dyn Between>>>,
}

impl LoadSpec {
    /// One unpipelined connection, closed loop, one second.
    pub fn plain(target: Target) -> Self {
        Self {
            target,
            more: Vec::new(),
            connections: 1,
            pipeline: 1,
            threads: 1,
            cores: Vec::new(),
            warm_up: Duration::ZERO,
            window: Duration::from_secs(1),
            turn: TURN,
            pace: Pace::Closed,
            verify: false,
            servers: Vec::new(),
            interval: None,
            fill: None,
            spins: false,
            between: None,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Operations answered in the window.
    pub operations: u64,
    pub seconds: f64,
    /// Nanoseconds from send (closed loop) or due time (open loop) to the reply's coming in.
    pub latency: Histogram<u64>,
    /// Open loop: nanoseconds from the send. What the client was late is in `latency` only.
    pub served: Histogram<u64>,
    /// Open loop: nanoseconds from due time to send. Large values mean that the client was late.
    pub lag: Histogram<u64>,
    /// Latencies by kind of operation, where a mix has several and is not pipelined.
    pub kinds: Vec<(Operation, Histogram<u64>)>,
    /// Of these, what was read, and what of it found no value.
    pub reads: u64,
    pub misses: u64,
    /// Requests that were never answered; those that are timed are in `latency` at their age.
    pub unanswered: u64,
    /// Without what the threads of a closed loop spent looking for replies in vain.
    pub client_cpu_ns: u64,
    pub server_cpu_ns: Option<u64>,
    /// From rest to rest, warm-up and last replies included: the kernel's account of a process
    /// that sleeps is exact, of one that runs it is as old as the last tick.
    pub all_operations: u64,
    pub all_server_ns: Option<u64>,
    /// What happened when, if it was asked for.
    pub series: Vec<Interval>,
    /// When the first request was due, and the instants between which everything was counted.
    pub begun: Instant,
    pub window: (Instant, Instant),
    /// Whether all threads asked by io_uring; else by a call for each send and each receive.
    pub by_ring: bool,
}

impl LoadReport {
    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds
    }

    /// Reads that found no value, in percent; not a number where nothing was read.
    pub fn misses_percent(&self) -> f64 {
        100.0 * self.misses as f64 / self.reads as f64
    }

    /// Server CPU microseconds an operation.
    pub fn server_us(&self) -> Option<f64> {
        let ns = self.server_cpu_ns?;
        Some(ns as f64 / 1e3 / self.operations.max(1) as f64)
    }

    /// Server CPU microseconds an operation, from rest to rest.
    pub fn all_server_us(&self) -> Option<f64> {
        Some(self.all_server_ns? as f64 / 1e3 / self.all_operations.max(1) as f64)
    }

    /// Adds what a further window showed. Its series and its instants are its own.
    pub fn absorb(&mut self, other: &Self) {
        self.operations += other.operations;
        self.seconds += other.seconds;
        self.reads += other.reads;
        self.misses += other.misses;
        self.unanswered += other.unanswered;
        self.client_cpu_ns += other.client_cpu_ns;
        self.all_operations += other.all_operations;
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
        self.server_cpu_ns = sum(self.server_cpu_ns, other.server_cpu_ns);
        self.all_server_ns = sum(self.all_server_ns, other.all_server_ns);
        // All histograms are made with the same bounds, so adding them cannot fail.
        let _ = self.latency.add(&other.latency);
        let _ = self.served.add(&other.served);
        let _ = self.lag.add(&other.lag);
        for ((_, all), (_, more)) in self.kinds.iter_mut().zip(&other.kinds) {
            let _ = all.add(more);
        }
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

/// Says on a new, still blocking connection what the protocol needs said first.
fn greet(link: &mut link::Link, protocol: Protocol) -> Result<(), LabError> {
    if protocol != Protocol::Resp3 {
        return Ok(());
    }
    const DOING: &str = "greet the store in RESP3";
    const HELLO: &[u8] = b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
    link.send(HELLO).map_err(|error| link.failed(DOING, error))?;
    let mut stream = stream::Stream::new(protocol);
    let (mut held, mut chunk, mut at) = (Vec::new(), [0; 4096], 0);
    loop {
        let got = match link.receive(&mut chunk[..], None) {
            Ok(got) if got.count == 0 => return Err(link.closed()),
            Ok(got) => got.count,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(error) => return Err(link.failed(DOING, error)),
        };
        held.extend_from_slice(&chunk[..got]);
        while at < held.len() {
            let Some(step) = stream.step(&held[at..])? else { break };
            at += step.len;
            if step.done.is_some() && held.len() >= at {
                return Ok(());
            }
        }
    }
}

/// A latency histogram: up to an hour, within one percent.
pub(crate) fn histogram() -> Histogram<u64> {
    let made = Histogram::new_with_bounds(1, crate::limits::LATENCY_MAX_NS, 2);
    made.expect("the bounds are constants that the library accepts")
}
