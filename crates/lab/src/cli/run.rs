//! `dolium lab run`: experiments by name.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::suite::{self, Task};
use crate::experiment::{Length, catalogue};
use crate::run::choice::{self, Choice};
use crate::run::lines::fold;
use crate::run::live::{Live, table};
use crate::run::results::Results;
use crate::run::{self, Order};
use crate::stores::Surroundings;
use crate::{LabError, interrupt, output, report};

#[derive(Args)]
pub(super) struct RunOptions {
    /// Names of experiments (see `dolium lab list`), or files
    #[arg(required_unless_present = "all")]
    names: Vec<String>,
    /// Every experiment of the list
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Minutes that all of them together may take, about: what takes longer is cut, shorter windows
    /// first, then fewer repetitions, then fewer keys; the report says how far
    #[arg(long)]
    minutes: Option<f64>,
    /// Keep the raw data of what ran to its end in this directory, compressed
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "lab/results")]
    keep: Option<PathBuf>,
    /// Leave out what is kept already
    #[arg(long, requires = "keep")]
    resume: bool,
    /// Minutes in place of hours: fewer settings, shorter windows
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The published scale
    #[arg(long)]
    full: bool,
    /// Multiply the number of keys
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    #[arg(
        long,
        value_delimiter = ',',
        help = format!(
            "Stores in place of the experiment's own, the one of interest first: {}; redis#2 is a \
             second one; dolium#old=FILE another binary",
            choice::names()
        )
    )]
    stores: Option<Vec<Choice>>,
    /// Repetitions in place of the experiment's own
    #[arg(long)]
    repetitions: Option<usize>,
    /// Seconds of each measurement in place of the experiment's own
    #[arg(long)]
    seconds: Option<f64>,
    /// Each server in a network namespace, as if it were another machine
    #[arg(long)]
    namespaces: bool,
    /// Shape the namespaces' links to so many gigabits a second
    #[arg(long, requires = "namespaces")]
    gigabits: Option<f64>,
    /// Where to write the results
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The binary to serve Dolium with; this one if not given
    #[arg(long)]
    dolium: Option<PathBuf>,
    /// PageRank on this graph: a file of edges, one a line, as SNAP publishes them
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,
}

impl RunOptions {
    pub fn run(&self) -> Result<(), LabError> {
        let length = match (self.quick, self.full) {
            (true, _) => Length::Quick,
            (_, true) => Length::Full,
            _ => Length::Usual,
        };
        if !self.scale.is_finite() || self.scale <= 0.0 {
            return Err(LabError::Options("a scale is a number above zero".into()));
        }
        // All names are looked up before anything is started: a slip costs no minutes.
        let mut experiments = match self.all {
            true => catalogue::all()?,
            false => {
                self.names.iter().map(|name| catalogue::find(name)).collect::<Result<_, _>>()?
            }
        };
        for experiment in &mut experiments {
            for overrides in [&mut experiment.quick, &mut experiment.full] {
                overrides.repetitions = self.repetitions.or(overrides.repetitions);
                overrides.seconds = self.seconds.or(overrides.seconds);
            }
            if self.namespaces {
                experiment.load.namespaces = true;
                experiment.load.gigabits = self.gigabits.or(experiment.load.gigabits);
            }
            experiment.load.repetitions = self.repetitions.unwrap_or(experiment.load.repetitions);
            experiment.load.seconds = self.seconds.unwrap_or(experiment.load.seconds);
        }
        let tasks = suite::tasks(experiments, length, self.scale, self.minutes);
        let directory = self.out.clone().unwrap_or_else(default_directory);
        let is_new = !directory.exists();
        // Where the results go is tried before anything is measured: a slip there costs no hours.
        if let Some(kept) = &self.keep {
            let mut names = tasks.iter().flat_map(Task::names);
            names.try_for_each(|name| report::place::prepare_kept(kept, name))?;
        }
        report::place::prepare(&directory)?;
        let done = self.measure(tasks, length, &directory);
        if is_new {
            // Goes only if nothing was written into it.
            let _ = fs::remove_dir(&directory);
        }
        done
    }

