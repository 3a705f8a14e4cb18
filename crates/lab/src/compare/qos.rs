//! `dolium lab qos`: the highest rate at which the 99th percentile stays under a bound.
//!
//! The rate is offered, not achieved: requests are due at even intervals whatever the store does.
//! A closed loop finds what a store can do at most; from above that the search goes down until a rate
//! is kept (`descent.rs`). In the rounds of a step the stores take turns, each at the rate of its own
//! search, and the slices of all its rounds judge it (`slices.rs`). Rounds are added where the generator
//! itself was late, since a store that was asked too late can be blamed for nothing.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::descent::Descent;
use super::slices::{self, CLIENT_LATE_SHARE, Slice};
use super::table::thousands;
use super::{Plan, median, server_for, spec, spins, start, workload};
use crate::LabError;
use crate::generator::{self, LoadReport, LoadSpec, Pace};
use crate::stores::{Store, Surroundings};
use crate::workload::RequestPool;

/// A store that keeps up with more than its closed loop showed is tried up to this multiple.
pub(crate) const HIGHEST_MULTIPLE: f64 = 1.25;
/// So many times the plan's rounds are made at most, to find slices that say something.
pub(crate) const ROUNDS_TIMES_MAX: usize = 3;

/// What is to be kept, and how closely it is looked for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bound {
    /// Microseconds that the 99th percentile must stay under.
    pub p99_us: f64,
    /// Milliseconds over which each percentile is taken.
    pub slice_ms: u64,
    /// Rates that the second pass of a search tries.
    pub rungs: usize,
}

/// One offered rate and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub offered: f64,
    /// Of a typical slice.
    pub p99_us: f64,
    /// Of all requests of all rounds, whatever the machine did.
    pub all_p99_us: f64,
    pub client_lag_p99_us: f64,
    pub kept: bool,
}

/// One store's search.
#[derive(Clone, Debug, Serialize)]
pub struct Search {
    pub store: Store,
    pub closed_loop_rate: f64,
    pub highest: f64,
    pub p99_at_highest_us: f64,
    pub all_p99_at_highest_us: f64,
    /// Whether the lowest rate above the highest was broken in the client too.
    pub client_limited: bool,
    pub steps: Vec<Step>,
}

/// The outcome for all stores.
#[derive(Clone, Debug, Serialize)]
pub struct Quality {
    pub plan: Plan,
    pub bound: Bound,
    pub searches: Vec<Search>,
}

impl Search {
    /// Notes what came of a rate.
    fn note(&mut self, step: Step, bound_us: f64) {
        if step.kept {
            self.highest = step.offered;
            self.p99_at_highest_us = step.p99_us;
            self.all_p99_at_highest_us = step.all_p99_us;
        }
        self.steps.push(step);
        let above = self.steps.iter().filter(|step| step.offered > self.highest);
        let lowest = above.min_by(|one, other| one.offered.total_cmp(&other.offered));
        let is_late = |step: &Step| step.client_lag_p99_us > bound_us * CLIENT_LATE_SHARE;
        self.client_limited = lowest.is_some_and(is_late);
    }
}

/// One store's part of a step.
struct Offer<'a> {
    /// Which store of the plan it is.
    number: usize,
    rate: f64,
    load: LoadSpec,
    pool: &'a RequestPool,
    slices: Vec<Slice>,
    all: Option<LoadReport>,
}

impl Offer<'_> {
    /// Slices that are wanted of a generator that was on time: half of what the plan's rounds have.
    fn wanted(plan: &Plan, bound: &Bound) -> usize {
        (plan.rounds * (plan.window_ms / bound.slice_ms) as usize).div_ceil(2)
    }

    /// Whether another round would say more. `round` counts those that were made. Where the generator was late so
    /// often that the rounds that may be added do not suffice either, none is: most often it is at its end.
    fn is_open(&self, round: usize, plan: &Plan, bound: &Bound) -> bool {
        let on_time = self.slices.iter().filter(|slice| slice.is_on_time(bound.p99_us)).count();
        let wanted = Self::wanted(plan, bound);
        let most = plan.rounds * ROUNDS_TIMES_MAX;
        round < plan.rounds || (on_time < wanted && on_time * most >= wanted * round)
    }

    fn ask(&mut self, bound: &Bound) -> Result<(), LabError> {
        let report = generator::run(&self.load, self.pool)?;
        let (warm_up, window) = (self.load.warm_up.as_secs_f64(), self.load.window.as_secs_f64());
        let width = bound.slice_ms as f64 / 1e3;
        self.slices.extend(slices::within(&report.series, width, warm_up, window));
        match &mut self.all {
            Some(all) => all.absorb(&report),
            None => self.all = Some(report),
        }
        Ok(())
    }

    fn judged(&self, plan: &Plan, bound: &Bound) -> Step {
        let wanted = Self::wanted(plan, bound);
        let (p99_us, client_lag_p99_us) = slices::judge(&self.slices, wanted, bound.p99_us);
        Step {
            offered: self.rate,
            p99_us,
            all_p99_us: self.all.as_ref().map_or(f64::NAN, |all| all.latency_us(0.99)),
            client_lag_p99_us,
            kept: p99_us < bound.p99_us,
        }
    }
}

