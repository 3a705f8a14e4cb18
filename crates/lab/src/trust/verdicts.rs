//! Verdicts where the truth is known: a server against itself, and against itself slowed by a share
//! of what a request costs it.
//!
//! The server is the null server, which can be told to be busy for so long a request; or, for the
//! half without a difference, any store. They are compared as `dolium lab compare` and `run` compare
//! stores: short turns, servers started anew for each round, verdicts on CPU time an operation and
//! on operations a second. And with the trial before by the ratio to a reference, as `compare A B`
//! does with two runs.
//!
//! That the slowed server is slower by what it was told shows in the ratio over all trials together.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{CONNECTIONS, start, workload};
use crate::LabError;
use crate::compare::{Visit, judge};
use crate::generator::{self, LoadSpec, Side};
use crate::statistics::{Judgement, Verdict, median, round_ratio};
use crate::stores::{Running, Store, Surroundings};
use crate::workload::{Operation, RequestPool};

const WARM_UP: Duration = Duration::from_millis(150);
/// Nanoseconds of work for each request that null servers do here, slowed or not. A server with
/// nothing to do waits for the client, and wakes less often when it gets slower: it would then take
/// half of what it was told, and operations a second would be the client's.
const WORK_NS: f64 = 5_000.0;

/// A server that works longer for each request finds more of them waiting when it looks, which saves
/// a part. How much is measured on one that is slowed by so many times what is asked for.
const PROBE: f64 = 8.0;

/// How thoroughly.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    pub store: Store,
    pub trials: usize,
    pub rounds: usize,
    pub window: Duration,
    pub pipeline: usize,
    /// Share by which the slowed server is slower.
    pub slower: f64,
}

/// What was said of one pair.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Server CPU an operation.
    pub turns: Judgement,
    /// Operations a second.
    pub rate: Judgement,
    /// Against the trial before.
    pub apart: Option<Judgement>,
    /// Server CPU an operation of both, as multiples of the reference's, round by round.
    pub first: Vec<f64>,
    pub second: Vec<f64>,
}

/// The outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub plan: Plan,
    pub same: Vec<Trial>,
    pub slowed: Vec<Trial>,
    pub busy_ns: f64,
}

impl Outcome {
    pub fn new(plan: Plan) -> Outcome {
        Outcome { plan, same: Vec::new(), slowed: Vec::new(), busy_ns: 0.0 }
    }
}

struct Rounds {
    first: Vec<Visit>,
    second: Vec<Visit>,
    reference: Vec<Visit>,
}

impl Rounds {
    fn trial(&self, apart: Option<Judgement>) -> Trial {
        Trial {
            turns: judge(&self.second, &self.first, |visit| &visit.turns_server_us),
            rate: judge(&self.second, &self.first, |visit| &visit.turns_rate),
            apart,
            first: self.referred(&self.first),
            second: self.referred(&self.second),
        }
    }

    fn referred(&self, visits: &[Visit]) -> Vec<f64> {
        let pairs = visits.iter().zip(&self.reference);
        pairs
            .map(|(one, other)| round_ratio(&one.turns_server_us, &other.turns_server_us))
            .collect()
    }

    /// Against others that were measured before.
    fn apart(&self, before: &Self) -> Judgement {
        Judgement::referred(&self.referred(&self.second), &before.referred(&before.first), 1)
    }
}

/// Runs all trials, those without and with a difference in turns. `outcome` gets each as it has been
/// made: those of a run that is cut off are not lost.
pub fn run(
    outcome: &mut Outcome,
    around: &Surroundings,
    say: &mut dyn FnMut(&str),
) -> Result<(), LabError> {
    let plan = outcome.plan;
    let plan = &plan;
    let mut before: Option<Rounds> = None;
    let pool = RequestPool::build(&workload(plan.store.protocol(), Operation::Get))?;
    let mut effect = None;
    for trial in 0..plan.trials {
        say(&format!("trial {} of {}, without a difference", trial + 1, plan.trials));
        let now = rounds(plan, around, &pool, 0.0)?;
        outcome.same.push(now.trial(before.as_ref().map(|before| now.apart(before))));
        if plan.store == Store::Null {
            // So many nanoseconds are the share of what a request costs the server itself.
            let costs = now.first.iter().chain(&now.second).map(|visit| visit.server_us);
            let wanted = median(costs) * 1e3 * plan.slower;
            let effect = match effect {
                Some(effect) => effect,
                None => {
                    say("how much of its work a slowed server saves elsewhere");
                    let probe = rounds(plan, around, &pool, wanted * PROBE)?.trial(None);
                    *effect.insert((probe.turns.ratio.value - 1.0) / (plan.slower * PROBE))
                }
            };
            let busy = wanted / effect;
            outcome.busy_ns = busy;
            say(&format!("trial {} of {}, {busy:.0} ns slower", trial + 1, plan.trials));
            let slowed = rounds(plan, around, &pool, busy)?;
            outcome.slowed.push(slowed.trial(Some(slowed.apart(&now))));
        }
        before = Some(now);
    }
    Ok(())
}

