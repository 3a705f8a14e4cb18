//! From values to places, and the values that an axis names.

use crate::experiment::sweep::Axis;
use crate::run::figures;

/// What the numbers of an axis are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Plain,
    /// Microseconds, shown as ns, µs, ms or s.
    Time,
    Bytes,
    Percent,
}

impl Unit {
    /// Of a figure or an axis of the sweep.
    pub fn of(name: &str) -> Self {
        let label = figures::label(name);
        if ["mean", "least", "p50", "p90", "p99", "p999", "worst", "lag_p99"].contains(&name) {
            Self::Time
        } else if label.contains('%') {
            Self::Percent
        } else if name == Axis::Value.name() || name == Axis::Key.name() {
            Self::Bytes
        } else {
            Self::Plain
        }
    }

    /// What stands beside the axis: a time needs no unit in its name, its numbers have one.
    pub fn axis_label(self, label: &str) -> String {
        match self {
            Self::Time => label.trim_end_matches(", µs").trim_end_matches(", microseconds").into(),
            Self::Bytes => label.trim_end_matches(", bytes").into(),
            Self::Plain | Self::Percent => label.into(),
        }
    }

    /// A value in few characters.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Time => match value.abs() {
                _ if value == 0.0 => "0".into(),
                size if size < 1.0 => format!("{} ns", trimmed(value * 1e3)),
                size if size < 1e3 => format!("{} µs", trimmed(value)),
                size if size < 1e6 => format!("{} ms", trimmed(value / 1e3)),
                _ => format!("{} s", trimmed(value / 1e6)),
            },
            Self::Bytes => match value.abs() {
                size if size < 1e3 => format!("{} B", trimmed(value)),
                size if size < 1e6 => format!("{} kB", trimmed(value / 1e3)),
                _ => format!("{} MB", trimmed(value / 1e6)),
            },
            Self::Plain | Self::Percent => match value.abs() {
                size if size >= 1e9 => format!("{} G", trimmed(value / 1e9)),
                size if size >= 1e6 => format!("{} M", trimmed(value / 1e6)),
                size if size >= 1e4 => format!("{} k", trimmed(value / 1e3)),
                _ => trimmed(value),
            },
        }
    }
}

/// Up to three digits that say something.
pub fn trimmed(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// An axis: values from `least` to `most` lie between the places `from` and `to`.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub least: f64,
    pub most: f64,
    pub log: bool,
    pub from: f64,
    pub to: f64,
}

impl Scale {
    /// A scale that holds all `values`, with room around them; a linear one begins at zero.
    pub fn around(values: impl Iterator<Item = f64>, log: bool) -> Self {
        let good = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
        let (least, most) =
            good.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if !least.is_finite() {
            return Self { least: if log { 0.1 } else { 0.0 }, most: 1.0, log, from: 0.0, to: 1.0 };
        }
        let (least, most) = if log {
            let room = (most / least).powf(0.06).max(1.15);
            (least / room, most * room)
        } else {
            let low = least.min(0.0);
            let high = if most <= low { low + 1.0 } else { low + (most - low) * 1.08 };
            (low, high)
        };
        Self { least, most, log, from: 0.0, to: 1.0 }
    }

    /// A scale with exact ends.
    pub fn exactly(least: f64, most: f64, log: bool) -> Self {
        Self { least, most, log, from: 0.0, to: 1.0 }
    }

    /// The same scale between two places.
    pub fn between(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Where a value lies; values outside lie at the edge.
    pub fn place(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(f64::MIN_POSITIVE) / self.least).ln() / (self.most / self.least).ln()
        } else {
            (value - self.least) / (self.most - self.least)
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// The values that the axis names: about five, round ones.
    pub fn ticks(&self) -> Vec<f64> {
        if self.log { self.log_ticks() } else { self.linear_ticks() }
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.most - self.least) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= rough)
            .unwrap_or(power);
        let first = (self.least / step).ceil() as i64;
        let last = (self.most / step + 1e-9).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.most / self.least).log10();
        let factors: &[f64] = match decades {
            _ if decades <= 1.2 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            _ if decades <= 2.6 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let (first, last) = (self.least.log10().floor() as i32, self.most.log10().ceil() as i32);
        // Of very many decades not each has room for its name.
        let skip = ((last - first) / 8 + 1).max(1);
        (first..=last)
            .filter(|power| factors.len() > 1 || power.rem_euclid(skip) == 0)
            .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
            .filter(|tick| (self.least * 0.999..=self.most * 1.001).contains(tick))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let linear = Scale::around([3.0, 470_000.0].into_iter(), false);
        assert_eq!(linear.ticks()[..3], [0.0, 200_000.0, 400_000.0]);
        let log = Scale::around([12.0, 30_000.0].into_iter(), true);
        assert_eq!(log.ticks(), [10.0, 100.0, 1_000.0, 10_000.0]);
        let narrow = Scale::around([20.0, 45.0].into_iter(), true);
        assert!(narrow.ticks().len() >= 2, "{:?}", narrow.ticks());
    }

    #[test]
    fn places_keep_the_order_and_the_ends() {
        let log = Scale::exactly(1.0, 100.0, true).between(0.0, 200.0);
        assert!((log.place(10.0) - 100.0).abs() < 1e-9);
        assert_eq!((log.place(0.0), log.place(1e9)), (0.0, 200.0));
        let down = Scale::exactly(0.0, 10.0, false).between(300.0, 0.0);
        assert_eq!((down.place(0.0), down.place(10.0)), (300.0, 0.0));
    }

    #[test]
    fn numbers_on_axes_are_short() {
        assert_eq!(Unit::Time.text(1_500.0), "1.5 ms");
        assert_eq!(Unit::Time.text(0.25), "250 ns");
        assert_eq!(Unit::Bytes.text(100_000.0), "100 kB");
        assert_eq!(Unit::Plain.text(1_250_000.0), "1.25 M");
        assert_eq!(Unit::Plain.text(1_000.0), "1000");
    }
}
