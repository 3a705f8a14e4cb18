//! Verdicts where the truth is known: a server against itself, and against itself slowed by a share
//! of what a request costs it.
//!
//! The server is the null server, which can be told to be busy for so long a request; or, for the
//! half without a difference, any store. Every trial starts both anew. They are compared in two
//! ways: in turns within the trial, and with the trial before, as two runs at different times are.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{CONNECTIONS, start, workload};
use crate::LabError;
use crate::generator::{self, LoadSpec};
use crate::statistics::{Judgement, Noise, Verdict, median};
use crate::stores::{Running, Store, Surroundings};
use crate::workload::{Operation, RequestPool};

/// The machine's speed is looked at for so long around each trial.
const NOISE: Duration = Duration::from_millis(100);
const WARM_UP: Duration = Duration::from_millis(30);

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
    pub turns: Judgement,
    /// Against the trial before.
    pub apart: Option<Judgement>,
}

/// The outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub plan: Plan,
    pub same: Vec<Trial>,
    pub slowed: Vec<Trial>,
    pub busy_ns: f64,
}

struct Rounds {
    first: Vec<f64>,
    second: Vec<f64>,
    noise: Noise,
}

/// Runs all trials, those without and with a difference in turns.
pub fn run(
    plan: &Plan,
    around: &Surroundings,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, LabError> {
    let mut outcome = Outcome { plan: *plan, same: Vec::new(), slowed: Vec::new(), busy_ns: 0.0 };
    let mut before: Option<Rounds> = None;
    let pool = RequestPool::build(&workload(plan.store.protocol(), Operation::Get))?;
    for trial in 0..plan.trials {
        say(&format!("trial {} of {}, without a difference", trial + 1, plan.trials));
        let now = rounds(plan, around, &pool, &[])?;
        let turns = Judgement::paired(&now.second, &now.first, 1);
        let apart = before.as_ref().map(|before| {
            Judgement::unpaired(&now.second, &before.first, 1, now.noise.drift(&before.noise))
        });
        outcome.same.push(Trial { turns, apart });
        if plan.store == Store::Null {
            // So many nanoseconds are the share of what a request costs the server itself.
            let busy = median(now.first.iter().copied()) * 1e3 * plan.slower;
            outcome.busy_ns = busy;
            say(&format!("trial {} of {}, {busy:.0} ns slower", trial + 1, plan.trials));
            let slowed = rounds(plan, around, &pool, &[("busy-ns".into(), format!("{busy:.1}"))])?;
            let turns = Judgement::paired(&slowed.second, &slowed.first, 1);
            let drift = slowed.noise.drift(&now.noise);
            let apart = Judgement::unpaired(&slowed.second, &now.first, 1, drift);
            outcome.slowed.push(Trial { turns, apart: Some(apart) });
        }
        before = Some(now);
    }
    Ok(outcome)
}

/// Server CPU an operation of two servers in turns; the second has the settings.
fn rounds(
    plan: &Plan,
    around: &Surroundings,
    pool: &RequestPool,
    settings: &[(String, String)],
) -> Result<Rounds, LabError> {
    let servers = [start(plan.store, around, &[])?, start(plan.store, around, settings)?];
    if !plan.store.is_null() {
        for server in &servers {
            let sets = workload(plan.store.protocol(), Operation::Set);
            generator::preload(&server.target, &sets, |_| {})?;
        }
    }
    let noise = Noise::measure(NOISE);
    let mut costs = [Vec::new(), Vec::new()];
    for round in 0..plan.rounds {
        for turn in 0..2 {
            let place = (turn + round) % 2;
            costs[place].push(cost(plan, around, &servers[place], pool)?);
        }
    }
    let [first, second] = costs;
    Ok(Rounds { first, second, noise })
}

fn cost(
    plan: &Plan,
    around: &Surroundings,
    server: &Running,
    pool: &RequestPool,
) -> Result<f64, LabError> {
    if crate::interrupt::asked() {
        return Err(LabError::Interrupted);
    }
    let spec = LoadSpec {
        connections: CONNECTIONS,
        pipeline: plan.pipeline,
        cores: around.client_cores(),
        warm_up: WARM_UP,
        window: plan.window,
        servers: server.pid().into_iter().collect(),
        ..LoadSpec::plain(server.target.clone())
    };
    Ok(generator::run(&spec, pool)?.server_us().unwrap_or(f64::NAN))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        writeln!(
            f,
            "Verdicts on {}'s CPU an operation, {} rounds of {} ms, pipeline {}:",
            plan.store.name(),
            plan.rounds,
            plan.window.as_millis(),
            plan.pipeline
        )?;
        let slowed = format!("slower by {:.0} % ({:.0} ns)", 100.0 * plan.slower, self.busy_ns);
        for (name, trials) in [("the same twice", &self.same), (slowed.as_str(), &self.slowed)] {
            let turns: Vec<&Judgement> = trials.iter().map(|trial| &trial.turns).collect();
            let apart: Vec<&Judgement> =
                trials.iter().filter_map(|trial| trial.apart.as_ref()).collect();
            for (how, all) in [("in turns", turns), ("two runs", apart)] {
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
