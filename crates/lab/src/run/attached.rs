//! Dolium's memory without its server: each connection of a combination is a process that attaches.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::Stage;
use super::choice::{Choice, Player};
use super::program::Program;
use super::results::Visit;
use super::servers::Fleet;
use super::visit::resident_mib;
use crate::LabError;
use crate::attached::{self, Outcome, Task};
use crate::experiment::sweep::Combination;
use crate::generator::Counts;
use crate::stores::Store;
use crate::workload::Mix;

/// The hidden word by which the binary runs one attached process.
pub const WORD: &str = "lab-attached";

/// Seconds in which processes start, attach and draw their keys before any begins.
const START: f64 = 0.2;
const START_EACH: f64 = 0.03;
/// A process that takes longer is stuck.
const LONGEST: Duration = Duration::from_secs(300);

/// A store that runs, and where it hands out its memory.
pub struct Attached {
    fleet: Fleet,
    socket: String,
}

impl Attached {
    /// Starts a store whose memory can be attached.
    pub fn start(stage: &Stage<'_>, choice: &Choice, one: &Combination) -> Result<Self, LabError> {
        let directory = stage.around.directory();
        fs::create_dir_all(directory)
            .map_err(|error| LabError::system("make a store's directory", error))?;
        let socket = directory.join("memory.attach").display().to_string();
        let server = Choice { player: Player::Store(Store::Dolium), ..choice.clone() };
        let settings = [("attach-socket".to_string(), socket.clone())];
        let shape = (&one.load, &one.workload);
        let fleet = Fleet::start(&server, &stage.around, shape, 1, &settings)?;
        Ok(Self { fleet, socket })
    }

    /// The server behind it.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// One visit: as many processes as connections, all over the same keys.
    pub fn visit(&mut self, stage: &Stage<'_>, one: &Combination) -> Result<Visit, LabError> {
        let write = match one.workload.operations.mix()? {
            Mix::Get => false,
            Mix::Set => true,
            _ => return Err(LabError::Options("attached processes read or write here".into())),
        };
        if one.load.rate.is_some() || one.load.pipeline > 1 {
            return Err(LabError::Options("attached memory has no queue and no pipeline".into()));
        }
        self.fleet.fill(&one.workload)?;
        let mut children = Vec::new();
        let begin = attached::now() + START + START_EACH * one.load.connections as f64;
        for number in 0..one.load.connections {
            let task = Task {
                socket: self.socket.clone(),
                write,
                keys: one.workload.keys,
                key_bytes: one.workload.key.sizes(),
                value_bytes: one.workload.value.sizes(),
                order: one.workload.order,
                seed: one.workload.seed + number as u64,
                begin,
                warm_up: one.load.warm_up,
                seconds: one.load.seconds,
                verify: one.load.verify,
            };
            let task = serde_json::to_string(&task).map_err(|error| {
                LabError::system("describe a task", std::io::Error::from(error))
            })?;
            let mut command = Command::new(&stage.around.dolium);
            command.args([WORD, &task]);
            children.push(Program::start(&mut command, stage.around.directory())?);
        }
        let mut visit = Visit::default();
        let (mut rate, mut all, mut misses, mut operations) = (0.0, Counts::default(), 0, 0);
        for child in children {
            let said = child.finish(LONGEST)?;
            let Ok(outcome) = serde_json::from_str::<Outcome>(&said.out) else {
                return Err(LabError::Options(format!(
                    "an attached process did not finish: {}",
                    said.complaint
                )));
            };
            rate += outcome.operations as f64 / outcome.seconds;
            misses += outcome.misses;
            operations += outcome.operations;
            all.merge(&outcome.latency);
        }
        visit.put("rate", rate);
        visit.put("value_mb_s", rate * one.workload.value.sizes().mean() / 1e6);
        visit.put("mean", all.mean_us());
        visit.put("least", all.0.first().map_or(f64::NAN, |(ns, _)| *ns as f64 / 1e3));
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
            visit.put(name, all.quantile_us(share));
        }
        if !write {
            visit.put("misses_share", 100.0 * misses as f64 / operations as f64);
        }
        visit.put("rss_mib", resident_mib(&self.fleet.pids()));
        visit.latency = all;
        Ok(visit)
    }
}
