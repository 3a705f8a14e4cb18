//! CPU time of the machine by kind, stacked: a bar for each store at each setting.

use super::Drawing;
use super::draw::{area, note};
use super::frame::{Ask, Frame, Key, WIDTH};
use super::scale::{Scale, Unit};
use super::style::FAINT;
use crate::experiment::Plot;
use crate::run::results::{Point, Results};

/// Figure, name and colour from the bottom up.
const KINDS: [(&str, &str, &str); 6] = [
    ("cpu_user", "user", "#0072b2"),
    ("cpu_system", "system", "#d55e00"),
    ("cpu_softirq", "soft interrupts", "#e69f00"),
    ("cpu_irq", "interrupts", "#cc79a7"),
    ("cpu_iowait", "waiting for disks", "#009e73"),
    ("cpu_steal", "taken by the host", "#999999"),
];

/// One drawing for each store.
pub fn draw(plot: &Plot, results: &Results) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for store in results.present() {
        let points: Vec<&Point> = results
            .points
            .iter()
            .filter(|point| point.store == store && point.estimate("cpu_system").is_some())
            .collect();
        if points.is_empty() {
            continue;
        }
        let title = format!("{}: {store}", plot.title);
        drawings.push(Drawing { svg: one(plot, &title, &points), title });
    }
    drawings
}

fn one(plot: &Plot, title: &str, points: &[&Point]) -> String {
    let names: Vec<String> = points
        .iter()
        .map(|point| point.setting(&plot.x).map_or_else(|| point.words(""), ToString::to_string))
        .collect();
    let keys = KINDS.iter().map(|(_, label, colour)| Key {
        label: (*label).into(),
        colour: (*colour).into(),
        shape: 1,
    });
    let ask = Ask {
        title,
        x_label: crate::experiment::Axis::label(&plot.x),
        y_label: "percent of all cores",
        x_unit: Unit::Plain,
        y_unit: Unit::Percent,
        keys: keys.collect(),
        width: WIDTH,
    };
    let (mut frame, middles, band) =
        Frame::with_names(&ask, &names, Scale::exactly(0.0, 100.0, false));
    let half = (band * 0.35).min(24.0);
    for (point, middle) in points.iter().zip(middles) {
        let mut below = 0.0;
        for (figure, _, colour) in KINDS {
            let share = point.estimate(figure).map_or(0.0, |estimate| estimate.value);
            let (from, to) = (frame.y.place(below), frame.y.place(below + share));
            frame.out.push_str(&area(middle - half, from, middle + half, to, colour, ""));
            below += share;
        }
    }
    let (left, _) = frame.sides();
    let (top, _) = frame.field();
    frame.out.push_str(&note(left + 4.0, top + 11.0, "start", FAINT, "generator included"));
    frame.finish()
}