    /// Runs one task after another, and writes the report after each.
    fn measure(&self, tasks: Vec<Task>, length: Length, directory: &Path) -> Result<(), LabError> {
        interrupt::install()?;
        let mut live = Live::new();
        let mut all = Vec::new();
        let mut problem = None;
        for task in tasks {
            if let (true, Some(kept)) = (self.resume, &self.keep)
                && task.names().all(|name| report::is_kept(kept, name))
            {
                continue;
            }
            let name = task.experiment.name.clone();
            let order = Order {
                experiment: task.experiment,
                length,
                scale: self.scale,
                budget: task.seconds,
                stores: self.stores.clone(),
                command: self.command(&name),
                graph: self.graph.clone(),
            };
            let around = Surroundings::new(false, 1, self.dolium.clone())?;
            let (results, error) = run::run(&order, around, &mut live)?;
            live.clear();
            if let (true, Some(error)) = (results.points.is_empty(), &error)
                && !matches!(error, LabError::Interrupted)
            {
                output::note(format_args!("dolium lab: {name}: {error}"));
                problem = Some(LabError::Options(format!("{name} measured nothing")));
                continue;
            }
            let others = task.others.iter().map(|other| results.seen_as(other));
            let mut measured: Vec<Results> = others.collect();
            measured.insert(0, results);
            let told: String = measured.iter().map(told).collect();
            if let (None, Some(kept)) = (&error, &self.keep) {
                report::keep(kept, &measured)?;
            }
            all.append(&mut measured);
            // Written after each experiment: a later one that fails takes nothing along.
            report::write(directory, &all)?;
            // Only now: an output that takes nothing more takes nothing along, and the next ones are run.
            if let Err(error) = output::print(told) {
                problem = Some(error);
            }
            match error {
                None => {}
                Some(LabError::Interrupted) => {
                    problem = Some(LabError::Interrupted);
                    break;
                }
                Some(error) => {
                    output::note(format_args!("dolium lab: {name}: {error}"));
                    problem = Some(LabError::Options(format!("{name} did not run to its end")));
                }
            }
        }
        if all.is_empty() && problem.is_none() {
            output::print("all of them are kept already\n")?;
        } else if !all.is_empty() {
            let page = directory.join("index.html");
            let told = output::print(format_args!("\nreport: {}\n", page.display()));
            problem = problem.or(told.err());
        }
        problem.map_or(Ok(()), Err)
    }

    /// What to type to run one of the experiments again.
    fn command(&self, name: &str) -> String {
        let mut words = vec![format!("dolium lab run {name}")];
        if self.quick {
            words.push("--quick".into());
        }
        if self.full {
            words.push("--full".into());
        }
        if self.scale != 1.0 {
            words.push(format!("--scale {}", self.scale));
        }
        if let Some(stores) = &self.stores {
            let names: Vec<&str> = stores.iter().map(|choice| choice.label.as_str()).collect();
            words.push(format!("--stores {}", names.join(",")));
        }
        if let Some(repetitions) = self.repetitions {
            words.push(format!("--repetitions {repetitions}"));
        }
        if let Some(seconds) = self.seconds {
            words.push(format!("--seconds {seconds}"));
        }
        if let Some(minutes) = self.minutes {
            // The experiment's own share is not what the user typed: the whole is repeated.
            let whole = if self.all { "--all".into() } else { self.names.join(" ") };
            words[0] = format!("dolium lab run {whole}");
            words.push(format!("--minutes {minutes}"));
        }
        if self.namespaces {
            words.push("--namespaces".into());
            words.extend(self.gigabits.map(|rate| format!("--gigabits {rate}")));
        }
        if let Some(graph) = &self.graph {
            words.push(format!("--graph {}", graph.display()));
        }
        words.join(" ")
    }
}

/// What was found, for the terminal.
fn told(results: &Results) -> String {
    let mut text = format!("\n{}: {}\n\n", results.experiment.name, results.experiment.title);
    text.push_str(&table(results).unwrap_or_default());
    let screen = std::io::stdout().is_terminal();
    let notes = report::warnings::all(results).into_iter().map(|line| format!("note: {line}"));
    for line in report::finding::sentences(results).into_iter().chain(notes) {
        text.push_str(&fold(&line, screen));
        text.push('\n');
    }
    text
}

fn default_directory() -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    PathBuf::from("lab-results").join(run::stamp(now))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Command, Lab};

    /// Hours were measured first. Spark has no part in this experiment: if it comes to that, it says so.
    #[test]
    fn a_directory_that_cannot_be_made_is_told_before_anything_is_measured() {
        let below = std::env::current_exe().unwrap().join("report").display().to_string();
        for (option, says) in [("--out", "make the directory"), ("--keep", "keep the results in")] {
            let words = ["lab", "run", "zhang14-fig5", "--stores", "spark", option, &below];
            let Command::Run(options) = Lab::try_parse_from(words).unwrap().command else {
                panic!("{words:?} is another command");
            };
            let told = options.run().unwrap_err().to_string();
            assert!(told.starts_with(&format!("could not {says} {below}: ")), "{told}");
        }
    }
}
