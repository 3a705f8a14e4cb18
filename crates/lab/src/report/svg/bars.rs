//! A figure as bars: a group for each setting, a bar for each store; or the ratio of two stores.

use super::draw::{area, note};
use super::frame::{Ask, Frame, Key, WIDTH};
use super::scale::{Scale, Unit, trimmed};
use super::style::{FAINT, INK, NEUTRAL, colour};
use super::{Drawing, panels};
use crate::experiment::{Axis, Plot};
use crate::run::figures;
use crate::run::results::{Point, Results};
use crate::statistics::Estimate;

/// Groups that fit on the usual width; more make the drawing wider.
const GROUPS: usize = 8;
const GROUP_WIDTH: f64 = 62.0;
/// Groups that fit on a page; more are drawn one row after another.
const GROUPS_MOST: usize = 14;

/// A bar: its group, its series, its value.
pub struct BarValue {
    pub group: String,
    pub series: String,
    pub value: Estimate,
}

/// One drawing, if there is anything to draw.
pub fn draw(plot: &Plot, results: &Results) -> Vec<Drawing> {
    let bars = if plot.ratio.len() == 2 { ratios(plot, results) } else { values(plot, results) };
    if bars.is_empty() {
        return Vec::new();
    }
    let ratio = plot.ratio.len() == 2;
    let y_label = if ratio {
        format!("{}, {} / {}", bare(&plot.y), plot.ratio[0], plot.ratio[1])
    } else {
        figures::label(&plot.y).to_string()
    };
    let x_label = if plot.x.is_empty() || ratio { "" } else { Axis::label(&plot.x) };
    let unit = if ratio { Unit::Plain } else { Unit::of(&plot.y) };
    let rows = rows(bars);
    let many = rows.len();
    let row = |(number, bars): (usize, Vec<BarValue>)| {
        let title = match many {
            1 => plot.title.clone(),
            _ => format!("{}, {} of {many}", plot.title, number + 1),
        };
        let svg = grouped(&title, x_label, &y_label, unit, plot.log_y, ratio, &bars);
        Drawing { title, svg }
    };
    rows.into_iter().enumerate().map(row).collect()
}

/// The bars of as many groups as fit side by side, evenly.
fn rows(bars: Vec<BarValue>) -> Vec<Vec<BarValue>> {
    let mut groups: Vec<String> = bars.iter().map(|bar| bar.group.clone()).collect();
    groups.dedup();
    let many = groups.len().div_ceil(GROUPS_MOST).max(1);
    let each = groups.len().div_ceil(many).max(1);
    let mut rows: Vec<Vec<BarValue>> = (0..many).map(|_| Vec::new()).collect();
    for bar in bars {
        let place = groups.iter().position(|group| *group == bar.group).unwrap_or(0);
        rows[place / each].push(bar);
    }
    rows
}

/// A figure's label without its unit.
fn bare(figure: &str) -> &str {
    let label = figures::label(figure);
    label.split_once(',').map_or(label, |(name, _)| name)
}

fn values(plot: &Plot, results: &Results) -> Vec<BarValue> {
    let stores = results.present();
    let mut bars = Vec::new();
    for group in panels(results, "") {
        for store in &stores {
            let mine = |point: &&Point| point.store == *store && point.words("") == group;
            let Some(value) =
                results.points.iter().find(mine).and_then(|point| point.estimate(&plot.y))
            else {
                continue;
            };
            bars.push(BarValue { group: group.clone(), series: (*store).into(), value });
        }
    }
    bars
}

fn ratios(plot: &Plot, results: &Results) -> Vec<BarValue> {
    let above = results.points.iter().filter(|point| point.store == plot.ratio[0]);
    above
        .filter_map(|point| {
            let below = results.peer(point, &plot.ratio[1])?;
            let value = Estimate::of_ratio(&point.by_round(&plot.y), &below.by_round(&plot.y));
            let series = format!("{} / {}", plot.ratio[0], plot.ratio[1]);
            value.value.is_finite().then(|| BarValue { group: point.words(""), series, value })
        })
        .collect()
}

