//! Runs an experiment on the stores that were named and keeps everything that was measured.
//!
//! ```text
//! figures.rs  names of figures          results.rs  what is kept
//! choice.rs   which stores              servers.rs  their processes
//! visit.rs    one measurement, what      live.rs     what a user sees meanwhile, in lines.rs
//!             the system says in system.rs
//! judge.rs    how two stores differ     moment.rs   when a run began, as text
//! load.rs ... one file for each kind of experiment
//! ```

mod attached;
pub mod choice;
mod ems;
pub mod figures;
mod fill;
mod hits;
pub mod judge;
pub mod lines;
pub mod live;
mod load;
mod lookup;
mod misses;
mod mixed;
mod moment;
mod nothing;
mod pagerank;
mod program;
mod programs;
mod records;
mod reference;
pub mod results;
mod search;
mod servers;
mod spec;
mod swap;
mod system;
mod tree;
pub mod visit;
mod watch;

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use crate::LabError;
use crate::experiment::sweep::Combination;
use crate::experiment::{Experiment, Kind, Length, Setting, budget};
use crate::machine::Machine;
use crate::statistics::Noise;
use crate::stores::namespace::Namespace;
use crate::stores::{Store, Surroundings, has_tls, version};

use choice::{Choice, Player};
use live::Live;
pub use moment::stamp;
use moment::utc;
use results::{Point, Results, StoreEntry, Visit};
use servers::Fleet;

/// Time for which the machine's noise is measured at each end of a run.
const NOISE: Duration = Duration::from_millis(300);

/// How to run an experiment.
pub struct Order {
    pub experiment: Experiment,
    pub length: Length,
    pub scale: f64,
    /// Seconds that it may take, about; cut to fit if the length's own scale takes longer.
    pub budget: Option<f64>,
    /// In place of the experiment's own stores.
    pub stores: Option<Vec<Choice>>,
    /// What the user typed, to be repeated.
    pub command: String,
    /// A file of edges in place of a graph that is made.
    pub graph: Option<PathBuf>,
}

/// What all kinds of experiments share while they run.
struct Stage<'a> {
    results: &'a mut Results,
    around: Surroundings,
    choices: Vec<Choice>,
    live: &'a mut Live,
}

/// Runs it. What was measured is returned even if the user or an error ended it early; the error
/// comes beside it.
pub fn run(
    order: &Order,
    around: Surroundings,
    live: &mut Live,
) -> Result<(Results, Option<LabError>), LabError> {
    let mut experiment = order.experiment.at(order.length, order.scale);
    let choices = match &order.stores {
        Some(choices) => choices.clone(),
        None => experiment.stores.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
    };
    let mut scale = order.scale;
    if let Some(seconds) = order.budget {
        let memory = crate::machine::free_bytes();
        scale *= budget::fit(&mut experiment, choices.len(), seconds, memory)?;
    }
    let around = if experiment.asks_over_tls() { around.with_tls()? } else { around };
    let begun = Instant::now();
    let mut results = Results {
        experiment,
        length: order.length,
        scale,
        command: order.command.clone(),
        began: utc(SystemTime::now()),
        seconds: 0.0,
        dolium: env!("CARGO_PKG_VERSION").into(),
        method: crate::limits::METHOD,
        machine: Machine::read(),
        noise: vec![Noise::measure(NOISE)],
        stores: Vec::new(),
        points: Vec::new(),
        notes: Vec::new(),
        interrupted: false,
    };
    let mut stage = Stage { results: &mut results, around, choices, live };
    stage.invite();
    if stage.choices.is_empty() && stage.results.experiment.kind != Kind::Misses {
        let nobody = nothing::why(&order.experiment, &results);
        return Ok((results, Some(nobody)));
    }
    stage.look_at_namespaces();
    let done = match stage.results.experiment.kind {
        Kind::Load | Kind::Quality | Kind::Program => load::run(&mut stage),
        Kind::Misses => misses::run(&mut stage),
        Kind::Fill => fill::run(&mut stage),
        Kind::Pagerank => pagerank::run(&mut stage, order.graph.as_deref()),
        Kind::Commands | Kind::Memory => records::run(&mut stage),
        Kind::Hits => hits::run(&mut stage),
        Kind::Mixed => mixed::run(&mut stage),
    };
    live.clear();
    results.noise.push(Noise::measure(NOISE));
    results.seconds = begun.elapsed().as_secs_f64();
    results.interrupted = done.is_err();
    // Whoever was invited may have gone since.
    let empty = results.points.is_empty().then(|| nothing::why(&order.experiment, &results));
    Ok((results, done.err().or(empty)))
}

