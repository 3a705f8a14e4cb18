//! `[[record]]`: a data type in one of its encodings. `[[fill]]`: a way to be stored into.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::workload::Template;

/// A kind of record: how it is built, and which commands are asked of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Record {
    pub name: String,
    /// What `OBJECT ENCODING` of today's Redis says of it; checked before anything is measured.
    #[serde(default)]
    pub encoding: Vec<String>,
    /// Commands that build one record, with the places of a template.
    pub load: Vec<Vec<String>>,
    /// Elements are numbers, as an intset needs them.
    #[serde(default)]
    pub integers: bool,
    /// Settings by which Redis keeps this encoding at this size (`CONFIG SET`).
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Sizes: name, number of elements, bytes of an element, number of records.
    pub sizes: Vec<Size>,
    #[serde(default)]
    pub command: Vec<RecordCommand>,
    /// Published bytes for the data of the experiment, or multiples of it; see the file's words.
    #[serde(default)]
    pub published: BTreeMap<String, f64>,
}

/// One size of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Size {
    pub name: String,
    pub elements: u32,
    pub bytes: usize,
    pub records: u32,
}

/// A command that is measured, and the one that undoes it so that records keep their size.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecordCommand {
    pub name: String,
    pub words: Vec<String>,
    /// Asked after each one, and not counted.
    #[serde(default)]
    pub undo: Vec<String>,
    /// Published microseconds of CPU, one for each size.
    #[serde(default)]
    pub published: Vec<f64>,
}

impl Record {
    /// Bytes of all its elements, in all its sizes.
    pub fn bytes(&self) -> f64 {
        let of =
            |size: &Size| f64::from(size.records) * f64::from(size.elements) * size.bytes as f64;
        self.sizes.iter().map(of).sum()
    }

    /// `words` for records of `size`.
    pub fn template(&self, words: &[String], size: &Size) -> Template {
        Template {
            words: words.to_vec(),
            elements: size.elements,
            element_bytes: size.bytes,
            integers: self.integers,
        }
    }
}

/// A way to be stored into: settings of the store and what happens half-way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FillCase {
    pub name: String,
    /// The only stores that have it; empty for all.
    #[serde(default)]
    pub only: Vec<String>,
    /// Arguments for redis-server and what speaks its language.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Command that is sent when half of the keys are stored.
    #[serde(default)]
    pub half_way: Vec<String>,
    /// Memory as a share of the data, in a limited cgroup with a swap file; 0 for no limit.
    #[serde(default)]
    pub memory_share: f64,
    /// Published mean operations a second outside and inside of the phase.
    #[serde(default)]
    pub published: Vec<f64>,
    /// Published CPU in percent (user, system, iowait), outside and inside.
    #[serde(default)]
    pub published_cpu: Vec<Vec<f64>>,
    /// Published growth of memory in KB a second, outside and inside.
    #[serde(default)]
    pub published_growth: Vec<f64>,
}
