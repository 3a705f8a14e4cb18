//! A comparison as text: one table a cell, then the ratios of the first store in one view.

use std::fmt;

use super::{Cell, Comparison, spread};
use crate::statistics::{Judgement, Verdict};
use crate::stores::Store;

const WIDTH: usize = 98;
/// Beside a ratio of rates that the generator and not a server limited.
const FULL: &str = "(generator full)";
/// Beside a ratio of stores of which one found fewer values.
const UNLIKE: &str = "(misses differ)";

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        writeln!(f, "{}", self.machine.sentence())?;
        writeln!(
            f,
            "{} connections over {}, {} keys ({}) of {} B with values of {} B, \
             {} server thread(s), {} rounds of {} ms",
            plan.connections,
            if plan.unix { "a Unix socket" } else { "TCP" },
            plan.keys,
            plan.distribution,
            plan.key_bytes,
            plan.value_bytes,
            plan.server_threads,
            plan.rounds,
            plan.window_ms,
        )?;
        let idle = match self.spins {
            true => "looks on, and no server is charged for waking it",
            false => "sleeps, and is woken at the server's expense",
        };
        writeln!(f, "while no reply is there the generator {idle}")?;
        for (store, version) in plan.stores.iter().zip(&self.versions) {
            writeln!(f, "  {:<17} {version}", store.name())?;
        }
        for cell in &self.cells {
            self.cell(f, cell)?;
        }
        self.ratios(f)?;
        self.noise(f)
    }
}

impl Comparison {
    fn floor(&self) -> Option<usize> {
        self.plan.stores.iter().position(|&store| store == Store::Null)
    }

    fn cell(&self, f: &mut fmt::Formatter<'_>, cell: &Cell) -> fmt::Result {
        let title = format!("{} pipeline {}", name(cell), cell.pipeline);
        writeln!(f, "\n{title}")?;
        writeln!(
            f,
            "{:<17} {:>8} {:>8} {:>11} {:>9} {:>9} {:>9} {:>7} {:>10}",
            "store",
            "us/op",
            "x floor",
            "ops/s",
            "p50 us",
            "p99 us",
            "p99.9 us",
            "busy",
            "client us",
        )?;
        writeln!(f, "{}", "─".repeat(WIDTH))?;
        for (number, store) in self.plan.stores.iter().enumerate() {
            let floor = self.floor().map(|floor| cell.cost(number, floor).ratio.value);
            writeln!(
                f,
                "{:<17} {:>8.3} {:>8} {:>11} {:>9.0} {:>9.0} {:>9.0} {:>6.0}% {:>10.3}",
                store.name(),
                cell.typical(number, |visit| visit.server_us),
                floor.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")),
                thousands(cell.typical(number, |visit| visit.rate)),
                cell.typical(number, |visit| visit.p50_us),
                cell.typical(number, |visit| visit.p99_us),
                cell.typical(number, |visit| visit.p999_us),
                cell.typical(number, |visit| visit.busy) * 100.0,
                cell.typical(number, |visit| visit.client_us),
            )?;
            let misses = cell.misses_percent(number);
            if misses > 0.0 {
                writeln!(f, "{:<17} {misses:.2} % of the reads found no value", "")?;
            }
        }
        Ok(())
    }

    fn ratios(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.plan.stores.len() < 2 {
            return Ok(());
        }
        writeln!(
            f,
            "\n{} as a multiple of each other store ({} rounds; ~ where no difference was found)",
            self.plan.stores[0].name(),
            self.plan.rounds
        )?;
        write!(f, "{:<26}", "against")?;
        for cell in &self.cells {
            write!(f, " {:>23}", format!("{} P{}", name(cell), cell.pipeline))?;
        }
        writeln!(f, "\n{}", "─".repeat(26 + 24 * self.cells.len()))?;
        for (number, store) in self.plan.stores.iter().enumerate().skip(1) {
            for (what, judge) in [
                ("CPU/op", Cell::cost as fn(&Cell, usize, usize) -> Judgement),
                ("ops/s", Cell::rate),
            ] {
                write!(f, "{:<19}{what:<7}", store.name())?;
                for cell in &self.cells {
                    let Judgement { ratio, verdict, .. } = judge(cell, 0, number);
                    let mark = match verdict {
                        Verdict::More | Verdict::Less => "",
                        Verdict::TooFew => "?",
                        Verdict::NoDifference | Verdict::Swallowed => "~",
                    };
                    let text = format!(
                        "{mark}{:.3} ({:.3}-{:.3}){}",
                        ratio.value,
                        ratio.low,
                        ratio.high,
                        self.marks(cell, number, what)
                    );
                    write!(f, " {text:>23}")?;
                }
                writeln!(f)?;
            }
            for (what, ratio) in [
                ("CPU sum", Cell::cost_of_sums as fn(&Cell, usize, usize) -> f64),
                ("CPU all", Cell::cost_of_whole),
            ] {
                write!(f, "{:<19}{what:<7}", "")?;
                for cell in &self.cells {
                    let ratio = ratio(cell, 0, number);
                    let known = ratio.is_finite();
                    let text = if known { format!("{ratio:.3}") } else { "-".into() };
                    write!(f, " {text:>23}")?;
                }
                writeln!(f)?;
            }
        }
        if self.cells.iter().any(|cell| cell.cost(0, 1).verdict == Verdict::TooFew) {
            writeln!(f, "? too few rounds to tell")?;
        }
        f.write_str(
            "CPU/op: the median over the rounds of the mean of the middle half of a round's turns; CPU sum: \
             all CPU of all turns\nover all their operations; CPU all: with what a store took while the \
             others had their turns\n",
        )?;
        let others = 1..self.plan.stores.len();
        let pairs = others.flat_map(|to| self.cells.iter().map(move |cell| (cell, to)));
        let said: String = pairs.map(|(cell, to)| self.marks(cell, to, "ops/s")).collect();
        for (mark, what) in [
            (FULL, "the generator's core was full and a server's was not: a floor, compare CPU/op"),
            (UNLIKE, "reads without a value differ by more than a point: not the same work"),
        ] {
            if said.contains(mark) {
                writeln!(f, "{mark}: {what}")?;
            }
        }
        Ok(())
    }

    /// What must be known beside a ratio of the first store to another.
    fn marks(&self, cell: &Cell, to: usize, what: &str) -> String {
        let full = what == "ops/s" && cell.is_client_full([0, to], self.plan.client_threads);
        let marks = [(full, FULL), (!cell.is_alike([0, to]), UNLIKE)];
        marks.iter().filter(|(is, _)| *is).map(|(_, mark)| format!(" {mark}")).collect()
    }

    fn noise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(floor) = self.floor() else { return Ok(()) };
        write!(f, "\nMachine noise, as the spread of the null server's us/op over the rounds:")?;
        for cell in &self.cells {
            let noise = spread(cell.visits[floor].iter().map(|visit| visit.server_us));
            write!(f, " {} P{} {:.0}%", name(cell), cell.pipeline, noise * 100.0)?;
        }
        writeln!(f)
    }
}

fn name(cell: &Cell) -> String {
    format!("{:?}", cell.operation).to_uppercase()
}

/// A whole number with its thousands apart.
pub(super) fn thousands(number: f64) -> String {
    let digits = format!("{:.0}", number.max(0.0));
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(thousands(999.4), "999");
        assert_eq!(thousands(1_234_567.0), "1 234 567");
    }
}
