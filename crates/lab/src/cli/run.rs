//! `dolium lab list` and `run`: experiments by name.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::suite;
use crate::experiment::{Kind, Length, STUDIES, catalogue};
use crate::run::choice::Choice;
use crate::run::live::{Live, duration, table};
use crate::run::results::Results;
use crate::run::{self, Order};
use crate::stores::Surroundings;
use crate::{LabError, interrupt, report};

#[derive(Args)]
pub(super) struct ListOptions {
    /// Print this experiment's file, to be copied and changed
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
}

impl ListOptions {
    pub fn run(&self) -> Result<(), LabError> {
        if let Some(name) = &self.show {
            let experiment = catalogue::find(name)?;
            print!("{}", catalogue::text(&experiment.name).unwrap_or_default());
            return Ok(());
        }
        let all = catalogue::all()?;
        for study in STUDIES {
            println!("{study}");
            for experiment in all.iter().filter(|one| one.study == study) {
                let stores = experiment.stores.len().max(1);
                let quick = catalogue::seconds(experiment, Length::Quick, stores);
                let takes = match experiment.kind {
                    Kind::Load => format!("quick: {}", duration(quick)),
                    _ => String::new(),
                };
                println!("  {:<22} {:<62} {takes}", experiment.name, experiment.title);
            }
        }
        println!("\n`dolium lab run NAME... --quick` runs them; `--show NAME` prints a file.");
        Ok(())
    }
}

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
    /// Stores in place of the experiment's own, the one of interest first: dolium, redis, valkey,
    /// memcached, null, external:HOST:PORT[:PROTOCOL]; redis#2 is a second one; dolium#old=FILE
    /// another binary
    #[arg(long, value_delimiter = ',')]
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
        interrupt::install()?;
        let mut live = Live::new();
        let mut all = Vec::new();
        let mut problem = None;
        let directory = self.out.clone().unwrap_or_else(default_directory);
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
            let others = task.others.iter().map(|other| results.seen_as(other));
            let mut measured: Vec<Results> = others.collect();
            measured.insert(0, results);
            for results in &measured {
                tell(results);
            }
            if let (None, Some(kept)) = (&error, &self.keep) {
                report::keep(kept, &measured)?;
            }
            all.append(&mut measured);
            // Written after each experiment: a later one that fails takes nothing along.
            report::write(&directory, &all)?;
            match error {
                None => {}
                Some(LabError::Interrupted) => {
                    problem = Some(LabError::Interrupted);
                    break;
                }
                Some(error) => {
                    eprintln!("dolium lab: {name}: {error}");
                    problem = Some(LabError::Options(format!("{name} did not run to its end")));
                }
            }
        }
        if all.is_empty() {
            println!("all of them are kept already");
        } else {
            println!("\nreport: {}", directory.join("index.html").display());
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
fn tell(results: &Results) {
    println!("\n{}: {}\n", results.experiment.name, results.experiment.title);
    print!("{}", table(results).unwrap_or_default());
    for line in report::finding::sentences(results) {
        println!("{line}");
    }
    for line in report::finding::warnings(results) {
        println!("note: {line}");
    }
}

fn default_directory() -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    PathBuf::from("lab-results").join(run::stamp(now))
}
