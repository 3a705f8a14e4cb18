//! A run as a section of a document: what was found, one table an experiment, how to repeat it.

use std::fmt::Write as _;

use super::{finding, method, scale, warnings};
use crate::run::figures;
use crate::run::live::number;
use crate::run::results::Results;

/// Lines of a document between which a summary is put.
pub const BEGIN: &str = "<!-- dolium lab report --into: begin -->";
pub const END: &str = "<!-- dolium lab report --into: end -->";

/// The document with `text` between its two lines; none if it lacks them.
pub fn put(document: &str, text: &str) -> Option<String> {
    let (head, rest) = document.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n{text}{END}{tail}"))
}

/// The text for all experiments of a run.
pub fn text(all: &[Results]) -> String {
    let mut out = String::new();
    for results in all {
        // Writing into a string cannot fail.
        let _ = section(&mut out, results);
    }
    out
}

/// One row an experiment: what was found, at which scale, when, and what is measured otherwise by now.
pub fn summary(all: &[Results]) -> String {
    let mut out = String::from("| experiment | found | scale | run |\n|---|---|---|---|\n");
    for results in all {
        let found = finding::sentences(results).join(" ");
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            results.experiment.name,
            found.replace('|', "/"),
            scale::sentence(results),
            method::words(results)
        );
    }
    out
}

fn section(out: &mut String, results: &Results) -> std::fmt::Result {
    let asked = &results.experiment;
    writeln!(out, "### {}: {}\n", asked.name, asked.title)?;
    for line in finding::sentences(results) {
        writeln!(out, "- {line}")?;
    }
    for line in warnings::all(results) {
        writeln!(out, "- *{line}*")?;
    }
    writeln!(out, "- Published: {}", asked.published.found)?;
    writeln!(out, "- Scale: {}", scale::sentence(results))?;
    writeln!(out, "- Run: {}\n", method::words(results))?;
    let stores = results.present();
    let heads = stores.join(" | ");
    writeln!(out, "| {} | {heads} |", figures::label(&asked.figure))?;
    writeln!(out, "|---|{}", "---|".repeat(stores.len()))?;
    let mut rows: Vec<String> = Vec::new();
    for point in &results.points {
        let words = point.words("");
        if !rows.contains(&words) {
            rows.push(words);
        }
    }
    for row in rows {
        write!(out, "| {row} |")?;
        for store in &stores {
            let mine = results.points.iter().find(|p| p.store == *store && p.words("") == row);
            match mine.and_then(|point| point.estimate(&asked.figure)) {
                Some(one) if one.high > one.low => write!(
                    out,
                    " {} ({} to {}) |",
                    number(one.value),
                    number(one.low),
                    number(one.high)
                )?,
                Some(one) => write!(out, " {} |", number(one.value))?,
                None => write!(out, " – |")?,
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "\n`{}` on {}; {}.\n", results.command, results.machine.sentence(), results.began)
}
