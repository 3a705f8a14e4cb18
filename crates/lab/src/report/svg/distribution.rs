//! Which share of the requests waited longer than a time: both axes logarithmic, so that the one
//! request in ten thousand is as visible as the median.

use super::draw::path;
use super::frame::{Ask, Frame, Key, WIDTH};
use super::scale::{Scale, Unit};
use super::style::{FAINT, colour};
use super::{Drawing, panels, titled};
use crate::experiment::Plot;
use crate::generator::Counts;
use crate::run::results::{Point, Results};

/// Smallest share that is drawn: fewer requests than that say more about chance.
const SHARE_LEAST: f64 = 1e-5;

/// One drawing for each combination of settings.
pub fn draw(plot: &Plot, results: &Results) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for panel in panels(results, "") {
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for store in results.present() {
            let mine = |point: &&Point| point.store == store && point.words("") == panel;
            let Some(point) = results.points.iter().find(mine) else { continue };
            let steps = longer(&point.latency());
            if !steps.is_empty() {
                lines.push((store.to_string(), steps));
            }
        }
        if !lines.is_empty() {
            let title = titled(plot, &panel);
            drawings.push(Drawing { svg: one(&title, &lines), title });
        }
    }
    drawings
}

/// Latency in microseconds and the share that was longer.
fn longer(latency: &Counts) -> Vec<(f64, f64)> {
    let total = latency.total() as f64;
    let mut left = total;
    let mut steps = Vec::new();
    for &(value, count) in &latency.0 {
        let share = left / total;
        if share < SHARE_LEAST {
            break;
        }
        steps.push((value as f64 / 1e3, share));
        left -= count as f64;
    }
    steps
}

fn one(title: &str, lines: &[(String, Vec<(f64, f64)>)]) -> String {
    let x =
        Scale::around(lines.iter().flat_map(|(_, steps)| steps.iter().map(|(us, _)| *us)), true);
    let least = lines
        .iter()
        .flat_map(|(_, steps)| steps.last())
        .map(|(_, share)| *share)
        .fold(0.01, f64::min);
    // Drawn upside down, as shares that did not wait longer grow: median low, tail high.
    let y = Scale::exactly(1.0 / 1.15, 1.0 / least, true);
    let keys = lines.iter().enumerate().map(|(place, (store, _))| Key {
        label: store.clone(),
        colour: colour(store, place).into(),
        shape: place,
    });
    let ask = Ask {
        title,
        x_label: "latency",
        y_label: "one request in … waited longer",
        x_unit: Unit::Time,
        y_unit: Unit::Plain,
        keys: keys.collect(),
        width: WIDTH,
    };
    let mut frame = Frame::new(&ask, x, y);
    for (name, share) in [("p50", 0.5), ("p99", 0.01), ("p99.9", 0.001)] {
        if share >= least {
            let at = frame.y.place(1.0 / share);
            let (_, right) = frame.sides();
            frame.out.push_str(&super::draw::note(right - 2.0, at - 3.0, "end", FAINT, name));
        }
    }
    for (place, (store, steps)) in lines.iter().enumerate() {
        let places: Vec<_> = steps
            .iter()
            .map(|(us, share)| Some((frame.x.place(*us), frame.y.place(1.0 / share))))
            .collect();
        frame.out.push_str(&path(&places, colour(store, place), 2.0, ""));
        // Marks at the named percentiles let a reader without colours follow a line.
        for share in [0.5, 0.1, 0.01, 0.001] {
            if let Some((us, _)) = steps.iter().rev().find(|(_, longer)| *longer >= share) {
                let (x, y) = (frame.x.place(*us), frame.y.place(1.0 / share));
                frame.out.push_str(&super::style::mark(place, x, y, colour(store, place)));
            }
        }
    }
    frame.finish()
}
