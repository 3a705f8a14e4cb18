//! `[[plot]]`: what is drawn of an experiment, and what the study drew.

use serde::{Deserialize, Serialize};

/// One drawing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plot {
    pub kind: PlotKind,
    pub title: String,
    /// Axis of the sweep along the bottom (`lines`, `bars`, `stack`).
    #[serde(default)]
    pub x: String,
    /// Figure on the left.
    #[serde(default)]
    pub y: String,
    #[serde(default)]
    pub log_x: bool,
    #[serde(default)]
    pub log_y: bool,
    /// `bars`: the figure of the first of two stores divided by that of the second.
    #[serde(default)]
    pub ratio: Vec<String>,
    /// What the study showed.
    #[serde(default)]
    pub published: Option<PublishedPlot>,
}

/// Ways to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// A figure over an axis, one line a store.
    Lines,
    /// A figure for each value of an axis, one bar a store.
    Bars,
    /// Latency as boxes.
    Boxes,
    /// Latency as shares of requests, on axes that show the rare ones.
    Distribution,
    /// Latency and throughput over time, with the store's events.
    Series,
    /// Latency against throughput, with the quality of service.
    Curve,
    /// CPU time by kind, stacked.
    Stack,
}

/// What a study showed, in the figures that it published.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct PublishedPlot {
    pub x: String,
    pub y: String,
    pub log_x: bool,
    pub log_y: bool,
    pub points: Vec<Point>,
    pub bars: Vec<Bar>,
    /// Lines that only follow the study's words, where it gave no figures.
    pub sketches: Vec<Sketch>,
}

/// A published point.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub label: String,
}

/// A published quantity.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bar {
    pub label: String,
    pub value: f64,
    /// Bars of one series have one colour.
    #[serde(default)]
    pub series: String,
}

/// A line that has the form that the study describes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sketch {
    pub label: String,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}
