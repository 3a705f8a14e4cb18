//! `dolium lab qos`: the highest rate at which the 99th percentile stays under a bound.
//!
//! The rate is offered, not achieved: requests are due at even intervals whatever the store does.
//! A closed loop finds what a store can do at most; from above that the search goes down until a rate
//! is kept (`descent.rs`). A step is the median of rounds; one in which the generator itself was late
//! is made again, since a store that was asked too late can be blamed for nothing.

use std::fmt;

use serde::Serialize;

use super::descent::Descent;
use super::table::thousands;
use super::{Plan, median, server_for, spec, spins, start, workload};
use crate::LabError;
use crate::generator::{self, LoadSpec, Pace};
use crate::stores::{Store, Surroundings};
use crate::workload::RequestPool;

/// A store that keeps up with more than its closed loop showed is tried up to this multiple.
pub(crate) const HIGHEST_MULTIPLE: f64 = 1.25;
/// A round in which the generator itself was later than this share of the bound says nothing
/// about the store.
pub(crate) const CLIENT_LATE_SHARE: f64 = 0.5;
/// So many times the plan's rounds are made at most, to find as many that say something.
pub(crate) const ROUNDS_TIMES_MAX: usize = 3;

/// One offered rate and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub offered: f64,
    pub p99_us: f64,
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
    /// Whether the lowest rate above the highest was broken in the client too.
    pub client_limited: bool,
    pub steps: Vec<Step>,
}

/// The outcome for all stores.
#[derive(Clone, Debug, Serialize)]
pub struct Quality {
    pub plan: Plan,
    pub bound_us: f64,
    pub searches: Vec<Search>,
}

/// One round of a step.
#[derive(Clone, Copy, Debug)]
struct Round {
    p99_us: f64,
    /// How late the generator itself was, 99th percentile.
    lag_us: f64,
}

impl Round {
    fn is_on_time(&self, bound_us: f64) -> bool {
        self.lag_us <= bound_us * CLIENT_LATE_SHARE
    }
}

/// The step's percentile and the generator's lag: medians of the rounds in which the generator was on time, if
/// these are as many as wanted, and else of all.
fn judge(rounds: &[Round], wanted: usize, bound_us: f64) -> (f64, f64) {
    let sound: Vec<Round> = rounds.iter().copied().filter(|r| r.is_on_time(bound_us)).collect();
    let judged = if sound.len() >= wanted { &sound } else { rounds };
    let of = |figure: fn(&Round) -> f64| median(judged.iter().map(figure));
    (of(|round| round.p99_us), of(|round| round.lag_us))
}

impl Search {
    /// Notes what came of a rate.
    fn note(&mut self, step: Step, bound_us: f64) {
        if step.kept {
            self.highest = step.offered;
            self.p99_at_highest_us = step.p99_us;
        }
        self.steps.push(step);
        let above = self.steps.iter().filter(|step| step.offered > self.highest);
        let lowest = above.min_by(|one, other| one.offered.total_cmp(&other.offered));
        let is_late = |step: &Step| step.client_lag_p99_us > bound_us * CLIENT_LATE_SHARE;
        self.client_limited = lowest.is_some_and(is_late);
    }
}

