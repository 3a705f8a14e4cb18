//! An experiment as data: one TOML file that says what is asked of which stores, and how.
//!
//! ```text
//! name, study, title, question     who asked what
//! kind                             how it is run: see `Kind`
//! [published]                      what the study did and found, in figures where it gave figures
//! [workload]                       keys, values, operations
//! [load]                           connections and pace
//! [[sweep]]                        a parameter and its values; all combinations are run
//! [quick], [full]                  what a run in minutes changes; what the published scale is
//! [[plot]]                         what is drawn
//! [cannot]                         which store cannot take part, and why
//! ```
//!
//! The files lie in `experiments/` and are built into the program. `docs/lab.md` lists every field.

pub mod budget;
pub mod catalogue;
pub mod cuts;
mod load;
mod plot;
mod records;
pub mod shared;
pub mod sweep;
mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use load::LoadShape;
pub use plot::{Bar, Plot, PlotKind, Point, PublishedPlot, Sketch};
pub use records::{FillCase, Record, RecordCommand, Size};
pub use sweep::{Axis, Setting, Sweep};
pub use workload::{Bytes, Operations, WorkloadShape};

use crate::LabError;

/// The five studies, the suite that everybody knows, and ourselves.
pub const STUDIES: [&str; 7] = ["ZHANG14", "CAO16", "PAVLIK16", "EMS", "EPFL19", "YCSB", "Ours"];

/// How an experiment is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Requests at every combination of the sweep.
    Load,
    /// Keys are stored until all are there, while the store grows, saves or rewrites its log.
    Fill,
    /// Commands on records of data types, one after another.
    Commands,
    /// Data is stored and the memory that it takes is read.
    Memory,
    /// Highest rate at which a percentile stays under a bound.
    Quality,
    /// Ranks of a graph's nodes, computed by clients of the store.
    Pagerank,
    /// Share of reads that find their key in a cache that is too small.
    Hits,
    /// Pairs of cache misses of this machine.
    Misses,
    /// Traffic at a fixed rate while other work runs in the store.
    Mixed,
    /// Programs of other systems (EMS in Node, Spark in Python).
    Program,
}

/// One experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Experiment {
    pub name: String,
    pub study: String,
    pub title: String,
    pub question: String,
    pub kind: Kind,
    /// Stores that take part unless the user names others; the one of interest first.
    #[serde(default = "default_stores")]
    pub stores: Vec<String>,
    pub published: Published,
    #[serde(default)]
    pub workload: WorkloadShape,
    #[serde(default)]
    pub load: LoadShape,
    #[serde(default)]
    pub sweep: Vec<Sweep>,
    /// Data types and their commands (`kind = "commands"` and `"memory"`).
    #[serde(default)]
    pub record: Vec<Record>,
    /// The graph of `kind = "pagerank"`.
    #[serde(default)]
    pub graph: GraphShape,
    /// Ways to be stored into (`kind = "fill"`).
    #[serde(default)]
    pub fill: Vec<FillCase>,
    #[serde(default)]
    pub quick: Overrides,
    #[serde(default)]
    pub full: Overrides,
    #[serde(default)]
    pub plot: Vec<Plot>,
    /// The figure that the finding speaks of.
    #[serde(default = "default_figure")]
    pub figure: String,
    /// Store, and why it cannot take part.
    #[serde(default)]
    pub cannot: BTreeMap<String, String>,
    /// What in this experiment differs from the published one and why.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// What the study did and found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Published {
    /// Machine and software of the study.
    #[serde(default)]
    pub setup: String,
    pub found: String,
}

/// What a run of another length changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Overrides {
    pub keys: Option<u32>,
    pub seconds: Option<f64>,
    pub warm_up: Option<f64>,
    pub repetitions: Option<usize>,
    /// Records of every size (`kind = "memory"` and `"commands"`).
    pub records: Option<u32>,
    /// Values of an axis in place of those of the file.
    #[serde(default)]
    pub sweep: BTreeMap<String, Vec<Setting>>,
}

/// A graph that is made; its nodes are the workload's keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct GraphShape {
    pub edges_per_node: f64,
}

impl Default for GraphShape {
    fn default() -> Self {
        // Of the Google web graph: 5 105 039 edges, 875 713 nodes.
        Self { edges_per_node: 5.83 }
    }
}

fn default_stores() -> Vec<String> {
    ["dolium", "redis", "memcached"].map(String::from).to_vec()
}

fn default_figure() -> String {
    "rate".into()
}

impl Experiment {
    /// Reads one file's text. `place` names it in an error.
    pub fn read(text: &str, place: &str) -> Result<Self, LabError> {
        let wrong = |why: String| LabError::Options(format!("{place}: {why}"));
        let mut experiment: Self =
            toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        experiment.name_the_whole();
        experiment.check().map_err(|error| wrong(error.to_string()))?;
        Ok(experiment)
    }

