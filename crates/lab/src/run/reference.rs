//! The server that parses nothing and takes turns with the stores, so that a run of another day, when
//! the machine is in another mood, can be compared by the ratios to it.

use super::Stage;
use super::choice::{Choice, Player};
use super::servers::Fleet;
use crate::LabError;
use crate::experiment::sweep::Combination;
use crate::experiment::{Bytes, LoadShape, WorkloadShape};
use crate::stores::Store;
use crate::workload::RequestPool;

/// Keys that it is asked for at most: it looks at none of them.
const KEYS: u32 = 100_000;

/// It, and what it is asked for.
pub struct Reference {
    pub fleet: Fleet,
    pub pool: RequestPool,
}

impl Reference {
    /// Starts it, unless one of the stores is such a server.
    pub fn start(
        stage: &Stage<'_>,
        one: &Combination,
        fleets: &[Fleet],
    ) -> Result<Option<Self>, LabError> {
        if fleets.is_empty() || fleets.iter().any(|fleet| fleet.store == Store::Null) {
            return Ok(None);
        }
        let size = |bytes: &Bytes| Bytes::Number((bytes.sizes().mean() as usize).max(1));
        let shape = WorkloadShape {
            keys: one.workload.keys.min(KEYS),
            key: size(&one.workload.key),
            value: size(&one.workload.value),
            ..WorkloadShape::default()
        };
        let choice =
            Choice { label: "reference".into(), player: Player::Store(Store::Null), binary: None };
        let load = LoadShape { server_threads: 1, ..one.load.clone() };
        let fleet = Fleet::start(&choice, &stage.around, (&load, &shape), 1, &[])?;
        let pool = RequestPool::build(&shape.for_protocol(Store::Null.protocol())?)?;
        Ok(Some(Self { fleet, pool }))
    }
}
