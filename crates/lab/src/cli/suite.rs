//! Several experiments in one run: which of them measure, for which others, and how long each may.

use crate::experiment::{Experiment, Length, shared};

/// One set of measurements.
pub(super) struct Task {
    pub experiment: Experiment,
    /// Experiments that look at the same measurements, at the length of the run.
    pub others: Vec<Experiment>,
    /// Seconds that it may take.
    pub seconds: Option<f64>,
}

impl Task {
    /// All experiments of which something is found.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.experiment).chain(&self.others).map(|one| one.name.as_str())
    }
}

/// The tasks of a run. Who measures for others has their time too.
pub(super) fn tasks(
    all: Vec<Experiment>,
    length: Length,
    scale: f64,
    minutes: Option<f64>,
) -> Vec<Task> {
    let at: Vec<Experiment> = all.iter().map(|one| one.at(length, scale)).collect();
    let by = shared::measured_by(&at);
    let share = minutes.map(|minutes| minutes * 60.0 / all.len().max(1) as f64);
    let mut tasks = Vec::new();
    for (place, experiment) in all.into_iter().enumerate() {
        if by[place] != place {
            continue;
        }
        let looks = |&(other, owner): &(usize, &usize)| *owner == place && other != place;
        let others: Vec<Experiment> =
            by.iter().enumerate().filter(looks).map(|(other, _)| at[other].clone()).collect();
        let seconds = share.map(|share| share * (1 + others.len()) as f64);
        tasks.push(Task { experiment, others, seconds });
    }
    tasks
}
