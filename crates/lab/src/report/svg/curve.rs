//! Latency against throughput: every point is a setting, the line joins them in its order, and a
//! rule shows where the quality of service ends.

use super::draw::{note, path};
use super::frame::{Ask, Frame, Key, WIDTH};
use super::scale::{Scale, Unit};
use super::style::{ALARM, colour, mark};
use super::{Drawing, titled};
use crate::experiment::{Axis, Plot};
use crate::run::figures;
use crate::run::results::Results;

/// One drawing over all settings.
pub fn draw(plot: &Plot, results: &Results) -> Vec<Drawing> {
    let stores = results.present();
    let mut lines: Vec<(usize, Vec<(f64, f64, String)>)> = Vec::new();
    for (place, store) in stores.iter().enumerate() {
        let points = results.points.iter().filter(|point| point.store == *store);
        let steps: Vec<(f64, f64, String)> = points
            .filter_map(|point| {
                let (rate, latency) = (point.estimate("rate")?, point.estimate(&plot.y)?);
                let setting = point.settings.last().map(|(_, setting)| setting.to_string());
                Some((rate.value, latency.value, setting.unwrap_or_default()))
            })
            .collect();
        if !steps.is_empty() {
            lines.push((place, steps));
        }
    }
    if lines.is_empty() {
        return Vec::new();
    }
    let axis = results.experiment.sweep.last().map_or("", |sweep| Axis::label(sweep.axis.name()));
    let bound = results.experiment.load.quality_us;
    let x =
        Scale::around(lines.iter().flat_map(|(_, steps)| steps.iter().map(|step| step.0)), false);
    let latencies = lines.iter().flat_map(|(_, steps)| steps.iter().map(|step| step.1));
    let y = Scale::around(latencies.chain([bound]), true);
    let keys = lines.iter().map(|(place, _)| Key {
        label: stores[*place].into(),
        colour: colour(stores[*place], *place).into(),
        shape: *place,
    });
    let title = titled(plot, &format!("numbers are {axis}"));
    let ask = Ask {
        title: &title,
        x_label: figures::label("rate"),
        y_label: figures::label(&plot.y),
        x_unit: Unit::Plain,
        y_unit: Unit::Time,
        keys: keys.collect(),
        width: WIDTH,
    };
    let mut frame = Frame::new(&ask, x, y);
    let (left, right) = frame.sides();
    let limit = frame.y.place(bound);
    frame.out.push_str(&format!(
        r#"<line x1="{left:.1}" y1="{limit:.1}" x2="{right:.1}" y2="{limit:.1}" stroke="{ALARM}" stroke-dasharray="6 4"/>"#
    ));
    let words = format!("quality of service: {}", Unit::Time.text(bound));
    frame.out.push_str(&note(left + 4.0, limit - 5.0, "start", ALARM, &words));
    for (place, steps) in &lines {
        let shade = colour(stores[*place], *place);
        let at = |step: &(f64, f64, String)| (frame.x.place(step.0), frame.y.place(step.1));
        let places: Vec<_> = steps.iter().map(|step| Some(at(step))).collect();
        frame.out.push_str(&path(&places, shade, 2.0, ""));
        let mut last_note: Option<(f64, f64)> = None;
        for step in steps {
            let (x, y) = at(step);
            frame.out.push_str(&mark(*place, x, y, shade));
            // Names that would lie on each other are left out; the order of the line tells them.
            let clear = last_note.is_none_or(|(a, b)| (x - a).hypot(y - b) > 18.0);
            if clear {
                frame.out.push_str(&note(x - 6.0, y - 6.0, "end", shade, &step.2));
                last_note = Some((x, y));
            }
        }
    }
    vec![Drawing { title, svg: frame.finish() }]
}