/// Bars in groups. A ratio has a line at one.
pub fn grouped(
    title: &str,
    x_label: &str,
    y_label: &str,
    unit: Unit,
    log: bool,
    ratio: bool,
    bars: &[BarValue],
) -> String {
    let mut groups: Vec<String> = Vec::new();
    let mut series: Vec<String> = Vec::new();
    for bar in bars {
        if !groups.contains(&bar.group) {
            groups.push(bar.group.clone());
        }
        if !series.contains(&bar.series) {
            series.push(bar.series.clone());
        }
    }
    let ends = bars.iter().flat_map(|bar| [bar.value.value, bar.value.high]);
    let y = Scale::around(ends.chain(ratio.then_some(1.0)), log);
    let keys = if series.iter().all(String::is_empty) || (ratio && series.len() == 1) {
        Vec::new()
    } else {
        series
            .iter()
            .enumerate()
            .map(|(place, label)| Key {
                label: label.clone(),
                colour: colour(label, place).into(),
                shape: 1,
            })
            .collect()
    };
    let width = WIDTH.max(GROUP_WIDTH * groups.len() as f64 + 90.0);
    let width = if groups.len() <= GROUPS { WIDTH } else { width };
    let ask = Ask { title, x_label, y_label, x_unit: Unit::Plain, y_unit: unit, keys, width };
    let (mut frame, middles, band) = Frame::with_names(&ask, &groups, y);
    let bar_width = (band * 0.78 / series.len() as f64).min(64.0);
    let (_, floor) = frame.field();
    for bar in bars {
        let group = groups.iter().position(|name| *name == bar.group).unwrap_or(0);
        let place = series.iter().position(|name| *name == bar.series).unwrap_or(0);
        // A group without some of the series stands in its middle all the same.
        let mine: Vec<&str> = bars
            .iter()
            .filter(|other| other.group == bar.group)
            .map(|other| other.series.as_str())
            .collect();
        let within = mine.iter().position(|name| *name == bar.series).unwrap_or(0);
        let left = middles[group] + bar_width * (within as f64 - mine.len() as f64 / 2.0);
        let Estimate { value, low, high } = bar.value;
        let tip = frame.y.place(value);
        let shade =
            if ratio || bar.series.is_empty() { NEUTRAL } else { colour(&bar.series, place) };
        let inner = (left + 1.5, left + bar_width - 1.5);
        frame.out.push_str(&area(inner.0, tip, inner.1, floor, shade, r#"rx="1.5""#));
        let middle = left + bar_width / 2.0;
        if high > low {
            let (top, bottom) = (frame.y.place(high), frame.y.place(low));
            frame.rule(middle, top, middle, bottom, INK);
            frame.rule(middle - 4.0, top, middle + 4.0, top, INK);
            frame.rule(middle - 4.0, bottom, middle + 4.0, bottom, INK);
        }
        if bar_width > 24.0 {
            let above = frame.y.place(value.max(high)) - 5.0;
            let words = if ratio { format!("{} ×", trimmed(value)) } else { unit.text(value) };
            frame.out.push_str(&note(middle, above, "middle", INK, &words));
        }
    }
    if ratio {
        let one = frame.y.place(1.0);
        let (left, right) = frame.sides();
        frame.rule(left, one, right, one, FAINT);
        frame.out.push_str(&note(right - 2.0, one - 4.0, "end", FAINT, "equal"));
    }
    frame.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_groups_go_in_rows_of_a_page_and_none_is_lost() {
        let bar = |number: usize| BarValue {
            group: format!("group {}", number / 2),
            series: ["one", "two"][number % 2].into(),
            value: Estimate { value: 1.0, low: 1.0, high: 1.0 },
        };
        let counts = |groups: usize| -> Vec<usize> {
            rows((0..2 * groups).map(bar).collect()).iter().map(Vec::len).collect()
        };
        assert_eq!(counts(14), [28]);
        assert_eq!(counts(15), [16, 14]);
        assert_eq!(counts(0), [0; 1]);
    }
}
