//! `[workload]`: which keys, which values, which operations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::workload::{Action, Distribution, Mix, Part, Protocol, Recipe, Sizes, Workload};

/// The shape of a workload; an axis of the sweep replaces single fields of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct WorkloadShape {
    pub operations: Operations,
    pub keys: u32,
    /// In which order keys are asked for.
    pub order: Distribution,
    /// Bytes of a key.
    pub key: Bytes,
    /// Bytes of a value.
    pub value: Bytes,
    /// Seconds until what is set expires.
    pub ttl: u32,
    /// Whether the keys are stored before anything is measured.
    pub preload: bool,
    /// Other protocol than the store's usual one: resp3, meta, binary or http.
    pub protocol: Option<Protocol>,
    pub seed: u64,
}

impl Default for WorkloadShape {
    fn default() -> Self {
        Self {
            operations: Operations::Name("get".into()),
            keys: 100_000,
            order: Distribution::Uniform,
            key: Bytes::Number(16),
            value: Bytes::Number(100),
            ttl: 0,
            preload: true,
            protocol: None,
            seed: 1,
        }
    }
}

/// A size as a number or as a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bytes {
    Number(usize),
    Rule(Sizes),
}

impl Bytes {
    /// The rule that either form means.
    pub fn sizes(&self) -> Sizes {
        match self {
            Self::Number(number) => Sizes::Constant(*number),
            Self::Rule(sizes) => sizes.clone(),
        }
    }
}

/// `"get"`, or weights: `{ get = 95, set = 5 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Operations {
    Name(String),
    Weights(BTreeMap<String, f64>),
}

impl Operations {
    /// The mix that it means.
    pub fn mix(&self) -> Result<Mix, LabError> {
        match self {
            Self::Name(name) => match name.as_str() {
                "get" => Ok(Mix::Get),
                "set" => Ok(Mix::Set),
                other => Ok(Mix::Recipe(Recipe {
                    name: other.into(),
                    parts: vec![Part { weight: 1.0, action: action(other)? }],
                })),
            },
            Self::Weights(weights) => {
                let parts: Result<Vec<Part>, LabError> = weights
                    .iter()
                    .map(|(name, &weight)| Ok(Part { weight, action: action(name)? }))
                    .collect();
                let name = weights
                    .iter()
                    .map(|(name, weight)| format!("{weight} {name}"))
                    .collect::<Vec<_>>()
                    .join(", ");
                Ok(Mix::Recipe(Recipe { name, parts: parts? }))
            }
        }
    }
}

fn action(name: &str) -> Result<Action, LabError> {
    match name {
        "get" | "read" => Ok(Action::Get),
        "set" | "update" => Ok(Action::Set),
        "insert" => Ok(Action::Insert),
        "read-modify-write" => Ok(Action::ReadModifyWrite),
        other => match other.split_once(':').map(|(name, count)| (name, count.parse())) {
            Some(("scan", Ok(most))) => Ok(Action::Scan(most)),
            Some(("gets", Ok(count))) => Ok(Action::Gets(count)),
            _ => Err(LabError::Options(format!(
                "unknown operation {other:?}: use get, set, insert, read-modify-write, scan:MOST \
                 or gets:COUNT"
            ))),
        },
    }
}

impl WorkloadShape {
    /// The workload for a store that speaks `protocol`.
    pub fn for_protocol(&self, protocol: Protocol) -> Result<Workload, LabError> {
        Ok(Workload {
            protocol: self.protocol.unwrap_or(protocol),
            mix: self.operations.mix()?,
            keys: self.keys,
            key_bytes: self.key.sizes(),
            value_bytes: self.value.sizes(),
            distribution: self.order,
            ttl: self.ttl,
            seed: self.seed,
        })
    }

    /// The same keys, to be stored.
    pub fn loading(&self, protocol: Protocol) -> Result<Workload, LabError> {
        Ok(Workload { mix: Mix::Set, ..self.for_protocol(protocol)? })
    }
}
