//! Plots as SVG text: scales, a frame with axes and a legend, and one file for each kind of plot.
//!
//! Colours are Okabe and Ito's, which people with any colour vision tell apart; lines also differ
//! by the shape of their marks. A plot is complete in itself: it can be taken out of the page.

mod bars;
mod boxes;
mod curve;
mod distribution;
mod draw;
mod frame;
mod lines;
pub mod published;
mod scale;
mod series;
mod stack;
mod style;

use crate::experiment::{Plot, PlotKind};
use crate::run::results::Results;

/// A drawing and what it shows.
pub struct Drawing {
    pub title: String,
    pub svg: String,
}

/// Everything that one plot of the experiment shows: one drawing, or one for each combination of
/// the settings that are not on its axes. Nothing if nothing was measured for it.
pub fn draw(plot: &Plot, results: &Results) -> Vec<Drawing> {
    match plot.kind {
        PlotKind::Lines => lines::draw(plot, results),
        PlotKind::Bars => bars::draw(plot, results),
        PlotKind::Boxes => boxes::draw(plot, results),
        PlotKind::Distribution => distribution::draw(plot, results),
        PlotKind::Series => series::draw(plot, results),
        PlotKind::Curve => curve::draw(plot, results),
        PlotKind::Stack => stack::draw(plot, results),
    }
}

/// Settings in words without one axis, each once, in the order of the run.
fn panels(results: &Results, without: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for point in &results.points {
        let one = point.words(without);
        if !words.contains(&one) {
            words.push(one);
        }
    }
    words
}

fn titled(plot: &Plot, panel: &str) -> String {
    if panel.is_empty() { plot.title.clone() } else { format!("{}: {panel}", plot.title) }
}
