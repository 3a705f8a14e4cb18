//! The connections of a run: what may be asked over them, to whom each goes, and of which the latencies
//! are kept.

use super::connection::Connection;
use super::fresh::Fresh;
use super::run::measure;
use super::{LoadReport, LoadSpec, Pace, Target, arrival};
use crate::LabError;
use crate::limits::{RUN_LONGEST, TIMED_LEAST, TIMED_STEP};
use crate::workload::{Mix, RequestPool};

/// Connections that stay open from one run to the next, dealt out to threads.
pub struct Session {
    shares: Vec<Vec<Connection>>,
}

impl Session {
    /// Connects as `spec` says.
    pub fn open(spec: &LoadSpec, pool: &RequestPool) -> Result<Self, LabError> {
        Self::timed_by(spec, pool, timed_step(spec, pool))
    }

    /// The same; of so many connections as `step` the latencies of one are kept.
    pub(super) fn timed_by(
        spec: &LoadSpec,
        pool: &RequestPool,
        step: usize,
    ) -> Result<Self, LabError> {
        check(spec, pool)?;
        let protocol = pool.workload.protocol;
        let threads = spec.threads.min(spec.connections);
        let mut shares: Vec<Vec<Connection>> = (0..threads).map(|_| Vec::new()).collect();
        let targets = 1 + spec.more.len();
        for number in 0..spec.connections {
            let target = match number % targets {
                0 => &spec.target,
                other => &spec.more[other - 1],
            };
            let link = target.link(protocol)?;
            link.set_nonblocking()?;
            let walk = pool.walk(number, spec.connections, spec.pipeline);
            let timed = number % step == 0;
            if timed {
                arrival::note(link.socket());
            }
            let mut connection = Connection::new(link, walk, spec.pipeline, protocol);
            connection.timed = timed;
            if let Some(keys) = spec.fill {
                if number >= keys as usize {
                    continue;
                }
                connection.fresh = Some(Fresh::new(number as u32, spec.connections as u32, keys));
            }
            // Each thread has connections to all processes: it may share a core with one of them.
            shares[number / targets % threads].push(connection);
        }
        Ok(Self { shares })
    }

    /// Whether every request has its reply, so that it can run again.
    pub fn at_rest(&self) -> bool {
        self.shares.iter().flatten().all(|connection| connection.unanswered().next().is_none())
    }

    /// Asks for a window. `spec` and `pool` are those that it was opened with, but for the times.
    pub fn run(&mut self, spec: &LoadSpec, pool: &RequestPool) -> Result<LoadReport, LabError> {
        check(spec, pool)?;
        measure(&mut self.shares, spec, pool)
    }
}

/// Of so many connections the latencies of one are kept. In a closed loop all are in the same
/// state, and a note of the kernel for each reply costs the client a tenth of its time.
pub(super) fn timed_step(spec: &LoadSpec, pool: &RequestPool) -> usize {
    let alike = spec.pace == Pace::Closed
        && spec.interval.is_none()
        && spec.fill.is_none()
        && !matches!(spec.target, Target::Unix(_))
        && matches!(pool.workload.mix, Mix::Get | Mix::Set);
    if alike { step_among(spec.connections, 1 + spec.more.len()) } else { 1 }
}

/// The step at which every one of so many servers has timed connections, which are dealt out in turn:
/// as it is a prime, its multiples come by all servers, unless there are too few of them or it divides
/// the number of servers.
fn step_among(connections: usize, servers: usize) -> usize {
    let enough = connections >= TIMED_STEP * TIMED_LEAST;
    let on_all = !servers.is_multiple_of(TIMED_STEP) && servers <= connections.div_ceil(TIMED_STEP);
    if enough && on_all { TIMED_STEP } else { 1 }
}

/// Refuses what cannot be asked: also for who must know before a store is filled.
pub fn check(spec: &LoadSpec, pool: &RequestPool) -> Result<(), LabError> {
    if spec.connections == 0 || spec.threads == 0 || spec.pipeline == 0 {
        return Err(LabError::Options("connections, threads and pipeline are at least 1".into()));
    }
    if pool.slices(spec.pipeline) == 0 {
        return Err(LabError::Options("the pipeline is deeper than the pool of requests".into()));
    }
    let good = |rate: f64| rate.is_finite() && rate > 0.0;
    let paced = match spec.pace {
        Pace::Closed => true,
        Pace::Open { rate } => good(rate),
        Pace::Ramp { from, to } => good(from) && good(to),
    };
    if !paced {
        return Err(LabError::Options("a rate is a number above zero".into()));
    }
    if spec.window.is_zero() || spec.warm_up.saturating_add(spec.window) > RUN_LONGEST {
        let days = RUN_LONGEST.as_secs() / 86_400;
        return Err(LabError::Options(format!(
            "what is measured takes more than no time and less than {days} days"
        )));
    }
    if spec.between.is_some() && spec.pace == Pace::Closed {
        return Err(LabError::Options("a closed loop has no time between its requests".into()));
    }
    if spec.fill.is_some() && spec.pace != Pace::Closed {
        return Err(LabError::Options("keys are filled in by a closed loop".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some servers of `lab threads` and of experiments over nodes were asked with every latency kept
    /// and the others with one of eleven: the client's own time was part of what was compared.
    #[test]
    fn one_of_eleven_is_timed_where_every_server_has_timed_connections() {
        assert_eq!(step_among(50, 1), TIMED_STEP);
        assert_eq!(step_among(50, 2), TIMED_STEP);
        assert_eq!(step_among(20, 1), 1);
        for servers in 1..40 {
            for connections in [1, 43, 44, 50, 100, 121, 500] {
                let step = step_among(connections, servers);
                let of_server = |server| (server..connections).step_by(servers);
                let timed = |server: usize| of_server(server).any(|number| number % step == 0);
                let all = (0..servers.min(connections)).all(timed);
                assert!(all, "{connections} connections to {servers} servers by {step}");
            }
        }
    }
}
