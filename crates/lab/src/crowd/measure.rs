//! What a crowd does to others: their latency in an open loop at a moderate rate beside each kind of
//! crowd and all kinds at once, for two servers that take turns.
//!
//! ```text
//!   round 1   idle:    dolium quiet, arriving, standing, memcached quiet, arriving, standing
//!             active:  dolium quiet, arriving, ...
//!             ...
//!   round 2   with the servers in the other order, started anew
//! ```
//! A crowd is measured when it has just come, while ten thousand connections are accepted and a
//! hundred sockets are filled, and again when it stands there. It has a quiet window of its own
//! just before it: a machine's 99th percentile wanders by more from minute to minute than a crowd
//! changes it. A shared machine stands still for milliseconds several times a second, by chance in
//! one window and not in the next, and that alone makes the 99th percentile of a window. So it is
//! also taken of each tenth of a second, of which most are spared, and the middle one of those is
//! compared.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

pub use super::server::{Contender, may_come_first};
use super::server::{Server, resident_mib, start};
use super::{Crowd, KINDS, Kind};
use crate::LabError;
use crate::generator::{self, Between, LoadSpec, Pace, Target};
use crate::statistics::median;
use crate::workload::{Distribution, Protocol, RequestPool, Workload};

/// Requests of the well-behaved a second, over so many connections.
pub const RATE: f64 = 20_000.0;
pub const CONNECTIONS: usize = 50;
const KEYS: u32 = 100_000;
const KEY_BYTES: &str = "16";
const VALUE_BYTES: &str = "100";
const MIX: &str = "mixed:90";
/// Of 2,000 requests each.
const SLICE: Duration = Duration::from_millis(100);
const WARM_UP: Duration = Duration::from_millis(500);
/// From the end of the window in which a crowd has just come to the one in which it stands there.
const STAND: Duration = Duration::from_millis(1500);
/// After a crowd has gone, until the server has closed its connections.
const SETTLE: Duration = Duration::from_millis(500);

/// What there is of the crowd.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// None: the window before it.
    Quiet,
    /// It has come half a second ago.
    Arriving,
    Standing,
}

/// One window.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    pub store: String,
    pub round: usize,
    /// The name of a kind, or "all".
    pub beside: String,
    pub phase: Phase,
    /// From the instant at which a request was due.
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    /// The median of the 99th percentiles of the window's tenths of a second.
    pub slice_p99_us: f64,
    /// Those of all tenths, in order: whether a bad window is one bad moment.
    pub slices_p99_us: Vec<f64>,
    /// From the instant at which it was sent.
    pub served_p99_us: f64,
    /// How late the generator itself was.
    pub late_p99_us: f64,
    pub server_busy: f64,
    pub resident_mib: f64,
    pub unanswered: u64,
    /// What the crowd did meanwhile, a second.
    pub acts: f64,
}

/// What a window is measured beside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    One(Kind),
    /// All kinds at once.
    All,
}

impl Beside {
    pub fn every() -> Vec<Beside> {
        KINDS.into_iter().map(Self::One).chain([Self::All]).collect()
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::One(kind) => kind.name(),
            Self::All => "all",
        }
    }

    fn kinds(&self) -> &[Kind] {
        match self {
            Self::One(kind) => std::slice::from_ref(kind),
            Self::All => &KINDS,
        }
    }
}

pub struct Plan {
    pub contenders: Vec<Contender>,
    /// Kinds beside which is measured; all of them, and all at once, if it is empty.
    pub beside: Vec<Beside>,
    pub rounds: usize,
    pub window: Duration,
    pub server_core: usize,
    /// The servers run before all other programs of that core.
    pub comes_first: bool,
    pub client_cores: Vec<usize>,
}

