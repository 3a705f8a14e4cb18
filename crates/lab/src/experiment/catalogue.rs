//! The experiments that are built into the program, and those that a user has in files.

use std::fs;
use std::path::Path;

use super::{Experiment, Length};
use crate::LabError;

/// Puts the files of `experiments/` into the program: it needs none where it is installed.
macro_rules! built_in {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../experiments/", $name, ".toml")))),*]
    };
}

const BUILT_IN: &[(&str, &str)] = built_in![
    "zhang14-fig2",
    "zhang14-fig3",
    "zhang14-fig4",
    "zhang14-fig5",
    "zhang14-fig6",
    "zhang14-memory",
    "zhang14-table1",
    "zhang14-table2",
    "cao16-fig1",
    "cao16-fig2",
    "cao16-fig3",
    "cao16-fig4",
    "cao16-fig5",
    "cao16-fig6",
    "cao16-fig7",
    "cao16-fig8",
    "cao16-fig9",
    "cao16-fig10",
    "cao16-fig11",
    "cao16-table1",
    "cao16-table2",
    "cao16-table3",
    "cao16-table4",
    "pavlik16-fig1",
    "pavlik16-fig2",
    "pavlik16-fig3",
    "pavlik16-fig4",
    "pavlik16-fig5",
    "pavlik16-fig6",
    "pavlik16-redis",
    "ems-latency-read",
    "ems-latency-write",
    "ems-throughput-read",
    "ems-throughput-write",
    "epfl19-collapse",
    "epfl19-latency",
    "ycsb-a",
    "ycsb-b",
    "ycsb-c",
    "ycsb-d",
    "ycsb-e",
    "ycsb-f",
    "limit-misses",
    "limit-null",
    "memcached-cpu",
    "memcached-cpu-large",
    "memcached-cpu-multiget",
    "memcached-cpu-multiget-large",
    "mixed",
    "tls",
    "traces",
    "memcached-hits",
    "memcached-hits-drift",
    "memcached-memory",
    "memcached-memory-etc",
];

/// All built-in experiments, study by study.
pub fn all() -> Result<Vec<Experiment>, LabError> {
    BUILT_IN.iter().map(|(name, text)| Experiment::read(text, name)).collect()
}

/// The experiment of that name, or the one in that file.
pub fn find(name: &str) -> Result<Experiment, LabError> {
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let text = fs::read_to_string(path)
            .map_err(|error| LabError::system(format!("read the experiment {name}"), error))?;
        return Experiment::read(&text, name);
    }
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((known, text)) => Experiment::read(text, known),
        None => Err(LabError::Options(match nearest(name) {
            Some(near) => format!("there is no experiment {name}; did you mean {near}?"),
            None => format!("there is no experiment {name}; `dolium lab list` names them all"),
        })),
    }
}

/// The text of a built-in experiment, to be copied and changed.
pub fn text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The known name that shares most with `name` at both ends, if it shares much.
fn nearest(name: &str) -> Option<&'static str> {
    let ends = |known: &str| {
        let alike = |(a, b): &(u8, u8)| a == b;
        let front = known.bytes().zip(name.bytes()).take_while(alike).count();
        let back = known.bytes().rev().zip(name.bytes().rev()).take_while(alike).count();
        front + back
    };
    let (known, _) = BUILT_IN.iter().max_by_key(|(known, _)| ends(known))?;
    (ends(known) >= 4).then_some(known)
}

/// How many stores, combinations and seconds a run of `experiment` takes, about.
pub fn seconds(experiment: &Experiment, length: Length, stores: usize) -> f64 {
    let at = experiment.at(length, 1.0);
    let combinations: usize = at.sweep.iter().map(|sweep| sweep.values.len()).product();
    let visit = at.load.seconds + at.load.warm_up;
    visit * (combinations * stores * at.load.repetitions) as f64
}
