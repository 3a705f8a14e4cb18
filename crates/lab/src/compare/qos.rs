//! `dolium lab qos`: the highest rate at which the 99th percentile stays under a bound.
//!
//! The rate is offered, not achieved: requests are due at even intervals whatever the store does.
//! A closed loop finds what a store can do at most; from above that the search goes down until a rate
//! is kept (`descent.rs`).
//!
//! ```text
//! store A   195 000 /s |x|     |.|     |x|     |x|   170 000 /s |.|     |.|        windows: a percentile each
//! store B       |.| 108 000 /s     |.|     |.|        ...           |x|     ...    x: not under the bound
//! ```
//! The stores take turns of one window, each at the rate that its own search has come to. A rate is kept if more
//! than half of its windows are, so the median of their percentiles is under the bound; no window is left out. Where
//! the machine's own programs take a core for milliseconds, about as many windows are broken as are kept, of
//! any store and at many rates, so a few would tell nothing (decision 181).

use std::fmt;

use serde::Serialize;

use super::descent::Descent;
use super::offer::{Bound, Offer, Step};
use super::table::thousands;
use super::{Plan, median, server_for, spec, spins, start, workload};
use crate::LabError;
use crate::generator::{self, LoadSpec, Pace};
use crate::stores::{Store, Surroundings};
use crate::workload::RequestPool;

/// A store that keeps up with more than its closed loop showed is tried up to this multiple.
pub(crate) const HIGHEST_MULTIPLE: f64 = 1.25;
/// A generator that was later than this share of the bound was at its end, or was stopped.
pub(crate) const CLIENT_LATE_SHARE: f64 = 0.5;
/// Most windows of a closed loop: its rate only says where to begin.
const CLOSED_ROUNDS_MAX: usize = 5;

/// One store's search.
#[derive(Clone, Debug, Serialize)]
pub struct Search {
    pub store: Store,
    pub closed_loop_rate: f64,
    /// Zero if none was kept.
    pub highest: f64,
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
    fn note(&mut self, step: Step, bound: &Bound) {
        if step.kept {
            self.highest = step.offered;
        }
        self.steps.push(step);
        let above = self.steps.iter().filter(|step| step.offered > self.highest);
        let lowest = above.min_by(|one, other| one.offered.total_cmp(&other.offered));
        let is_late = |step: &Step| step.client_lag_us() > bound.p99_us * CLIENT_LATE_SHARE;
        self.client_limited = lowest.is_some_and(is_late);
    }

    fn best(&self) -> Option<&Step> {
        self.steps.iter().find(|step| step.kept && step.offered == self.highest)
    }
}

