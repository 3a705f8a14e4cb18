//! What happened when: a line a store over time, the warm-up shaded, the store's events marked.
//!
//! Of several repetitions the median of each interval is drawn, and the range as a band.

use super::draw::{area, band, note, path};
use super::frame::{Ask, Frame, Key, WIDTH};
use super::scale::{Scale, Unit};
use super::style::{FAINT, SHADE, colour};
use super::{Drawing, panels, titled};
use crate::experiment::Plot;
use crate::run::figures;
use crate::run::results::{Event, Point, Results};
use crate::statistics::median;

/// One line: seconds, and least, median and largest of the repetitions.
struct Line {
    store_place: usize,
    faint: bool,
    steps: Vec<(f64, f64, f64, f64)>,
    events: Vec<Event>,
}

/// One drawing for each combination of settings.
pub fn draw(plot: &Plot, results: &Results) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    // Inside and outside of a phase are one line over time.
    for panel in panels(results, "when") {
        let mut lines = Vec::new();
        let mut warm_up = 0.0;
        for (place, store) in results.present().iter().enumerate() {
            let mine = |point: &&Point| {
                let timed = point.visits.iter().any(|visit| visit.series.is_some());
                timed && point.store == *store && point.words("when") == panel
            };
            let Some(point) = results.points.iter().find(mine) else { continue };
            let first = point.visits.iter().find_map(|visit| visit.series.as_ref());
            warm_up = first.map_or(warm_up, |series| series.warm_up.max(warm_up));
            // Without a figure of its own a series shows how long clients waited: half of them,
            // and one in a hundred.
            let wanted: &[(&str, bool)] = if plot.y.is_empty() {
                &[("p50", false), ("p99", true)]
            } else {
                &[(&plot.y, false)]
            };
            for (figure, faint) in wanted {
                let steps = steps(point, figure);
                if !steps.is_empty() {
                    let events =
                        point.visits.first().map(|visit| visit.events.clone()).unwrap_or_default();
                    lines.push(Line { store_place: place, faint: *faint, steps, events });
                }
            }
        }
        if !lines.is_empty() {
            let title = titled(plot, &panel);
            let stores = results.present();
            drawings.push(Drawing { svg: one(plot, &title, &lines, warm_up, &stores), title });
        }
    }
    drawings
}

fn steps(point: &Point, figure: &str) -> Vec<(f64, f64, f64, f64)> {
    let all: Vec<_> = point.visits.iter().filter_map(|visit| visit.series.as_ref()).collect();
    let longest = all.iter().map(|series| series.at.len()).max().unwrap_or(0);
    (0..longest)
        .filter_map(|number| {
            let at = all.iter().find_map(|series| series.at.get(number))?;
            let values: Vec<f64> = all
                .iter()
                .filter_map(|series| series.lines.get(figure)?.get(number).copied().flatten())
                .collect();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (!values.is_empty()).then(|| (*at, low, median(values.iter().copied()), high))
        })
        .collect()
}

fn one(plot: &Plot, title: &str, lines: &[Line], warm_up: f64, stores: &[&str]) -> String {
    let figure = if plot.y.is_empty() { "p50" } else { plot.y.as_str() };
    let latency = Unit::of(figure) == Unit::Time;
    let last =
        lines.iter().flat_map(|line| line.steps.last()).map(|step| step.0).fold(0.1, f64::max);
    let x = Scale::exactly(0.0, last * 1.01, false);
    let y = Scale::around(
        lines.iter().flat_map(|line| line.steps.iter().map(|step| step.2)),
        latency || plot.log_y,
    );
    let keys = lines.iter().filter(|line| !line.faint).map(|line| Key {
        label: stores[line.store_place].into(),
        colour: colour(stores[line.store_place], line.store_place).into(),
        shape: 0,
    });
    let ask = Ask {
        title,
        x_label: "seconds since the first request",
        y_label: match plot.y.as_str() {
            "" => "latency: median, dashed 99th percentile",
            _ => figures::label(figure),
        },
        x_unit: Unit::Plain,
        y_unit: Unit::of(figure),
        keys: keys.collect(),
        width: WIDTH,
    };
    let mut frame = Frame::new(&ask, x, y);
    let (top, bottom) = frame.field();
    if warm_up > 0.0 {
        let (from, to) = (frame.x.place(0.0), frame.x.place(warm_up));
        let shade = area(from, top, to, bottom, SHADE, r#"fill-opacity="0.9""#);
        frame.out.push_str(&shade);
        frame.out.push_str(&note(from + 4.0, top + 12.0, "start", FAINT, "warm-up"));
    }
    let mut row = 0.0;
    let mut named: Vec<(usize, &String)> = Vec::new();
    for line in lines.iter().filter(|line| !line.faint) {
        let shade = colour(stores[line.store_place], line.store_place);
        for event in &line.events {
            let (from, to) = (frame.x.place(event.from), frame.x.place(event.to));
            let mark = area(from, top, to.max(from + 1.5), bottom, shade, r#"fill-opacity="0.13""#);
            frame.out.push_str(&mark);
            // What happens again and again is named once, where it lasts longest.
            let same = line.events.iter().filter(|other| other.name == event.name);
            let longest = same.map(|other| other.to - other.from).fold(0.0, f64::max);
            if event.to - event.from < longest || named.contains(&(line.store_place, &event.name)) {
                continue;
            }
            named.push((line.store_place, &event.name));
            let words = format!("{}: {}", stores[line.store_place], event.name);
            let y = top + 12.0 + 12.0 * row;
            // Where there is more room.
            let (place, side) = match event.from * 2.0 > last {
                true => (to.max(from + 1.5) - 3.0, "end"),
                false => (from + 3.0, "start"),
            };
            frame.out.push_str(&note(place, y, side, shade, &words));
            row = (row + 1.0) % 5.0;
        }
    }
    for line in lines {
        let shade = colour(stores[line.store_place], line.store_place);
        let at = |x: f64, y: f64| (frame.x.place(x), frame.y.place(y));
        if !line.faint {
            let upper: Vec<_> = line.steps.iter().map(|step| at(step.0, step.3)).collect();
            let lower: Vec<_> = line.steps.iter().map(|step| at(step.0, step.1)).collect();
            frame.out.push_str(&band(&upper, &lower, shade));
        }
        let places: Vec<_> = line.steps.iter().map(|step| Some(at(step.0, step.2))).collect();
        let dashes = if line.faint { r#"stroke-dasharray="4 3""# } else { "" };
        frame.out.push_str(&path(&places, shade, if line.faint { 1.4 } else { 1.9 }, dashes));
    }
    frame.finish()
}