    fn check(&self) -> Result<(), LabError> {
        let wrong = |why: String| Err(LabError::Options(why));
        if !STUDIES.contains(&self.study.as_str()) {
            return wrong(format!("{} is none of {}", self.study, STUDIES.join(", ")));
        }
        if self.sweep.iter().any(|sweep| sweep.values.is_empty()) {
            return wrong("an axis without a value".into());
        }
        if self.load.repetitions == 0 {
            return wrong("an experiment is run at least once".into());
        }
        for axis in self.quick.sweep.keys().chain(self.full.sweep.keys()) {
            if !self.sweep.iter().any(|sweep| sweep.axis.name() == axis) {
                return wrong(format!("there is no axis {axis} to change"));
            }
        }
        if self.asks_over_tls() && !matches!(self.kind, Kind::Load | Kind::Quality) {
            return wrong("only the kinds load and quality are asked over TLS".into());
        }
        if self.asks_over_tls() && self.load.unix_socket {
            return wrong("there is no TLS over a Unix socket".into());
        }
        let needs = match self.kind {
            Kind::Fill => self.fill.is_empty().then_some("[[fill]]"),
            Kind::Commands | Kind::Memory => self.record.is_empty().then_some("[[record]]"),
            _ => None,
        };
        needs.map_or(Ok(()), |table| wrong(format!("this kind needs a {table}")))
    }

    /// Says in `full` what the file says only once: a run that is shortened still tells of what.
    fn name_the_whole(&mut self) {
        self.full.keys.get_or_insert(self.workload.keys);
        self.full.seconds.get_or_insert(self.load.seconds);
        self.full.repetitions.get_or_insert(self.load.repetitions);
        for sweep in &self.sweep {
            let name = sweep.axis.name().to_string();
            self.full.sweep.entry(name).or_insert_with(|| sweep.values.clone());
        }
    }

    /// Whether stores are asked over TLS at any time.
    pub fn asks_over_tls(&self) -> bool {
        let on = Setting::Flag(true);
        let axes = self.sweep.iter().filter(|sweep| sweep.axis == Axis::Tls);
        self.load.tls || axes.flat_map(|sweep| &sweep.values).any(|value| *value == on)
    }

    /// The experiment at another length.
    pub fn changed(mut self, by: &Overrides) -> Self {
        self.workload.keys = by.keys.unwrap_or(self.workload.keys);
        self.load.seconds = by.seconds.unwrap_or(self.load.seconds);
        self.load.warm_up = by.warm_up.unwrap_or(self.load.warm_up);
        self.load.repetitions = by.repetitions.unwrap_or(self.load.repetitions);
        let records = by.records.into_iter();
        let sizes = self.record.iter_mut().flat_map(|record| &mut record.sizes);
        for (size, records) in sizes.zip(records.cycle()) {
            size.records = records;
        }
        for sweep in &mut self.sweep {
            if let Some(values) = by.sweep.get(sweep.axis.name()) {
                sweep.values.clone_from(values);
            }
        }
        self
    }

    /// The experiment as `--quick` or `--full` has it, with all numbers of keys times `factor`.
    pub fn at(&self, length: Length, factor: f64) -> Self {
        let mut changed = match length {
            Length::Quick => self.clone().changed(&self.quick),
            Length::Usual => self.clone(),
            Length::Full => self.clone().changed(&self.full),
        };
        changed.scale(factor);
        for sweep in changed.sweep.iter_mut().filter(|sweep| sweep.axis == Axis::Keys) {
            for value in &mut sweep.values {
                if let Setting::Whole(keys) = value {
                    *keys = u64::from(scaled(u32::try_from(*keys).unwrap_or(u32::MAX), factor));
                }
            }
        }
        changed
    }

    /// Multiplies the numbers of keys and of the records that a memory is filled with.
    fn scale(&mut self, factor: f64) {
        self.workload.keys = scaled(self.workload.keys, factor);
        if self.kind == Kind::Memory {
            for size in self.record.iter_mut().flat_map(|record| &mut record.sizes) {
                size.records = scaled(size.records, factor);
            }
        }
    }
}

/// A number of keys times `factor`; a small number stays as it is, a large one keeps so many.
fn scaled(count: u32, factor: f64) -> u32 {
    const LEAST: f64 = 100.0;
    let count = f64::from(count);
    (count * factor).max(LEAST.min(count)) as u32
}

/// How long a run may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// Minutes on two cores.
    Quick,
    #[default]
    Usual,
    /// As published, where the machine allows.
    Full,
}
