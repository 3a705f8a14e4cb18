//! One row for every round: store, settings, figures.

use std::collections::BTreeSet;

use crate::run::results::Results;

/// The table as text.
pub fn text(results: &Results) -> String {
    let axes: Vec<&str> = {
        let mut seen: Vec<&str> = Vec::new();
        for point in &results.points {
            for (name, _) in &point.settings {
                if !seen.contains(&name.as_str()) {
                    seen.push(name);
                }
            }
        }
        seen
    };
    let visits = || results.points.iter().flat_map(|point| &point.visits);
    let figures: BTreeSet<&str> =
        visits().flat_map(|visit| visit.figures.keys().map(String::as_str)).collect();
    let mut out = String::from("store,repetition");
    for name in axes.iter().chain(&figures.iter().copied().collect::<Vec<_>>()) {
        out.push(',');
        out.push_str(&cell(name));
    }
    out.push('\n');
    for point in &results.points {
        for (repetition, visit) in point.visits.iter().enumerate() {
            out.push_str(&format!("{},{}", cell(&point.store), repetition + 1));
            for axis in &axes {
                out.push(',');
                out.push_str(
                    &point.setting(axis).map_or(String::new(), |one| cell(&one.to_string())),
                );
            }
            for figure in &figures {
                out.push(',');
                if let Some(value) = visit.figures.get(*figure) {
                    out.push_str(&value.to_string());
                }
            }
            out.push('\n');
        }
    }
    out
}

fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_holds_anything() {
        assert_eq!(cell("plain"), "plain");
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell("say \"x\""), "\"say \"\"x\"\"\"");
    }
}