/// Searches for every store of the plan, step by step in turns. `rungs` are the rates that the second
/// pass tries.
pub fn run(
    plan: &Plan,
    around: &Surroundings,
    bound_us: f64,
    rungs: usize,
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
    let mut searches = Vec::new();
    let mut pools = Vec::new();
    let mut descents = Vec::new();
    for (number, &store) in plan.stores.iter().enumerate() {
        let pool = RequestPool::build(&workload(plan, store, operation))?;
        let server = server_for(&servers, plan, number, operation);
        let mut rates = Vec::new();
        for _ in 0..plan.rounds {
            let closed = spec(plan, around, server, pipeline, Pace::Closed);
            let closed = LoadSpec { spins, ..closed };
            rates.push(generator::run(&closed, &pool)?.rate());
        }
        let closed_loop_rate = median(rates);
        say(&format!("{}: closed loop {} /s", store.name(), thousands(closed_loop_rate)));
        pools.push(pool);
        descents.push(Descent::from(closed_loop_rate * HIGHEST_MULTIPLE, rungs));
        searches.push(Search {
            store,
            closed_loop_rate,
            highest: 0.0,
            p99_at_highest_us: f64::NAN,
            client_limited: false,
            steps: Vec::new(),
        });
    }
    let mut is_searching = true;
    while is_searching {
        is_searching = false;
        for (index, search) in searches.iter_mut().enumerate() {
            let Some(offered) = descents[index].next() else { continue };
            is_searching = true;
            let server = server_for(&servers, plan, index, operation);
            let open = spec(plan, around, server, pipeline, Pace::Open { rate: offered });
            let step = ask(plan, &open, &pools[index], offered, bound_us)?;
            descents[index].told(offered, step.kept);
            let (name, offered) = (search.store.name(), thousands(offered));
            say(&format!("{name}: {offered} /s, p99 {:.0} us", step.p99_us));
            search.note(step, bound_us);
        }
    }
    Ok(Quality { plan: plan.clone(), bound_us, searches })
}

/// Offers a rate, over so many rounds as the plan says in which the generator was on time, if they are
/// to be had.
fn ask(
    plan: &Plan,
    open: &LoadSpec,
    pool: &RequestPool,
    offered: f64,
    bound_us: f64,
) -> Result<Step, LabError> {
    let mut rounds = Vec::new();
    let mut on_time = 0;
    while on_time < plan.rounds && rounds.len() < plan.rounds * ROUNDS_TIMES_MAX {
        let report = generator::run(open, pool)?;
        let lag_us = report.lag.value_at_quantile(0.99) as f64 / 1e3;
        let round = Round { p99_us: report.latency_us(0.99), lag_us };
        on_time += usize::from(round.is_on_time(bound_us));
        rounds.push(round);
    }
    let (p99_us, client_lag_p99_us) = judge(&rounds, plan.rounds, bound_us);
    Ok(Step { offered, p99_us, client_lag_p99_us, kept: p99_us < bound_us })
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Highest offered rate with a 99th percentile under {:.0} us ({} connections, \
             medians of {} rounds of {} ms)\n",
            self.bound_us, self.plan.connections, self.plan.rounds, self.plan.window_ms
        )?;
        writeln!(
            f,
            "{:<17} {:>12} {:>9} {:>14} {:>12}",
            "store", "rate /s", "p99 us", "closed loop /s", "first / it"
        )?;
        writeln!(f, "{}", "─".repeat(68))?;
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
                "{:<17} {:>12} {:>9.0} {:>14} {:>12.2}{limit}",
                search.store.name(),
                thousands(search.highest),
                search.p99_at_highest_us,
                thousands(search.closed_loop_rate),
                first / search.highest,
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a shared machine the generator is stopped now and then for milliseconds. The first step of a
    /// search was judged by such rounds, and no later step could rise above its rate again.
    #[test]
    fn rounds_in_which_the_generator_was_late_do_not_judge_the_store() {
        let on_time = Round { p99_us: 100.0, lag_us: 20.0 };
        let late = Round { p99_us: 9_000.0, lag_us: 8_900.0 };
        assert_eq!(
            judge(&[late, late, on_time, late, on_time, on_time], 3, 1_000.0),
            (100.0, 20.0)
        );
        // As many as were wanted were not to be had: all of them count, and the client is to be blamed.
        assert_eq!(judge(&[late, late, on_time], 3, 1_000.0), (9_000.0, 8_900.0));
        // The store itself was slow.
        let slow = Round { p99_us: 5_000.0, lag_us: 20.0 };
        assert_eq!(judge(&[slow, slow, on_time], 3, 1_000.0), (5_000.0, 20.0));
    }
}
