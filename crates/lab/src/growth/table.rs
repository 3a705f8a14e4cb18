//! What a person sees of a run: a row for each depth of pipeline, once by windows and once by the price.

use std::fmt;

use super::price::{self, Price};
use super::window::{Figure, Length, Pair, Window};
use super::{CONNECTIONS, KEY_BYTES, Outcome};
use crate::statistics::{Estimate, median};

/// Width of the line under a heading.
const WIDTH: usize = 100;

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        writeln!(f, "{}", self.machine.sentence())?;
        writeln!(
            f,
            "{} new keys of {KEY_BYTES} B with values of {} B over {CONNECTIONS} connections, {} loads, \
             windows of {} ms",
            plan.keys, plan.value_bytes, plan.rounds, plan.window_ms
        )?;
        writeln!(
            f,
            "of two neighbours, the window in which the index grew more as a multiple of the other"
        )?;
        self.by_windows(f)?;
        writeln!(
            f,
            "\nthe same by what a KiB of index costs, from windows of {} keys, and by how many bytes those of {} ms differ",
            price::KEYS,
            plan.window_ms
        )?;
        self.by_price(f)
    }
}

impl Outcome {
    fn by_windows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{:<10}{:>12}{:>8}{:>8}{:>8} {:>26} {:>26}",
            "", "keys/s", "pairs", "less", "more", "throughput", "server CPU a key"
        )?;
        writeln!(f, "{:<10}{:>12}{:>8}{:>16}", "", "", "", "B a key")?;
        writeln!(f, "{}", "─".repeat(WIDTH))?;
        for cell in &self.cells {
            let pairs = cell.pairs(Length::Seconds(self.plan.window())).concat();
            let growth =
                |of: fn(&Pair) -> &Window| median(pairs.iter().map(|pair| of(pair).growth()));
            let rate = median(
                cell.windows(Length::Seconds(self.plan.window())).concat().iter().map(Window::rate),
            );
            write!(f, "{:<10}{rate:>12.0}{:>8}", name(cell.pipeline), pairs.len())?;
            write!(f, "{:>8.2}{:>8.2}", growth(|pair| &pair.less), growth(|pair| &pair.more))?;
            for figure in [Window::rate as Figure, Window::server] {
                write!(
                    f,
                    " {:>26}",
                    interval(cell.ratio(Length::Seconds(self.plan.window()), figure), 4)
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn by_price(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{:<18}{:>10}{:>12}{:>26}{:>30}",
            "", "pairs", "B a key", "ns for a KiB", "windows with more growth"
        )?;
        writeln!(f, "{}", "─".repeat(WIDTH))?;
        for cell in &self.cells {
            let pairs = cell.pairs(Length::Keys(price::KEYS)).concat().len();
            for (what, figure) in [("time", Window::time as Figure), ("server CPU", Window::server)]
            {
                let Some(price) = Price::of(cell, self.plan.window(), figure) else {
                    writeln!(f, "{:<18}  too few pairs", name(cell.pipeline))?;
                    continue;
                };
                let name = format!("{} {what}", name(cell.pipeline));
                write!(f, "{name:<18}{pairs:>10}{:>12.2}", price.step)?;
                writeln!(f, "{:>26}{:>30}", interval(price.kib_ns, 0), interval(price.ratio, 5))?;
            }
        }
        Ok(())
    }
}

fn name(pipeline: usize) -> String {
    format!("SET P{pipeline}")
}

fn interval(Estimate { value, low, high }: Estimate, digits: usize) -> String {
    format!("{value:.digits$} ({low:.digits$} to {high:.digits$})")
}
