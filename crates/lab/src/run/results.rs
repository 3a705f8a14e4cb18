//! What a run leaves: everything that was measured, and everything that is needed to judge it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, Length, Setting};
use crate::generator::Counts;
use crate::machine::Machine;
use crate::run::judge;
use crate::run::visit::REFERENCE;
use crate::statistics::{Estimate, Noise};
use crate::workload::Distribution;

/// One experiment, run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// As it was run: scaled, with the axes of its length.
    pub experiment: Experiment,
    pub length: Length,
    /// Multiple of the file's number of keys.
    pub scale: f64,
    /// What to type to do it again.
    pub command: String,
    /// When it began, in UTC.
    pub began: String,
    pub seconds: f64,
    pub dolium: String,
    /// Which of the lab's ways of measuring it was (`limits::METHOD`).
    #[serde(default)]
    pub method: u32,
    pub machine: Machine,
    /// Before and after.
    pub noise: Vec<Noise>,
    pub stores: Vec<StoreEntry>,
    pub points: Vec<Point>,
    /// What a reader must know besides.
    pub notes: Vec<String>,
    /// Whether the user ended it early.
    pub interrupted: bool,
}

/// A store that took part, or did not.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StoreEntry {
    pub label: String,
    pub version: String,
    /// How it was started.
    pub command: String,
    /// Why it took no part.
    pub absent: Option<String>,
}

/// A store at one combination of settings.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Point {
    pub store: String,
    pub settings: Vec<(String, Setting)>,
    /// One a repetition.
    pub visits: Vec<Visit>,
}

/// One measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Visit {
    pub figures: BTreeMap<String, f64>,
    /// Figures of each of the short turns that the visit consisted of, if stores took such turns:
    /// turn by turn beside those of the other stores.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub turns: BTreeMap<String, Vec<f64>>,
    /// Every latency of the window, in nanoseconds; empty where none was taken.
    #[serde(default, skip_serializing_if = "none")]
    pub latency: Counts,
    #[serde(default)]
    pub series: Option<Series>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
}

fn none(counts: &Counts) -> bool {
    counts.0.is_empty()
}

/// Lines over time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Seconds from the first request.
    pub at: Vec<f64>,
    /// By figure; `None` where an interval had nothing.
    pub lines: BTreeMap<String, Vec<Option<f64>>>,
    /// Seconds that were called warm-up before the run.
    pub warm_up: f64,
    /// Seconds that the series itself shows to be warm-up.
    pub settled: f64,
}

/// Something that the store did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    pub name: String,
    /// Seconds from the first request.
    pub from: f64,
    pub to: f64,
}

impl Visit {
    /// Notes a figure, unless it is not a number.
    pub fn put(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.figures.insert(name.into(), value);
        }
    }
}

impl Point {
    /// One figure of every round, each in its place; not a number where a round has none.
    pub fn by_round(&self, figure: &str) -> Vec<f64> {
        let of = |visit: &Visit| visit.figures.get(figure).copied().unwrap_or(f64::NAN);
        self.visits.iter().map(of).collect()
    }

    /// One figure of all rounds that have it.
    pub fn rounds(&self, figure: &str) -> Vec<f64> {
        self.visits.iter().filter_map(|visit| visit.figures.get(figure).copied()).collect()
    }

    /// The turns of every round of one figure; none unless all rounds have them.
    pub fn turns(&self, figure: &str) -> Option<Vec<&[f64]>> {
        self.visits.iter().map(|visit| visit.turns.get(figure).map(Vec::as_slice)).collect()
    }

    /// Every round of one figure as a ratio to the reference that took turns with the store; none
    /// unless all rounds have it.
    pub fn to_reference(&self, figure: &str) -> Option<Vec<f64>> {
        let reference = self.turns(&format!("{REFERENCE}{figure}"))?;
        let turns = self.turns(figure)?;
        let pairs = turns.into_iter().zip(reference);
        Some(pairs.map(|(one, other)| judge::round(figure, one, other)).collect())
    }

    /// Median of a figure with its interval.
    pub fn estimate(&self, figure: &str) -> Option<Estimate> {
        let rounds = self.rounds(figure);
        (!rounds.is_empty()).then(|| Estimate::of(&rounds))
    }

    /// A setting by its axis.
    pub fn setting(&self, axis: &str) -> Option<&Setting> {
        self.settings.iter().find(|(name, _)| name == axis).map(|(_, setting)| setting)
    }

    /// All latencies of all rounds.
    pub fn latency(&self) -> Counts {
        let mut all = Counts::default();
        for visit in &self.visits {
            all.merge(&visit.latency);
        }
        all
    }

    /// The settings in words, without the axis that a plot shows along its bottom.
    pub fn words(&self, without: &str) -> String {
        let words = self.settings.iter().filter(|(name, _)| name != without);
        let words = words.map(|(name, setting)| match (name.as_str(), setting) {
            ("order", Setting::Text(text)) => {
                text.parse::<Distribution>().map_or_else(|_| text.clone(), |order| order.words())
            }
            (_, Setting::Text(text)) => text.clone(),
            (_, Setting::Flag(true)) => name.clone(),
            (_, Setting::Flag(false)) => format!("not {name}"),
            (_, number) => format!("{name} {number}"),
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Results {
    /// Stores that have points, in the order in which they were named.
    pub fn present(&self) -> Vec<&str> {
        let all = self.stores.iter().map(|entry| entry.label.as_str());
        all.filter(|label| self.points.iter().any(|point| point.store == *label)).collect()
    }

    /// The point of a store at the settings of another.
    pub fn peer(&self, of: &Point, store: &str) -> Option<&Point> {
        self.points.iter().find(|point| point.store == store && point.settings == of.settings)
    }

    /// The part of these measurements that another experiment looks at.
    pub fn seen_as(&self, other: &Experiment) -> Self {
        let mine = &self.experiment;
        let mut seen = Self { experiment: other.clone(), ..self.clone() };
        seen.experiment.workload = mine.workload.clone();
        seen.experiment.sweep.clone_from(&mine.sweep);
        seen.experiment.load.clone_from(&mine.load);
        seen.experiment.record.clone_from(&mine.record);
        seen.experiment.graph.clone_from(&mine.graph);
        let cases: Vec<&str> = other.fill.iter().map(|case| case.name.as_str()).collect();
        seen.points.retain(|point| {
            let case = point.setting("case").map(ToString::to_string);
            case.is_none_or(|case| cases.contains(&case.as_str()))
        });
        let takes_part = |label: &str| {
            let left_out = mine.stores.iter().any(|name| name == label);
            !left_out || other.stores.iter().any(|name| name == label)
        };
        seen.points.retain(|point| takes_part(&point.store));
        seen.stores.retain(|entry| takes_part(&entry.label));
        seen.notes.push(format!(
            "The measurements are those of {}: one run that is looked at twice, as in the study.",
            mine.name
        ));
        seen
    }
}

#[cfg(test)]
impl Results {
    /// Those of a run that visited nothing, for tests of what is said about one.
    pub fn bare(experiment: Experiment, length: Length) -> Self {
        Self {
            experiment,
            length,
            scale: 1.0,
            command: String::new(),
            began: String::new(),
            seconds: 1.0,
            dolium: String::new(),
            method: crate::limits::METHOD,
            machine: Machine::read(),
            noise: Vec::new(),
            stores: Vec::new(),
            points: Vec::new(),
            notes: Vec::new(),
            interrupted: false,
        }
    }
}
