//! A comparison as text: one table a cell, then the ratios of the first store in one view.

use std::fmt;

use super::{Cell, Comparison, spread};
use crate::output;
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
             {} server thread(s), {} rounds of {} ms in turns of {}",
            plan.connections,
            if plan.unix { "a Unix socket" } else { "TCP" },
            plan.keys,
            plan.distribution,
            plan.key_bytes,
            plan.value_bytes,
            plan.server_threads,
            plan.rounds,
            plan.window_ms,
            plan.turn_ms,
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
            // Of a store that somebody else started no CPU is seen.
            let busy = cell.typical(number, |visit| visit.busy);
            writeln!(
                f,
                "{:<17} {:>8} {:>8} {:>11} {:>9.0} {:>9.0} {:>9.0} {:>7} {:>10.3}",
                store.name(),
                output::number(cell.typical(number, |visit| visit.server_us), 3),
                output::number(floor.unwrap_or(f64::NAN), 2),
                thousands(cell.typical(number, |visit| visit.rate)),
                cell.typical(number, |visit| visit.p50_us),
                cell.typical(number, |visit| visit.p99_us),
                cell.typical(number, |visit| visit.p999_us),
                if busy.is_finite() { format!("{:.0}%", busy * 100.0) } else { "-".into() },
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
        let mut are_too_few = false;
        for (number, store) in self.plan.stores.iter().enumerate().skip(1) {
            for (what, judge) in [
                ("CPU/op", Cell::cost as fn(&Cell, usize, usize) -> Judgement),
                ("ops/s", Cell::rate),
            ] {
                write!(f, "{:<19}{what:<7}", store.name())?;
                for cell in &self.cells {
                    let Judgement { ratio, verdict, .. } = judge(cell, 0, number);
                    let mark = match verdict {
                        // Where there is no ratio, more rounds would not make one.
                        _ if ratio.value.is_nan() => "",
                        Verdict::More | Verdict::Less => "",
                        Verdict::TooFew => "?",
                        Verdict::NoDifference | Verdict::Swallowed => "~",
                    };
                    are_too_few |= mark == "?";
                    let [value, low, high] =
                        [ratio.value, ratio.low, ratio.high].map(|ratio| output::number(ratio, 3));
                    let range =
                        if value == "-" { String::new() } else { format!(" ({low}-{high})") };
                    let text = format!("{mark}{value}{range}{}", self.marks(cell, number, what));
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
                    write!(f, " {:>23}", output::number(ratio(cell, 0, number), 3))?;
                }
                writeln!(f)?;
            }
        }
        if are_too_few {
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
            (
                FULL,
                "the generator's core was full and a server's was not, or was not seen: a floor, \
                 compare CPU/op",
            ),
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
        let cores = self.plan.server_threads.min(self.machine.cores);
        let full = what == "ops/s" && cell.is_client_full([0, to], self.plan.client_threads, cores);
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
    use crate::compare::{Plan, Visit};
    use crate::machine::Machine;
    use crate::workload::{Distribution, Operation};

    /// Rounds of a store whose turns took so long and answered so much, each time alike.
    fn rounds(us: f64, rate: f64, count: usize) -> Vec<Visit> {
        let visit = Visit {
            server_us: us,
            client_us: 1.0,
            rate,
            p50_us: 1.0,
            p99_us: 1.0,
            p999_us: 1.0,
            busy: us * rate / 1e6,
            reads: 4,
            misses: 0,
            server_ns: None,
            operations: 4,
            whole_ns: None,
            turns_server_us: vec![us; 4],
            turns_rate: vec![rate; 4],
        };
        vec![visit; count]
    }

    fn printed(stores: Vec<Store>, visits: Vec<Vec<Visit>>) -> String {
        let plan = Plan {
            pipelines: vec![1],
            operations: vec![Operation::Get],
            connections: 50,
            keys: 1,
            key_bytes: 16,
            value_bytes: 100,
            distribution: Distribution::Uniform,
            unix: false,
            rounds: visits[0].len(),
            server_threads: 1,
            client_threads: 1,
            idle: None,
            warm_up_ms: 1,
            window_ms: 1,
            turn_ms: 1,
            verify: false,
            seed: 1,
            stores,
        };
        let cells = vec![Cell { operation: Operation::Get, pipeline: 1, visits }];
        let versions = Vec::new();
        Comparison { machine: Machine::read(), plan, versions, spins: false, cells }.to_string()
    }

    #[test]
    fn what_is_not_seen_of_a_store_is_a_dash_and_no_lack_of_rounds() {
        let external: Store = "external:127.0.0.1:7000".parse().unwrap();
        let mut unseen = rounds(f64::NAN, 110.0, 6);
        unseen.iter_mut().for_each(|visit| visit.busy = f64::NAN);
        let text = printed(vec![Store::Dolium, external], vec![rounds(1.0, 100.0, 6), unseen]);
        assert!(!text.contains("NaN") && !text.contains('?'), "{text}");
        let line = text.lines().find(|line| line.starts_with("external ")).unwrap();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        assert_eq!(words, ["external", "-", "-", "110", "1", "1", "1", "-", "1.000"]);
    }

    /// It was decided by the CPU of the second store, whatever stood there.
    #[test]
    fn too_few_rounds_are_explained_where_one_stands() {
        let dolium = rounds(1.0, 100.0, 6);
        let stores = vec![Store::Dolium, Store::Redis, Store::Null];
        let others = [rounds(2.0, 110.0, 6), rounds(2.0, 110.0, 5)];
        let text = printed(stores, [vec![dolium], others.to_vec()].concat());
        assert!(
            text.contains("?0.909 (0.909-0.909)") && text.contains("? too few rounds"),
            "{text}"
        );
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(thousands(999.4), "999");
        assert_eq!(thousands(1_234_567.0), "1 234 567");
    }
}