/// Rounds in which the servers take turns in each setting. `windows` gets each as it has been
/// measured: those of a run that is cut off are not lost.
pub fn run(
    plan: &Plan,
    windows: &mut Vec<Window>,
    tell: &mut dyn FnMut(&Window),
) -> Result<(), LabError> {
    super::raise_descriptors()?;
    let workload = Workload {
        protocol: Protocol::Memcached,
        mix: MIX.parse()?,
        keys: KEYS,
        key_bytes: KEY_BYTES.parse()?,
        value_bytes: VALUE_BYTES.parse()?,
        ttl: 0,
        distribution: Distribution::Uniform,
        seed: 1,
    };
    let pool = RequestPool::build(&workload)?;
    let settings = match plan.beside.as_slice() {
        [] => Beside::every(),
        some => some.to_vec(),
    };
    for round in 0..plan.rounds {
        let mut servers = Vec::new();
        for contender in &plan.contenders {
            let server = start(contender, plan.server_core, plan.comes_first)?;
            generator::preload(&Target::Tcp(server.address), &workload, |_| {})?;
            servers.push(server);
        }
        for beside in &settings {
            for turn in 0..servers.len() {
                // Who comes first changes from round to round.
                let which = (turn + round) % servers.len();
                let (server, name) = (&servers[which], &plan.contenders[which].name);
                let mut keep = |phase, mut window: Window| {
                    (window.store, window.round) = (name.clone(), round);
                    (window.beside, window.phase) = (beside.name().to_string(), phase);
                    tell(&window);
                    windows.push(window);
                };
                keep(Phase::Quiet, one(plan, server, &pool, Arc::default())?);
                let crowds = Crowds::gather(server, beside.kinds())?;
                keep(Phase::Arriving, one(plan, server, &pool, crowds.clone())?);
                std::thread::sleep(STAND);
                keep(Phase::Standing, one(plan, server, &pool, crowds.clone())?);
                drop(crowds);
                std::thread::sleep(SETTLE);
            }
        }
    }
    Ok(())
}

/// All that are there. Each does one thing in its turn, so that none keeps another from its own.
#[derive(Debug, Default)]
struct Crowds {
    crowds: Vec<Crowd>,
    at: usize,
}

impl Crowds {
    fn gather(server: &Server, kinds: &[Kind]) -> Result<Arc<Mutex<Crowds>>, LabError> {
        let one = |kind: &Kind| Crowd::gather(*kind, server.address, server.datagrams);
        let crowds = kinds.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(Mutex::new(Crowds { crowds, at: 0 })))
    }

    fn acts(crowds: &Mutex<Crowds>) -> u64 {
        let crowds = crowds.lock().unwrap_or_else(PoisonError::into_inner);
        crowds.crowds.iter().map(Crowd::acts).sum()
    }
}

impl Between for Crowds {
    fn act(&mut self) {
        let now = Instant::now();
        for _ in 0..self.crowds.len() {
            self.at = (self.at + 1) % self.crowds.len();
            if self.crowds[self.at].act(now) {
                return;
            }
        }
    }
}

fn one(
    plan: &Plan,
    server: &Server,
    pool: &RequestPool,
    crowds: Arc<Mutex<Crowds>>,
) -> Result<Window, LabError> {
    let (before, begun) = (Crowds::acts(&crowds), Instant::now());
    let report = generator::run(
        &LoadSpec {
            connections: CONNECTIONS,
            cores: plan.client_cores.clone(),
            warm_up: WARM_UP,
            window: plan.window,
            pace: Pace::Open { rate: RATE },
            interval: Some(SLICE),
            servers: vec![server.child.id()],
            between: Some(crowds.clone()),
            ..LoadSpec::plain(Target::Tcp(server.address))
        },
        pool,
    )?;
    let acts = (Crowds::acts(&crowds) - before) as f64 / begun.elapsed().as_secs_f64();
    let resident_mib = resident_mib(server.child.id())?;
    // What comes after the window is only answers to the last requests.
    let window = WARM_UP.as_secs_f64()..(WARM_UP + plan.window - SLICE / 2).as_secs_f64();
    let measured = report.series.iter().filter(|slice| window.contains(&slice.at));
    let measured = measured.filter(|slice| slice.operations > 0);
    let slices_p99_us: Vec<f64> = measured.map(|slice| slice.latency.quantile_us(0.99)).collect();
    let p99 = |histogram: &hdrhistogram::Histogram<u64>| histogram.value_at_quantile(0.99);
    Ok(Window {
        store: String::new(),
        round: 0,
        beside: String::new(),
        phase: Phase::Quiet,
        p50_us: report.latency_us(0.5),
        p99_us: report.latency_us(0.99),
        p999_us: report.latency_us(0.999),
        slice_p99_us: median(slices_p99_us.iter().copied()),
        slices_p99_us,
        served_p99_us: p99(&report.served) as f64 / 1e3,
        late_p99_us: p99(&report.lag) as f64 / 1e3,
        server_busy: report.server_busy().unwrap_or(0.0),
        resident_mib,
        unanswered: report.unanswered,
        acts,
    })
}
