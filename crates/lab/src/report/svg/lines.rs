//! A figure over an axis of the sweep: one line a store, its interval as a band around it.

use super::draw::{band, path};
use super::frame::{Ask, Frame, Key, WIDTH};
use super::scale::{Scale, Unit};
use super::style::{colour, mark};
use super::{Drawing, panels, titled};
use crate::experiment::{Axis, Plot, Setting};
use crate::run::figures;
use crate::run::results::{Point, Results};
use crate::statistics::Estimate;

struct Line {
    store: String,
    places: Vec<(f64, Estimate)>,
}

/// One drawing for each combination of the other axes.
pub fn draw(plot: &Plot, results: &Results) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for panel in panels(results, &plot.x) {
        let lines = lines(plot, results, &panel);
        if lines.is_empty() {
            continue;
        }
        let title = titled(plot, &panel);
        drawings.push(Drawing { svg: one(plot, &title, &lines), title });
    }
    drawings
}

fn lines(plot: &Plot, results: &Results, panel: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for store in results.present() {
        let mine = |point: &&Point| point.store == store && point.words(&plot.x) == panel;
        let mut places: Vec<(f64, Estimate)> = results
            .points
            .iter()
            .filter(mine)
            .filter_map(|point| {
                let x = point.setting(&plot.x).and_then(Setting::number)?;
                Some((x, point.estimate(&plot.y)?))
            })
            .collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        if !places.is_empty() {
            lines.push(Line { store: store.to_string(), places });
        }
    }
    lines
}

fn one(plot: &Plot, title: &str, lines: &[Line]) -> String {
    let all = || lines.iter().flat_map(|line| line.places.iter());
    let x = Scale::around(all().map(|(x, _)| *x), plot.log_x);
    let y = Scale::around(all().flat_map(|(_, e)| [e.value, e.low, e.high]), plot.log_y);
    let keys = lines.iter().enumerate().map(|(place, line)| Key {
        label: line.store.clone(),
        colour: colour(&line.store, place).into(),
        shape: place,
    });
    let ask = Ask {
        title,
        x_label: Axis::label(&plot.x),
        y_label: figures::label(&plot.y),
        x_unit: Unit::of(&plot.x),
        y_unit: Unit::of(&plot.y),
        keys: keys.collect(),
        width: WIDTH,
    };
    let mut frame = Frame::new(&ask, x, y);
    for (number, line) in lines.iter().enumerate() {
        let colour = colour(&line.store, number);
        let at = |x: f64, y: f64| (frame.x.place(x), frame.y.place(y));
        let upper: Vec<_> = line.places.iter().map(|(x, e)| at(*x, e.high)).collect();
        let lower: Vec<_> = line.places.iter().map(|(x, e)| at(*x, e.low)).collect();
        let middle: Vec<_> = line.places.iter().map(|(x, e)| at(*x, e.value)).collect();
        frame.out.push_str(&band(&upper, &lower, colour));
        let places: Vec<_> = middle.iter().copied().map(Some).collect();
        frame.out.push_str(&path(&places, colour, 2.0, ""));
        for (x, y) in middle {
            frame.out.push_str(&mark(number, x, y, colour));
        }
    }
    frame.finish()
}