/// Searches for every store of the plan, step by step in turns.
pub fn run(
    plan: &Plan,
    around: &Surroundings,
    bound: &Bound,
    say: &mut dyn FnMut(&str),
) -> Result<Quality, LabError> {
    let (Some(&operation), Some(&pipeline)) = (plan.operations.first(), plan.pipelines.first())
    else {
        return Err(LabError::Options("a search needs an operation and a pipeline".into()));
    };
    if plan.rounds == 0 {
        return Err(LabError::Options("a search needs a round".into()));
    }
    if bound.slice_ms == 0 || bound.slice_ms > plan.window_ms {
        let why = "a slice takes at least a millisecond, and no longer than its window";
        return Err(LabError::Options(why.into()));
    }
    let spins = spins(plan, around.client_is_alone(plan.client_threads))?;
    let servers = start(plan, around, say)?;
    let mut pools = Vec::new();
    for &store in &plan.stores {
        pools.push(RequestPool::build(&workload(plan, store, operation))?);
    }
    let slice = Duration::from_millis(bound.slice_ms);
    let load = |number: usize, pace: Pace| {
        spec(plan, around, server_for(&servers, plan, number, operation), pipeline, pace)
    };
    // Slices are counted from the first request on: the first that counts begins with the window.
    let warm_up = Duration::from_millis(plan.warm_up_ms.next_multiple_of(bound.slice_ms));
    let mut closed = vec![Vec::new(); plan.stores.len()];
    for _ in 0..plan.rounds {
        for (number, rates) in closed.iter_mut().enumerate() {
            let spec = LoadSpec { spins, ..load(number, Pace::Closed) };
            rates.push(generator::run(&spec, &pools[number])?.rate());
        }
    }
    let (mut searches, mut descents) = (Vec::new(), Vec::new());
    for (&store, rates) in plan.stores.iter().zip(closed) {
        let closed_loop_rate = median(rates);
        say(&format!("{}: closed loop {} /s", store.name(), thousands(closed_loop_rate)));
        descents.push(Descent::from(closed_loop_rate * HIGHEST_MULTIPLE, bound.rungs));
        searches.push(Search {
            store,
            closed_loop_rate,
            highest: 0.0,
            p99_at_highest_us: f64::NAN,
            all_p99_at_highest_us: f64::NAN,
            client_limited: false,
            steps: Vec::new(),
        });
    }
    loop {
        let mut offers = Vec::new();
        for (number, descent) in descents.iter_mut().enumerate() {
            let Some(rate) = descent.next() else { continue };
            let open = load(number, Pace::Open { rate });
            let load = LoadSpec { interval: Some(slice), warm_up, ..open };
            let pool = &pools[number];
            offers.push(Offer { number, rate, load, pool, slices: Vec::new(), all: None });
        }
        if offers.is_empty() {
            break;
        }
        for round in 0..plan.rounds * ROUNDS_TIMES_MAX {
            let count = offers.len();
            if offers.iter().any(|offer| offer.is_open(round, plan, bound)) {
                let why = if round < plan.rounds { "" } else { ", since the client was late" };
                say(&format!("round {}{why}", round + 1));
            }
            for place in 0..count {
                let offer = &mut offers[(place + round) % count];
                if offer.is_open(round, plan, bound) {
                    offer.ask(bound)?;
                }
            }
        }
        for offer in offers {
            let step = offer.judged(plan, bound);
            descents[offer.number].told(offer.rate, step.kept);
            let search = &mut searches[offer.number];
            let (name, rate) = (search.store.name(), thousands(offer.rate));
            say(&format!("{name}: {rate} /s, p99 {:.0} us", step.p99_us));
            search.note(step, bound.p99_us);
        }
    }
    Ok(Quality { plan: plan.clone(), bound: *bound, searches })
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plan, bound) = (&self.plan, &self.bound);
        writeln!(
            f,
            "Highest offered rate with a 99th percentile under {:.0} us ({} connections, \
             {} rounds of {} ms in turns, medians of slices of {} ms)\n",
            bound.p99_us, plan.connections, plan.rounds, plan.window_ms, bound.slice_ms
        )?;
        writeln!(
            f,
            "{:<17} {:>12} {:>9} {:>9} {:>14} {:>12}",
            "store", "rate /s", "p99 us", "of all", "closed loop /s", "first / it"
        )?;
        writeln!(f, "{}", "─".repeat(78))?;
        let first = self.searches.first().map_or(f64::NAN, |search| search.highest);
        for search in &self.searches {
            let limit = if search.client_limited { "  limited by the client" } else { "" };
            if search.highest == 0.0 {
                let name = search.store.name();
                let why = match search.steps.is_empty() {
                    true => "nothing was answered in a closed loop",
                    false => "no rate that was tried kept the bound",
                };
                writeln!(f, "{name:<17} {why}{limit}")?;
                continue;
            }
            writeln!(
                f,
                "{:<17} {:>12} {:>9.0} {:>9.0} {:>14} {:>12.2}{limit}",
                search.store.name(),
                thousands(search.highest),
                search.p99_at_highest_us,
                search.all_p99_at_highest_us,
                thousands(search.closed_loop_rate),
                first / search.highest,
            )?;
        }
        Ok(())
    }
}