impl Stage<'_> {
    /// Looks which stores are installed and may take part; the others are kept with the reason.
    fn invite(&mut self) {
        let cannot = self.results.experiment.cannot.clone();
        let tls = self.results.experiment.asks_over_tls();
        let mut able = Vec::new();
        for choice in std::mem::take(&mut self.choices) {
            let name = choice.label.split('#').next().unwrap_or_default().to_string();
            let mut entry = StoreEntry { label: choice.label.clone(), ..StoreEntry::default() };
            let mut around = self.around.clone();
            if let Some(binary) = &choice.binary {
                around.dolium.clone_from(binary);
            }
            let installed = match choice.player {
                Player::Store(store) if tls => {
                    version(store, &around).and_then(|said| has_tls(store, &around).map(|()| said))
                }
                Player::Store(store) => version(store, &around),
                _ if tls => Err(LabError::Options("it has no connection for TLS".into())),
                other => self.program(other),
            };
            match (cannot.get(&name), installed) {
                (Some(why), _) => entry.absent = Some(why.clone()),
                (None, Err(error)) => entry.absent = Some(error.to_string()),
                (None, Ok(version)) => {
                    entry.version = version;
                    able.push(choice);
                }
            }
            if let Some(why) = &entry.absent {
                self.live.say(&format!("{} takes no part: {why}", entry.label));
            }
            self.results.stores.push(entry);
        }
        self.choices = able;
    }

    /// Where the machine lets the lab make no network namespaces, servers stay on the loopback
    /// interface, and the report says so.
    fn look_at_namespaces(&mut self) {
        if !self.results.experiment.load.namespaces {
            return;
        }
        let gigabits = self.results.experiment.load.gigabits;
        match Namespace::new(gigabits) {
            Ok(_) => {
                let shaped = gigabits.map_or_else(
                    || "not shaped".into(),
                    |rate| format!("shaped to {rate} Gb/s in both directions"),
                );
                self.note(&format!("Each server has a network namespace; its link is {shaped}."));
            }
            Err(error) => {
                self.results.experiment.load.namespaces = false;
                self.note(&format!("All servers are on the loopback interface: {error}."));
            }
        }
    }

    /// The version of a program that is no server, if the experiment has a part for it.
    fn program(&self, player: Player) -> Result<String, LabError> {
        let kind = self.results.experiment.kind;
        match (player, kind) {
            (Player::RedisLua, Kind::Pagerank) => version(Store::Redis, &self.around),
            (Player::Spark, Kind::Pagerank | Kind::Program) => pagerank::spark::version(),
            (Player::Ems, Kind::Load) => ems::version(),
            (Player::Attached, Kind::Load | Kind::Program) => version(Store::Dolium, &self.around),
            _ => Err(LabError::Options("this experiment has no part for it".into())),
        }
    }

    /// The stores that are servers.
    fn servers(&self) -> Vec<Choice> {
        self.choices.iter().filter(|choice| choice.store().is_some()).cloned().collect()
    }

    fn say(&mut self, line: &str) {
        let line = format!("{}: {line}", self.results.experiment.name);
        self.live.show(&line, self.results);
    }

    fn note(&mut self, line: &str) {
        if !self.results.notes.iter().any(|known| known == line) {
            self.live.say(line);
            self.results.notes.push(line.to_string());
        }
    }

    fn note_started(&mut self, fleet: &Fleet) {
        let entry = self.results.stores.iter_mut().find(|one| one.label == fleet.choice.label);
        if let Some(entry) = entry
            && entry.command.is_empty()
        {
            entry.command.clone_from(&fleet.first().command);
        }
    }

    /// A second column of one store.
    fn companion(&mut self, label: &str) {
        if !self.results.stores.iter().any(|entry| entry.label == label) {
            let version = "as above".to_string();
            let entry = StoreEntry { label: label.into(), version, ..StoreEntry::default() };
            self.results.stores.push(entry);
        }
    }

    /// A store that did not start takes no further part.
    fn leave_out(&mut self, label: &str, why: &str) {
        self.live.say(&format!("{label} takes no part: {why}"));
        self.choices.retain(|choice| choice.label != label);
        if let Some(entry) = self.results.stores.iter_mut().find(|one| one.label == label) {
            entry.absent = Some(why.to_string());
        }
    }

    fn expect(&mut self, combinations: &[Combination], repetitions: usize) {
        self.live.expect(combinations.len() * repetitions * self.choices.len());
    }

    /// Keeps one visit.
    fn put(&mut self, store: &str, settings: &[(String, Setting)], visit: Visit) {
        let same = |point: &&mut Point| point.store == store && point.settings == settings;
        match self.results.points.iter_mut().find(same) {
            Some(point) => point.visits.push(visit),
            None => self.results.points.push(Point {
                store: store.to_string(),
                settings: settings.to_vec(),
                visits: vec![visit],
            }),
        }
        self.live.step();
        let words: Vec<String> = settings.iter().map(|(_, setting)| setting.to_string()).collect();
        self.say(&format!("{store} {}", words.join(" ")));
    }
}
