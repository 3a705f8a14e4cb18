//! What a generator is told for a combination and a store.

use std::time::Duration;

use super::Stage;
use super::choice::{Choice, Player};
use super::servers::Fleet;
use crate::LabError;
use crate::experiment::LoadShape;
use crate::experiment::sweep::Combination;
use crate::generator::{LoadSpec, Pace};
use crate::limits::TURN;
use crate::workload::Workload;

/// What is asked for of one process of a store.
pub fn workload(combination: &Combination, fleet: &Fleet) -> Result<Workload, LabError> {
    let mut workload = combination.workload.for_protocol(fleet.store.protocol())?;
    workload.keys = (workload.keys / combination.nodes.max(1) as u32).max(1);
    Ok(workload)
}

/// How it is asked.
pub fn spec(load: &LoadShape, fleet: &Fleet, stage: &Stage<'_>) -> LoadSpec {
    let around = stage.around.with(load.unix_socket, load.server_threads, load.pinned);
    // All stores of a run are asked alike.
    let is_external =
        |choice: &Choice| matches!(choice.player, Player::Store(store) if store.is_external());
    let is_alone = around.client_is_alone(load.threads) && !stage.choices.iter().any(is_external);
    LoadSpec {
        target: fleet.first().door(load.tls).clone(),
        more: fleet.others(load.tls),
        connections: load.connections,
        pipeline: load.pipeline,
        threads: load.threads,
        cores: around.client_cores(),
        warm_up: seconds(load.warm_up),
        window: seconds(load.seconds),
        turn: TURN,
        pace: match (load.rate, load.ramp_to) {
            (Some(from), Some(to)) => Pace::Ramp { from, to },
            (Some(rate), None) => Pace::Open { rate },
            (None, _) => Pace::Closed,
        },
        verify: load.verify && !fleet.store.is_null(),
        servers: fleet.pids(),
        interval: (load.interval > 0.0).then(|| seconds(load.interval)),
        fill: None,
        spins: load.spin && is_alone,
        between: None,
    }
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or_default()
}
