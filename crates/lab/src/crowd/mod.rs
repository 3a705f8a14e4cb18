//! Clients that are hard on a Memcached server: many, slow, unfinished, reset, or a flood of
//! datagrams. What they do to the latency of others is measured in [`measure`].
//!
//! ```text
//!   idle        10,000 connections that say nothing
//!   active      1,000 connections that ask in turn, at most 10,000 times a second
//!   slow        100 connections that ask for 4 MB each and read at most 10 kB of it a second
//!   half-open   1,000 connections that have sent a part of a request, half of them of a large value
//!   resets      at most 1,000 connections a second that ask and are reset
//!   datagrams   at most 20,000 requests a second by UDP, whose replies nobody reads
//! ```
//! Each kind is spread evenly over time. Who measures does what they do in the time between two of
//! its own requests: threads beside it would take its core from it for milliseconds, and what it
//! then told would be the scheduler's doing and not the server's. What could not be done in time is
//! left out; what was done is counted. A test that measures no time has [`alone`] do it.

mod act;
pub mod alone;
pub mod measure;
mod server;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::LabError;
use act::{Act, Outcome};

pub const IDLE: usize = 10_000;
pub const ACTIVE: usize = 1_000;
pub const SLOW: usize = 100;
pub const HALF_OPEN: usize = 1_000;
const ASK_EVERY: Duration = Duration::from_micros(100);
/// What one slow reader reads each time its turn has come, once in [`SLOW`] times this.
const READ_EVERY: Duration = Duration::from_millis(1);
const RESET_EVERY: Duration = Duration::from_millis(1);
const DATAGRAM_EVERY: Duration = Duration::from_micros(50);
/// Descriptors that this process takes beside the crowd's.
const DESCRIPTORS_BESIDES: u64 = 2048;

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Idle,
    Active,
    Slow,
    HalfOpen,
    Resets,
    Datagrams,
}

pub const KINDS: [Kind; 6] =
    [Kind::Idle, Kind::Active, Kind::Slow, Kind::HalfOpen, Kind::Resets, Kind::Datagrams];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Active => "active",
            Self::Slow => "slow",
            Self::HalfOpen => "half-open",
            Self::Resets => "resets",
            Self::Datagrams => "datagrams",
        }
    }
}

/// Lets this process, and servers that it starts, have as many connections as a crowd takes.
pub fn raise_descriptors() -> Result<(), LabError> {
    let wanted = (IDLE + ACTIVE + SLOW + HALF_OPEN) as u64 + DESCRIPTORS_BESIDES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|now| now >= wanted) {
        return Ok(());
    }
    let maximum = limit.maximum.map(|most| most.max(wanted));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
        .map_err(|error| LabError::system("allow as many descriptors as a crowd takes", error))
}

/// One kind of client: connections that stay until it is dropped, and what they do.
#[derive(Debug)]
pub struct Crowd {
    act: Act,
    every: Option<Duration>,
    due: Instant,
    /// Requests, connections or datagrams so far.
    acts: u64,
}

impl Crowd {
    /// Gathers the connections.
    pub fn gather(
        kind: Kind,
        address: SocketAddr,
        datagrams: SocketAddr,
    ) -> Result<Crowd, LabError> {
        let act = Act::gather(kind, address, datagrams).map_err(|error| {
            LabError::system(format!("gather the {} crowd", kind.name()), error)
        })?;
        let every = match kind {
            Kind::Idle | Kind::HalfOpen => None,
            Kind::Active => Some(ASK_EVERY),
            Kind::Slow => Some(READ_EVERY),
            Kind::Resets => Some(RESET_EVERY),
            Kind::Datagrams => Some(DATAGRAM_EVERY),
        };
        Ok(Crowd { act, every, due: Instant::now(), acts: 0 })
    }

    pub fn acts(&self) -> u64 {
        self.acts
    }

    /// When there is something to be done; `None` for those who only stand there.
    pub fn due(&self) -> Option<Instant> {
        self.every.map(|_| self.due)
    }

    /// Does one thing, if its time has come. False: it has not.
    pub fn act(&mut self, now: Instant) -> bool {
        let Some(every) = self.every.filter(|_| self.due <= now) else { return false };
        match self.act.once() {
            Outcome::Begun => return true,
            Outcome::Done => self.acts += 1,
            Outcome::Failed => {}
        }
        // What is late is not made up for: that would come in bursts.
        self.due = (self.due + every).max(now);
        true
    }
}
