//! Results that are kept beside a program's source: compressed, small, and without what names the
//! place where they were made.
//!
//! Figures keep five digits. The latencies of a point's rounds are put together in steps of about
//! three percent, finer than any drawing shows; the percentiles of each round stay as they were.

use std::path::Path;

use crate::generator::Counts;
use crate::machine::Machine;
use crate::run::results::{Results, Visit};

/// Digits of a kept figure.
const DIGITS: i32 = 5;
/// Steps of a kept latency in each doubling.
const STEPS: f64 = 24.0;

/// The results as they are kept.
pub fn compact(results: &Results) -> Results {
    let mut kept = results.clone();
    kept.machine = nameless(&kept.machine);
    kept.command = nameless_command(&kept.command);
    for entry in &mut kept.stores {
        entry.command = nameless_command(&entry.command);
    }
    for point in &mut kept.points {
        let mut all = point.latency();
        coarsen(&mut all);
        for visit in &mut point.visits {
            visit.latency = Counts::default();
            shorten(visit);
        }
        if let Some(first) = point.visits.first_mut() {
            first.latency = all;
        }
    }
    kept
}

/// The kernel's version without what its builder added.
fn nameless(machine: &Machine) -> Machine {
    let number = |text: &str| text.split(['-', '+']).next().unwrap_or_default().to_string();
    Machine { kernel: number(&machine.kernel), ..machine.clone() }
}

/// A command whose files are named without their directories.
fn nameless_command(command: &str) -> String {
    let word = |word: &str| match Path::new(word).file_name() {
        Some(name) if word.starts_with('/') => name.to_string_lossy().into_owned(),
        _ => word.to_string(),
    };
    command.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn shorten(visit: &mut Visit) {
    for value in visit.figures.values_mut() {
        *value = digits(*value);
    }
    let Some(series) = &mut visit.series else { return };
    for at in &mut series.at {
        *at = digits(*at);
    }
    for value in series.lines.values_mut().flatten().flatten() {
        *value = digits(*value);
    }
}

fn digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = DIGITS - 1 - value.abs().log10().floor() as i32;
    if (-15..=15).contains(&places) {
        // Through text: dividing by a power of ten would leave the digits that are to go.
        let rounded = if places >= 0 {
            format!("{value:.*}", places as usize)
        } else {
            let unit = 10f64.powi(-places);
            format!("{:.0}", (value / unit).round() * unit)
        };
        return rounded.parse().unwrap_or(value);
    }
    value
}

fn coarsen(counts: &mut Counts) {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    for &(ns, count) in &counts.0 {
        let step = ((ns.max(1) as f64).log2() * STEPS).round() / STEPS;
        let ns = step.exp2().round() as u64;
        match steps.last_mut() {
            Some(last) if last.0 == ns => last.1 += count,
            _ => steps.push((ns, count)),
        }
    }
    counts.0 = steps;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_short_and_names_no_place() {
        assert_eq!(digits(123_456.789), 123_460.0);
        assert_eq!(digits(0.001_234_567), 0.001_234_6);
        assert_eq!(digits(-2.5), -2.5);
        assert_eq!(
            nameless_command("/opt/x/bin/dolium serve --unixsocket /tmp/a/b.sock"),
            "dolium serve --unixsocket b.sock"
        );
        let mut counts = Counts((1_000..2_000).map(|ns| (ns, 1)).collect());
        coarsen(&mut counts);
        assert!(counts.0.len() <= 26 && counts.total() == 1_000, "{counts:?}");
        assert!((counts.quantile_us(0.5) - 1.5).abs() < 0.03);
    }
}
