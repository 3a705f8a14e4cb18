//! Latency as boxes: the middle half of the requests, the line of the median, whiskers from the
//! 5th to the 95th percentile, a mark at the 99th.

use super::draw::area;
use super::frame::{Ask, Frame, Key, WIDTH};
use super::scale::{Scale, Unit};
use super::style::{colour, mark};
use super::{Drawing, panels};
use crate::experiment::Plot;
use crate::run::results::{Point, Results};

/// Percentiles of one box.
struct Box5 {
    group: usize,
    store: usize,
    low: f64,
    quarter: f64,
    middle: f64,
    three: f64,
    high: f64,
    p99: f64,
}

/// One drawing with a group for each setting.
pub fn draw(plot: &Plot, results: &Results) -> Vec<Drawing> {
    let (groups, stores) = (panels(results, ""), results.present());
    let mut boxes = Vec::new();
    for (group, words) in groups.iter().enumerate() {
        for (store, name) in stores.iter().enumerate() {
            let mine = |point: &&Point| point.store == *name && point.words("") == *words;
            let Some(point) = results.points.iter().find(mine) else { continue };
            let latency = point.latency();
            if latency.total() == 0 {
                continue;
            }
            let at = |share: f64| latency.quantile_us(share);
            boxes.push(Box5 {
                group,
                store,
                low: at(0.05),
                quarter: at(0.25),
                middle: at(0.5),
                three: at(0.75),
                high: at(0.95),
                p99: at(0.99),
            });
        }
    }
    if boxes.is_empty() {
        return Vec::new();
    }
    let y = Scale::around(boxes.iter().flat_map(|one| [one.low, one.high, one.p99]), true);
    let keys = stores.iter().enumerate().map(|(place, store)| Key {
        label: (*store).into(),
        colour: colour(store, place).into(),
        shape: 1,
    });
    let names: Vec<String> = groups
        .iter()
        .map(|name| if name.is_empty() { "all".into() } else { name.clone() })
        .collect();
    let ask = Ask {
        title: &plot.title,
        x_label: "box: middle half; line: median; whiskers: 5th to 95th percentile; mark: 99th",
        y_label: "latency",
        x_unit: Unit::Plain,
        y_unit: Unit::Time,
        keys: keys.collect(),
        width: WIDTH,
    };
    let (mut frame, middles, band) = Frame::with_names(&ask, &names, y);
    let room = (band * 0.8 / stores.len() as f64).min(56.0);
    for one in &boxes {
        let shade = colour(stores[one.store], one.store);
        let left = middles[one.group] + room * (one.store as f64 - stores.len() as f64 / 2.0);
        let (from, to) = (left + room * 0.14, left + room * 0.86);
        let middle = left + room / 2.0;
        let place = |value: f64| frame.y.place(value);
        let (low, quarter, half) = (place(one.low), place(one.quarter), place(one.middle));
        let (three, high, p99) = (place(one.three), place(one.high), place(one.p99));
        frame.rule(middle, high, middle, low, shade);
        for end in [low, high] {
            frame.rule(middle - 6.0, end, middle + 6.0, end, shade);
        }
        let soft = format!(r##"stroke="{shade}" stroke-width="1.3" fill-opacity="0.25""##);
        frame.out.push_str(&area(from, three, to, quarter, shade, &soft));
        let thick = format!(
            r#"<line x1="{from:.1}" y1="{half:.1}" x2="{to:.1}" y2="{half:.1}" stroke="{shade}" stroke-width="2.6"/>"#
        );
        frame.out.push_str(&thick);
        frame.out.push_str(&mark(one.store, middle, p99, shade));
    }
    vec![Drawing { title: plot.title.clone(), svg: frame.finish() }]
}