/// Two servers in turns, round by round; the second is slowed by so many nanoseconds.
fn rounds(
    plan: &Plan,
    around: &Surroundings,
    pool: &RequestPool,
    slowed_ns: f64,
) -> Result<Rounds, LabError> {
    let mut visits = [Vec::new(), Vec::new(), Vec::new()];
    let plain = RequestPool::build(&workload(Store::Null.protocol(), Operation::Get))?;
    for round in 0..plan.rounds {
        // Who starts first changes, as do the places that their memory gets.
        let mut servers = Vec::new();
        for place in [round % 2, 1 - round % 2] {
            let mut settings = Vec::new();
            if plan.store == Store::Null {
                let busy = WORK_NS + if place == 1 { slowed_ns } else { 0.0 };
                settings.push(("busy-ns".to_string(), format!("{busy:.1}")));
            }
            servers.push((place, start(plan.store, around, &settings)?));
        }
        servers.sort_by_key(|(place, _)| *place);
        let mut loads = Vec::new();
        for (_, server) in &servers {
            if !plan.store.is_null() {
                let sets = workload(plan.store.protocol(), Operation::Set);
                generator::preload(&server.target, &sets, |_| {})?;
            }
            loads.push((spec(plan, around, server), pool));
        }
        let reference = start(Store::Null, around, &[])?;
        loads.push((spec(plan, around, &reference), &plain));
        let mut sides = Side::all(loads)?;
        let turns = generator::take_turns(&mut sides, round % 3, |_, _| {})?;
        for (visits, turns) in visits.iter_mut().zip(&turns) {
            visits.extend(Visit::of(turns));
        }
    }
    let [first, second, reference] = visits;
    Ok(Rounds { first, second, reference })
}

fn spec(plan: &Plan, around: &Surroundings, server: &Running) -> LoadSpec {
    LoadSpec {
        connections: CONNECTIONS,
        pipeline: plan.pipeline,
        cores: around.client_cores(),
        warm_up: WARM_UP,
        window: plan.window,
        servers: server.pid().into_iter().collect(),
        spins: around.client_is_alone(1),
        ..LoadSpec::plain(server.target.clone())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        writeln!(
            f,
            "Verdicts on {}, {} rounds of {} ms, pipeline {}:",
            plan.store.name(),
            plan.rounds,
            plan.window.as_millis(),
            plan.pipeline
        )?;
        let slowed = format!("slower by {:.0} % ({:.0} ns)", 100.0 * plan.slower, self.busy_ns);
        for (name, trials) in [("the same twice", &self.same), (slowed.as_str(), &self.slowed)] {
            let turns: Vec<&Judgement> = trials.iter().map(|trial| &trial.turns).collect();
            let rate: Vec<&Judgement> = trials.iter().map(|trial| &trial.rate).collect();
            let apart: Vec<&Judgement> =
                trials.iter().filter_map(|trial| trial.apart.as_ref()).collect();
            for (how, all) in [
                ("CPU/op in turns", turns),
                ("ops/s in turns", rate),
                ("CPU/op of two runs", apart),
            ] {
                if all.is_empty() {
                    continue;
                }
                let count =
                    |verdict: Verdict| all.iter().filter(|one| one.verdict == verdict).count();
                let widths = all.iter().map(|one| one.ratio.high / one.ratio.low - 1.0);
                writeln!(
                    f,
                    "{name:<24} {how}: {} trials: no difference {}, more {}, less {}, swallowed by \
                     noise {}; ratio {:.3} in the middle, intervals {:.1} % wide",
                    all.len(),
                    count(Verdict::NoDifference) + count(Verdict::TooFew),
                    count(Verdict::More),
                    count(Verdict::Less),
                    count(Verdict::Swallowed),
                    median(all.iter().map(|one| one.ratio.value)),
                    100.0 * median(widths),
                )?;
            }
        }
        Ok(())
    }
}
