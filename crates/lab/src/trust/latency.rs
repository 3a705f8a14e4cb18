//! Whether the generator's percentiles are those of the packets, on servers that are loaded: all
//! requests of a run, by the generator's clock and by the times of the packets on the interface.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::capture::Capture;
use super::{CONNECTIONS, KEY_BYTES, VALUE_BYTES, start, workload};
use crate::LabError;
use crate::generator::{self, LoadSpec, Pace, Target};
use crate::stores::{Store, Surroundings};
use crate::workload::wire::{self, Asking};
use crate::workload::{Operation, Protocol, RequestPool, expected};

/// Share by which a percentile may differ.
const BOUND: f64 = 0.05;
/// Open loop: the rate as a share of what a closed loop showed.
const LOADED: f64 = 0.7;

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub store: Store,
    pub how: String,
    pub requests: usize,
    /// Microseconds: ours, the packets'.
    pub p50: (f64, f64),
    pub p99: (f64, f64),
    /// Open loop: by how much the generator sent late, 99th percentile.
    pub late_p99: f64,
}

/// The outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub lines: Vec<Line>,
}

/// Loads each store in several ways for `seconds` while tcpdump looks.
pub fn run(
    around: &Surroundings,
    stores: &[Store],
    seconds: f64,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, LabError> {
    let mut lines = Vec::new();
    for &store in stores {
        let server = start(store, around, &[])?;
        let Target::Tcp(address) = server.target else {
            return Err(LabError::Options("packets are looked at over TCP".into()));
        };
        let protocol = store.protocol();
        if !store.is_null() {
            generator::preload(&server.target, &workload(protocol, Operation::Set), |_| {})?;
        }
        let pool = RequestPool::build(&workload(protocol, Operation::Get))?;
        let (request, reply) = sizes(protocol);
        let mut closed = 0.0;
        for (name, pipeline, open) in [
            ("closed, pipeline 1", 1, false),
            ("closed, pipeline 50", 50, false),
            ("open", 1, true),
        ] {
            if crate::interrupt::asked() {
                return Err(LabError::Interrupted);
            }
            let how = if open { format!("open, {:.0}/s", closed * LOADED) } else { name.into() };
            say(&format!("{} {how}", store.name()));
            let spec = LoadSpec {
                connections: CONNECTIONS,
                pipeline,
                cores: around.client_cores(),
                window: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
                pace: if open { Pace::Open { rate: closed * LOADED } } else { Pace::Closed },
                servers: server.pid().into_iter().collect(),
                ..LoadSpec::plain(server.target.clone())
            };
            let capture = Capture::start(address, around.directory())?;
            let report = generator::run(&spec, &pool)?;
            let packets = capture.finish(request, reply, pipeline)?;
            if pipeline == 1 && !open {
                closed = report.rate();
            }
            let theirs = |share: f64| {
                packets[((packets.len() - 1) as f64 * share).round() as usize] as f64 / 1e3
            };
            // Packets do not know when a request was due: in an open loop the part from the send is
            // theirs too, and what the generator was late is shown beside it.
            let seen = if open { &report.served } else { &report.latency };
            let ours = |share: f64| seen.value_at_quantile(share) as f64 / 1e3;
            lines.push(Line {
                store,
                how,
                requests: packets.len() * pipeline,
                p50: (ours(0.50), theirs(0.50)),
                p99: (ours(0.99), theirs(0.99)),
                late_p99: if open { report.lag.value_at_quantile(0.99) as f64 / 1e3 } else { 0.0 },
            });
        }
    }
    Ok(Outcome { lines })
}

/// Bytes of a request and of its reply.
fn sizes(protocol: Protocol) -> (usize, usize) {
    let asking = Asking { protocol, id: 0, key_bytes: KEY_BYTES, value_bytes: VALUE_BYTES, ttl: 0 };
    let mut request = Vec::new();
    wire::push_request(&mut request, Operation::Get, asking);
    (request.len(), expected::good_reply(Operation::Get, asking).len())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Latency by the generator and by the packets on the interface, us:")?;
        writeln!(
            f,
            "{:<11} {:<20} {:>9} {:>17} {:>17}  within {:.0} %",
            "store",
            "load",
            "requests",
            "p50 ours/packets",
            "p99 ours/packets",
            BOUND * 100.0
        )?;
        for line in &self.lines {
            let pair = |(ours, theirs): (f64, f64)| format!("{ours:.0}/{theirs:.0}");
            let off = |(ours, theirs): (f64, f64)| ours / theirs - 1.0;
            let kept = [line.p50, line.p99].iter().all(|&pair| off(pair).abs() <= BOUND);
            writeln!(
                f,
                "{:<11} {:<20} {:>9} {:>17} {:>17}  {:+.1} %, {:+.1} %{}",
                line.store.name(),
                line.how,
                line.requests,
                pair(line.p50),
                pair(line.p99),
                100.0 * off(line.p50),
                100.0 * off(line.p99),
                if kept { "" } else { ": not kept" }
            )?;
            if line.late_p99 > 0.0 {
                let late = line.late_p99;
                writeln!(f, "{:<11} sent late by {late:.0} us at p99, which is not in it", "")?;
            }
        }
        Ok(())
    }
}
