//! `dolium lab list`: the names of all experiments, and the file of one.

use clap::Args;

use crate::experiment::{Experiment, Kind, Length, STUDIES, catalogue};
use crate::run::live::duration;
use crate::{LabError, output};

#[derive(Args)]
pub(super) struct Options {
    /// Print this experiment's file, to be copied and changed
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        if let Some(name) = &self.show {
            let experiment = catalogue::find(name)?;
            return output::print(catalogue::text(&experiment.name).unwrap_or_default());
        }
        let how = "`dolium lab run NAME... --quick` runs them; `--show NAME` prints a file.";
        let lines = lines(&catalogue::all()?, columns());
        output::print(format_args!("{}\n\n{how}\n", lines.join("\n")))
    }
}

/// Where titles begin to be worth breaking: a narrower terminal may break them itself.
const TITLE_COLUMNS_MIN: usize = 24;
/// As wide as the longest title.
const TITLE_COLUMNS: usize = 62;

/// How many columns there are to write to: as many as it takes, but on a terminal.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// Study by study, one line for each experiment where there are columns enough.
fn lines(all: &[Experiment], columns: usize) -> Vec<String> {
    let width = all.iter().map(|one| one.name.len()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for study in STUDIES {
        lines.push(study.to_string());
        for experiment in all.iter().filter(|one| one.study == study) {
            let stores = experiment.stores.len().max(1);
            let quick = catalogue::seconds(experiment, Length::Quick, stores);
            let takes = match experiment.kind {
                Kind::Load => format!("quick: {}", duration(quick)),
                _ => String::new(),
            };
            let (name, title) = (&experiment.name, &experiment.title);
            let line = format!("  {name:<width$} {title:<TITLE_COLUMNS$} {takes}");
            let line = line.trim_end();
            if line.chars().count() <= columns {
                lines.push(line.to_string());
                continue;
            }
            let room = columns.saturating_sub(width + 3).max(TITLE_COLUMNS_MIN);
            for (n, part) in broken(title, &takes, room).iter().enumerate() {
                let name = if n == 0 { name } else { "" };
                lines.push(format!("  {name:<width$} {part}").trim_end().to_string());
            }
        }
    }
    lines
}

/// The title in lines of so many columns, and how long it takes at the end of the last, or below it.
fn broken(title: &str, takes: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let fits = |line: &str, more: &str| line.chars().count() + 1 + more.chars().count() <= room;
    for word in title.split(' ') {
        match lines.last_mut() {
            Some(line) if fits(line, word) => *line = format!("{line} {word}"),
            _ => lines.push(word.into()),
        }
    }
    let takes = if takes.is_empty() { String::new() } else { format!("({takes})") };
    match lines.last_mut() {
        Some(line) if fits(line, &takes) => *line = format!("{line} {takes}"),
        _ => lines.push(takes),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of 101 columns were broken by a terminal of 80 in the midst of words, under the names.
    #[test]
    fn no_line_is_wider_than_the_terminal_and_nothing_is_lost() {
        let all = catalogue::all().expect("the experiments");
        let wide = lines(&all, usize::MAX);
        assert_eq!(wide.len(), all.len() + STUDIES.len());
        let words = |lines: &[String]| {
            let text = lines.join(" ").replace(['(', ')'], "");
            text.split_whitespace().map(String::from).collect::<Vec<_>>()
        };
        for columns in [80, 100, 120] {
            let lines = lines(&all, columns);
            let widest = lines.iter().map(|line| line.chars().count()).max();
            assert!(widest <= Some(columns), "{widest:?} columns of {columns}");
            assert_eq!(words(&lines), words(&wide));
        }
        assert_eq!(lines(&all, 120), wide);
    }
}
