//! What a study showed, drawn from the figures that it published. Where it gave words and no
//! figures, a dashed line has the form of the words and says so.

use super::bars::{BarValue, grouped};
use super::draw::{note, path};
use super::frame::{Ask, Frame, Key, WIDTH};
use super::scale::{Scale, Unit};
use super::style::{FAINT, INK, colour, mark};
use crate::experiment::PublishedPlot;
use crate::statistics::Estimate;

/// The published figure of one plot.
pub fn draw(study: &str, plot: &PublishedPlot) -> String {
    let title = format!("{study}, as published");
    if plot.bars.is_empty() { places(&title, plot) } else { bars(&title, plot) }
}

fn unit(label: &str) -> Unit {
    if label.contains("microseconds") {
        Unit::Time
    } else if label.contains("bytes") {
        Unit::Bytes
    } else {
        Unit::Plain
    }
}

fn bars(title: &str, plot: &PublishedPlot) -> String {
    let bars: Vec<BarValue> = plot
        .bars
        .iter()
        .map(|bar| BarValue {
            group: bar.label.clone(),
            series: bar.series.clone(),
            value: Estimate { value: bar.value, low: bar.value, high: bar.value },
        })
        .collect();
    let ratio = plot.y.contains(" / ") && plot.bars.iter().all(|bar| bar.value < 20.0);
    grouped(title, &plot.x, &plot.y, unit(&plot.y), plot.log_y, ratio, &bars)
}

fn places(title: &str, plot: &PublishedPlot) -> String {
    let points = || plot.points.iter().map(|point| (point.x, point.y));
    let sketched = || {
        plot.sketches
            .iter()
            .flat_map(|sketch| sketch.x.iter().copied().zip(sketch.y.iter().copied()))
    };
    let mut x = Scale::around(points().chain(sketched()).map(|(x, _)| x), plot.log_x);
    let mut y = Scale::around(points().chain(sketched()).map(|(_, y)| y), plot.log_y);
    // One point alone needs room around it to be seen as a place.
    if plot.sketches.is_empty() && plot.log_x {
        (x.least, x.most) = (x.least / 5.0, x.most * 2.0);
    }
    if plot.sketches.is_empty() && plot.log_y {
        (y.least, y.most) = (y.least / 10.0, y.most * 10.0);
    }
    if plot.sketches.is_empty() && !plot.log_y {
        y.most *= 1.15;
    }
    let keys = plot.sketches.iter().enumerate().map(|(place, sketch)| Key {
        label: format!("{} (form only)", sketch.label),
        colour: colour("", place).into(),
        shape: place,
    });
    let ask = Ask {
        title,
        x_label: &plot.x,
        y_label: &plot.y,
        x_unit: unit(&plot.x),
        y_unit: unit(&plot.y),
        keys: keys.collect(),
        width: WIDTH,
    };
    let mut frame = Frame::new(&ask, x, y);
    for (place, sketch) in plot.sketches.iter().enumerate() {
        let line: Vec<_> = sketch
            .x
            .iter()
            .zip(&sketch.y)
            .map(|(x, y)| Some((frame.x.place(*x), frame.y.place(*y))))
            .collect();
        frame.out.push_str(&path(&line, colour("", place), 2.0, r#"stroke-dasharray="7 5""#));
    }
    let (left, right) = frame.sides();
    let middle = crate::statistics::median(plot.points.iter().map(|point| point.y));
    for point in &plot.points {
        let (x, y) = (frame.x.place(point.x), frame.y.place(point.y));
        frame.out.push_str(&mark(0, x, y, INK));
        let right_half = x > f64::midpoint(left, right);
        let anchor = if right_half { "end" } else { "start" };
        let shift = if right_half { -8.0 } else { 8.0 };
        // Labels of high points go above and of low ones below, where they meet no neighbour's.
        let height = if point.y >= middle { y - 10.0 } else { y + 18.0 };
        frame.out.push_str(&note(x + shift, height, anchor, INK, &point.label));
    }
    if !plot.sketches.is_empty() {
        let (_, bottom) = frame.field();
        let words = "drawn from the study's words";
        frame.out.push_str(&note(right - 4.0, bottom - 6.0, "end", FAINT, words));
    }
    frame.finish()
}
