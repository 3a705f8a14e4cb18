//! `[[sweep]]`: a parameter that takes several values.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::workload::{Bytes, Operations};
use super::{Experiment, LoadShape, WorkloadShape};
use crate::LabError;

/// One axis of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sweep {
    pub axis: Axis,
    pub values: Vec<Setting>,
}

/// What an axis changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    Operation,
    Order,
    Key,
    Value,
    Keys,
    Pipeline,
    Connections,
    Rate,
    ServerThreads,
    Pinned,
    Tls,
    Protocol,
    /// Server processes, each with its share of the keys.
    Nodes,
}

/// One value of an axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    Flag(bool),
    Whole(u64),
    Number(f64),
    Text(String),
}

impl Setting {
    /// As a number, for an axis of a plot.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            Self::Flag(_) | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(true) => f.write_str("yes"),
            Self::Flag(false) => f.write_str("no"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Axis {
    /// Its name in files and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Order => "order",
            Self::Key => "key",
            Self::Value => "value",
            Self::Keys => "keys",
            Self::Pipeline => "pipeline",
            Self::Connections => "connections",
            Self::Rate => "rate",
            Self::ServerThreads => "server-threads",
            Self::Pinned => "pinned",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
            Self::Nodes => "nodes",
        }
    }

    /// What a reader sees on the axis of a plot.
    pub fn label(name: &str) -> &str {
        match name {
            "order" => "order of keys",
            "key" => "size of the key, bytes",
            "value" => "size of the value, bytes",
            "rate" => "offered rate, operations/s",
            "server-threads" => "threads of the server",
            "pinned" => "pinned to cores",
            "tls" => "TLS",
            "nodes" => "server processes",
            other => other,
        }
    }

    /// Whether the data in the store differs from one value to the next.
    pub fn changes_data(self) -> bool {
        matches!(self, Self::Key | Self::Value | Self::Keys)
    }

    /// Whether the server must be started again for another value.
    pub fn changes_server(self) -> bool {
        matches!(self, Self::ServerThreads | Self::Pinned | Self::Nodes)
    }

    /// Puts `setting` into its place.
    fn put(
        self,
        setting: &Setting,
        workload: &mut WorkloadShape,
        load: &mut LoadShape,
    ) -> Result<(), LabError> {
        let wrong = || LabError::Options(format!("{setting} is no value for {}", self.name()));
        let whole = || match setting {
            Setting::Whole(number) => usize::try_from(*number).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        let bytes = || match setting {
            Setting::Text(text) => Ok(Bytes::Rule(text.parse()?)),
            _ => whole().map(Bytes::Number),
        };
        match self {
            Self::Operation => workload.operations = Operations::Name(setting.to_string()),
            Self::Order => workload.order = setting.to_string().parse()?,
            Self::Key => workload.key = bytes()?,
            Self::Value => workload.value = bytes()?,
            Self::Keys => workload.keys = u32::try_from(whole()?).map_err(|_| wrong())?,
            Self::Pipeline => load.pipeline = whole()?,
            Self::Connections => load.connections = whole()?,
            Self::Rate => load.rate = Some(setting.number().ok_or_else(wrong)?),
            Self::ServerThreads => load.server_threads = whole()?,
            Self::Pinned => match setting {
                Setting::Flag(pinned) => load.pinned = *pinned,
                _ => return Err(wrong()),
            },
            Self::Tls => match setting {
                Setting::Flag(tls) => load.tls = *tls,
                _ => return Err(wrong()),
            },
            Self::Protocol => workload.protocol = Some(setting.to_string().parse()?),
            Self::Nodes => {
                whole()?;
            }
        }
        Ok(())
    }
}

/// One combination of the sweep: its settings, and the shapes with them in place.
#[derive(Clone, Debug)]
pub struct Combination {
    pub settings: Vec<(String, Setting)>,
    pub workload: WorkloadShape,
    pub load: LoadShape,
    pub nodes: usize,
}

impl Experiment {
    /// All combinations, the first axis varying slowest.
    pub fn combinations(&self) -> Result<Vec<Combination>, LabError> {
        let mut all = vec![Combination {
            settings: Vec::new(),
            workload: self.workload.clone(),
            load: self.load.clone(),
            nodes: 1,
        }];
        for sweep in &self.sweep {
            let mut next = Vec::with_capacity(all.len() * sweep.values.len());
            for combination in &all {
                for value in &sweep.values {
                    let mut one = combination.clone();
                    sweep.axis.put(value, &mut one.workload, &mut one.load)?;
                    if sweep.axis == Axis::Nodes {
                        one.nodes = value.number().unwrap_or(1.0) as usize;
                    }
                    one.settings.push((sweep.axis.name().into(), value.clone()));
                    next.push(one);
                }
            }
            all = next;
        }
        Ok(all)
    }
}
