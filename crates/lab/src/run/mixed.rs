//! `kind = "mixed"`: traffic at a fixed rate, during which the store is told to do something else.

use std::time::{Duration, Instant};

use super::results::Visit;
use super::servers::Fleet;
use super::watch::{self, Trigger, Watch};
use super::{Stage, visit};
use crate::LabError;
use crate::experiment::{FillCase, Setting};
use crate::generator::{LoadSpec, Pace};
use crate::limits::AFTERMATH;
use crate::workload::RequestPool;

/// The other work begins after this share of the window.
const BEGIN: f64 = 0.25;

/// Every case on every store in turns. Each store is started once and keeps its data.
pub fn run(stage: &mut Stage<'_>) -> Result<(), LabError> {
    let experiment = stage.results.experiment.clone();
    let (load, shape) = (&experiment.load, &experiment.workload);
    let mut fleets = Vec::new();
    for choice in stage.servers() {
        match Fleet::start(&choice, &stage.around, (load, shape), 1, &[]) {
            Ok(mut fleet) => {
                stage.note_started(&fleet);
                stage.say(&format!("loading {}", choice.label));
                fleet.fill(shape)?;
                fleets.push(fleet);
            }
            Err(error) => stage.leave_out(&choice.label, &error.to_string()),
        }
    }
    stage.live.expect(experiment.fill.len() * fleets.len() * load.repetitions);
    for repetition in 0..load.repetitions {
        for case in &experiment.fill {
            for turn in 0..fleets.len() {
                if crate::interrupt::asked() {
                    return Err(LabError::Interrupted);
                }
                let fleet = &fleets[(turn + repetition) % fleets.len()];
                let label = fleet.choice.label.clone();
                let measured = one(stage, case, fleet);
                // The next case must not pay for what this one began.
                let first = &fleet.first().target;
                if !watch::settle(first, fleet.store.protocol(), AFTERMATH) {
                    stage.note(&watch::unsettled(&label));
                }
                match measured {
                    Ok(visit) => {
                        let setting = Setting::Text(case.name.clone());
                        stage.put(&label, &[("case".into(), setting)], visit);
                    }
                    Err(LabError::Interrupted) => return Err(LabError::Interrupted),
                    Err(error) => stage.note(&format!("{label} cannot run {}: {error}", case.name)),
                }
            }
        }
    }
    Ok(())
}

fn one(stage: &Stage<'_>, case: &FillCase, fleet: &Fleet) -> Result<Visit, LabError> {
    let experiment = &stage.results.experiment;
    let load = &experiment.load;
    let protocol = fleet.store.protocol();
    let pool = RequestPool::build(&experiment.workload.for_protocol(protocol)?)?;
    let seconds = |number: f64| Duration::try_from_secs_f64(number).unwrap_or_default();
    let spec = LoadSpec {
        connections: load.connections,
        threads: load.threads,
        cores: stage.around.client_cores(),
        warm_up: seconds(load.warm_up),
        window: seconds(load.seconds),
        pace: load.rate.map_or(Pace::Closed, |rate| Pace::Open { rate }),
        servers: fleet.pids(),
        interval: Some(seconds(load.interval)),
        ..LoadSpec::plain(fleet.first().target.clone())
    };
    let trigger = (!case.half_way.is_empty()).then(|| Trigger {
        command: case.half_way.clone(),
        keys: 0,
        after: seconds(load.warm_up + load.seconds * BEGIN),
    });
    let watch = Watch::start(fleet.first().target.clone(), protocol, Instant::now(), trigger);
    let mut visit = visit::measure(&spec, &pool)?;
    let seen = watch.finish();
    if let Some(refusal) = seen.refusal {
        return Err(LabError::Refused { reply: refusal });
    }
    visit.events = seen.events;
    Ok(visit)
}
