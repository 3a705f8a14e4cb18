//! `dolium lab list`, `run`, `report`: experiments by name.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use crate::experiment::{Kind, Length, STUDIES, catalogue};
use crate::run::choice::Choice;
use crate::run::live::{Live, duration, table};
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
    #[arg(required = true)]
    names: Vec<String>,
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
        let mut experiments = Vec::new();
        for name in &self.names {
            experiments.push(catalogue::find(name)?);
        }
        interrupt::install()?;
        let mut live = Live::new();
        let mut all = Vec::new();
        let mut problem = None;
        let directory = self.out.clone().unwrap_or_else(default_directory);
        for mut experiment in experiments {
            let name = experiment.name.clone();
            for overrides in [&mut experiment.quick, &mut experiment.full] {
                overrides.repetitions = self.repetitions.or(overrides.repetitions);
                overrides.seconds = self.seconds.or(overrides.seconds);
            }
            experiment.load.repetitions = self.repetitions.unwrap_or(experiment.load.repetitions);
            experiment.load.seconds = self.seconds.unwrap_or(experiment.load.seconds);
            let order = Order {
                experiment,
                length,
                scale: self.scale,
                stores: self.stores.clone(),
                command: self.command(&name),
                graph: self.graph.clone(),
            };
            let around = Surroundings::new(false, 1, self.dolium.clone())?;
            let (results, error) = run::run(&order, around, &mut live)?;
            live.clear();
            println!("\n{}: {}\n", results.experiment.name, results.experiment.title);
            print!("{}", table(&results).unwrap_or_default());
            for line in report::finding::sentences(&results) {
                println!("{line}");
            }
            for line in report::finding::warnings(&results) {
                println!("note: {line}");
            }
            all.push(results);
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
        println!("\nreport: {}", directory.join("index.html").display());
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
        if let Some(graph) = &self.graph {
            words.push(format!("--graph {}", graph.display()));
        }
        words.join(" ")
    }
}

fn default_directory() -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    PathBuf::from("lab-results").join(run::stamp(now))
}

#[derive(Args)]
pub(super) struct ReportOptions {
    /// A directory that `dolium lab run` or `--keep` wrote
    directory: PathBuf,
    /// Write the raw data compressed into this directory, in place of the page
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print the results as a section in Markdown, in place of the page
    #[arg(long)]
    markdown: bool,
}

impl ReportOptions {
    pub fn run(&self) -> Result<(), LabError> {
        let all = report::read(&self.directory)?;
        if let Some(directory) = &self.keep {
            report::keep(directory, &all)?;
        }
        if self.markdown {
            print!("{}", report::markdown::text(&all));
        }
        if self.keep.is_some() || self.markdown {
            return Ok(());
        }
        let page = report::write(&self.directory, &all)?;
        println!("{}", page.display());
        Ok(())
    }
}
