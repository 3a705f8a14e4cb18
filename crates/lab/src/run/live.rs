//! What a user sees while a run goes on: a line that says where it is, and a table that fills.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::Instant;

use super::figures;
use super::lines::fold;
use super::results::Results;
use crate::output;
use crate::statistics::median;

/// Rows that fit on most screens with what stands around them.
const ROWS_MOST: usize = 30;
const NAME_WIDTH: usize = 36;
const CELL_WIDTH: usize = 16;

/// The screen, or a log.
pub struct Live {
    terminal: bool,
    lines_below: usize,
    begun: Instant,
    done: usize,
    expected: usize,
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Live {
    /// Begins with nothing on the screen.
    pub fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            lines_below: 0,
            begun: Instant::now(),
            done: 0,
            expected: 0,
        }
    }

    /// So many measurements are to come.
    pub fn expect(&mut self, visits: usize) {
        self.expected = self.done + visits;
    }

    /// One more is done.
    pub fn step(&mut self) {
        self.done += 1;
    }

    /// The last one was a second view of the one before.
    pub fn unstep(&mut self) {
        self.done = self.done.saturating_sub(1);
    }

    /// Shows where the run is.
    pub fn show(&mut self, line: &str, results: &Results) {
        if !self.terminal {
            return;
        }
        let mut text = table(results).unwrap_or_default();
        let rows = text.lines().count();
        if rows > ROWS_MOST {
            text = text.lines().skip(rows - ROWS_MOST).map(|row| format!("{row}\n")).collect();
        }
        text.push_str(&self.progress(line));
        self.clear();
        self.lines_below = text.lines().count();
        // Progress is a courtesy: a closed standard error is no reason to end a measurement.
        let _ = write!(std::io::stderr(), "{text}");
        let _ = std::io::stderr().flush();
    }

    /// A line that stays.
    pub fn say(&mut self, line: &str) {
        self.clear();
        output::note(fold(line, self.terminal));
    }

    /// Takes the moving part off the screen.
    pub fn clear(&mut self) {
        if self.terminal && self.lines_below > 0 {
            let up = match self.lines_below {
                1 => "\r".to_string(),
                more => format!("\r\x1b[{}A", more - 1),
            };
            let _ = write!(std::io::stderr(), "{up}\x1b[J");
            self.lines_below = 0;
        }
    }

    fn progress(&self, line: &str) -> String {
        if self.expected == 0 || self.done == 0 {
            return line.to_string();
        }
        let share = self.done as f64 / self.expected as f64;
        let left = self.begun.elapsed().as_secs_f64() * (1.0 / share - 1.0);
        let filled = (share * 20.0) as usize;
        let bar: String = (0..20).map(|at| if at < filled { '█' } else { '░' }).collect();
        format!("{bar} {:>3.0} %, about {} left: {line}", share * 100.0, duration(left))
    }
}

/// Seconds as a person says them.
pub fn duration(seconds: f64) -> String {
    match seconds as u64 {
        0..=90 => format!("{seconds:.0} s"),
        minutes => format!("{} min", (minutes as f64 / 60.0).round()),
    }
}

/// The figure of the experiment, one row for each combination and one column for each store.
pub fn table(results: &Results) -> Option<String> {
    let stores = results.present();
    if stores.is_empty() {
        return None;
    }
    let figure = &results.experiment.figure;
    let mut out = format!("{:<NAME_WIDTH$}", figures::label(figure));
    for store in &stores {
        out.push_str(&format!("{store:>CELL_WIDTH$}"));
    }
    out.push('\n');
    out.push_str(&"─".repeat(NAME_WIDTH + CELL_WIDTH * stores.len()));
    out.push('\n');
    let mut rows: Vec<String> = Vec::new();
    let mut cells: BTreeMap<(String, &str), f64> = BTreeMap::new();
    for point in &results.points {
        let name = point.words("");
        if !rows.contains(&name) {
            rows.push(name.clone());
        }
        cells.insert((name, point.store.as_str()), median(point.rounds(figure)));
    }
    for name in rows {
        let mut shown: String = name.chars().take(NAME_WIDTH - 1).collect();
        if shown.is_empty() {
            shown = "all".into();
        }
        out.push_str(&format!("{shown:<NAME_WIDTH$}"));
        for store in &stores {
            let value = cells.get(&(name.clone(), *store)).copied().unwrap_or(f64::NAN);
            out.push_str(&format!("{:>CELL_WIDTH$}", number(value)));
        }
        out.push('\n');
    }
    Some(out)
}

/// A number with as many digits as it is worth, thousands apart.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let digits = match size {
        _ if size == 0.0 => return "0".into(),
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut spaced = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            spaced.push('\u{202f}');
        }
        spaced.push(digit);
    }
    match rest {
        Some(rest) => format!("{sign}{spaced}.{rest}"),
        None => format!("{sign}{spaced}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_they_are_worth() {
        assert_eq!(number(1_234_567.8), "1\u{202f}234\u{202f}568");
        assert_eq!(number(12.345), "12.3");
        assert_eq!(number(0.1234), "0.123");
        assert_eq!(number(-1234.0), "-1\u{202f}234");
        assert_eq!(number(f64::NAN), "–");
    }
}