/// Searches for every store of the plan, window by window in turns.
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
    let spins = spins(plan, around.client_is_alone(plan.client_threads))?;
    let servers = start(plan, around, say)?;
    let mut pools = Vec::new();
    for &store in &plan.stores {
        pools.push(RequestPool::build(&workload(plan, store, operation))?);
    }
    let load = |number: usize| {
        let server = server_for(&servers, plan, number, operation);
        spec(plan, around, server, pipeline, Pace::Closed)
    };
    let mut closed = vec![Vec::new(); plan.stores.len()];
    for _ in 0..plan.rounds.min(CLOSED_ROUNDS_MAX) {
        for (number, rates) in closed.iter_mut().enumerate() {
            let spec = LoadSpec { spins, ..load(number) };
            rates.push(generator::run(&spec, &pools[number])?.rate());
        }
    }
    let (mut searches, mut descents, mut offers) = (Vec::new(), Vec::new(), Vec::new());
    for (&store, rates) in plan.stores.iter().zip(closed) {
        let closed_loop_rate = median(rates);
        say(&format!("{}: closed loop {} /s", store.name(), thousands(closed_loop_rate)));
        let mut descent = Descent::from(closed_loop_rate * HIGHEST_MULTIPLE, bound.rungs);
        offers.push(descent.next().map(Offer::at));
        descents.push(descent);
        let (highest, client_limited, steps) = (0.0, false, Vec::new());
        searches.push(Search { store, closed_loop_rate, highest, client_limited, steps });
    }
    let mut first = 0;
    while offers.iter().any(Option::is_some) {
        for place in 0..offers.len() {
            let number = (place + first) % offers.len();
            let Some(offer) = &mut offers[number] else { continue };
            offer.ask(load(number), &pools[number])?;
            let (name, rate) = (plan.stores[number].name(), thousands(offer.rate));
            let (count, p99_us) = (offer.windows.len(), offer.windows.last().map(|one| one.p99_us));
            let p99_us = p99_us.unwrap_or(f64::NAN);
            say(&format!("{name}: {rate} /s, window {count}, p99 {p99_us:.0} us"));
            let Some(kept) = offer.outcome(plan.rounds, bound) else { continue };
            descents[number].told(offer.rate, kept);
            let next = descents[number].next().map(Offer::at);
            let Some(offer) = std::mem::replace(&mut offers[number], next) else { continue };
            let step = offer.step(kept);
            let (under, p99_us) = (step.under(bound), step.p99_us());
            let word = if kept { "kept" } else { "not kept" };
            say(&format!(
                "{name}: {rate} /s {word}, {under} of {count}, median p99 {p99_us:.0} us"
            ));
            searches[number].note(step, bound);
        }
        first += 1;
    }
    Ok(Quality { plan: plan.clone(), bound: *bound, searches })
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plan, bound) = (&self.plan, &self.bound);
        writeln!(
            f,
            "Highest offered rate with a 99th percentile under {:.0} us in most of {} windows of {} ms \
             ({} connections)\n",
            bound.p99_us, plan.rounds, plan.window_ms, plan.connections
        )?;
        writeln!(
            f,
            "{:<17} {:>9} {:>9} {:>9} {:>9} {:>14} {:>11}",
            "store", "rate /s", "p99 us", "windows", "p99 of all", "closed loop /s", "first / it"
        )?;
        writeln!(f, "{}", "─".repeat(85))?;
        let first = self.searches.first().map_or(f64::NAN, |search| search.highest);
        for search in &self.searches {
            let limit = if search.client_limited { "  limited by the client" } else { "" };
            let Some(best) = search.best() else {
                let name = search.store.name();
                let why = match search.steps.is_empty() {
                    true => "nothing was answered in a closed loop",
                    false => "no rate that was tried kept the bound",
                };
                writeln!(f, "{name:<17} {why}{limit}")?;
                continue;
            };
            writeln!(
                f,
                "{:<17} {:>9} {:>9.0} {:>9} {:>10.0} {:>14} {:>11.2}{limit}",
                search.store.name(),
                thousands(search.highest),
                best.p99_us(),
                format!("{}/{}", best.under(bound), best.windows.len()),
                best.all_p99_us,
                thousands(search.closed_loop_rate),
                first / search.highest,
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::offer::Window;
    use super::*;

    const BOUND: Bound = Bound { p99_us: 1_000.0, rungs: 7 };

    #[test]
    fn a_generator_that_was_late_at_the_lowest_broken_rate_is_said_to_be_the_limit() {
        let (store, closed_loop_rate) = (Store::Null, 100.0);
        let (highest, client_limited, steps) = (0.0, false, Vec::new());
        let mut search = Search { store, closed_loop_rate, highest, client_limited, steps };
        let mut note = |offered: f64, p99_us: f64, client_lag_us: f64| {
            let windows = vec![Window { p99_us, client_lag_us }; 3];
            let kept = p99_us < BOUND.p99_us;
            search.note(Step { offered, kept, windows, all_p99_us: p99_us }, &BOUND);
            (search.highest, search.client_limited, search.best().map(Step::p99_us))
        };
        assert_eq!(note(120.0, 5_000.0, 4_900.0), (0.0, true, None));
        assert_eq!(note(90.0, 5_000.0, 10.0), (0.0, false, None));
        assert_eq!(note(60.0, 200.0, 10.0), (60.0, false, Some(200.0)));
        assert_eq!(note(75.0, 1_200.0, 600.0), (60.0, true, Some(200.0)));
        assert_eq!(note(70.0, 999.0, 600.0), (70.0, true, Some(999.0)));
    }
}
