//! `kind = "quality"`: the highest rate at which a percentile stays under a bound, store by store.
//!
//! The search is that of `dolium lab qos`: from above in two passes (`compare/descent.rs`, decision 136),
//! since halving goes astray for good by one step that the machine has disturbed. Stores are asked step
//! by step in turns, so that what the machine does meanwhile meets all of them. A step in which the
//! generator itself was late is made again: a store that was asked too late is to be blamed for nothing.

use super::load::{overloaded, put};
use super::results::Visit;
use super::{Stage, visit};
use crate::LabError;
use crate::compare::descent::Descent;
use crate::compare::qos::{CLIENT_LATE_SHARE, HIGHEST_MULTIPLE};
use crate::experiment::LoadShape;
use crate::experiment::sweep::Combination;
use crate::generator::{LoadSpec, Pace};
use crate::workload::RequestPool;

/// So many windows of a rate are asked for at most, to find one in which the generator was on time.
const WINDOWS_MAX: usize = 3;
/// Rates that the second pass tries: the highest is found to within a fiftieth of what is tried first.
const RUNGS: usize = 5;

/// One store's search.
struct Search {
    descent: Descent,
    /// The visit at the highest rate that was kept.
    best: Visit,
    kept: f64,
    tries: usize,
    /// The lowest rate above it that was not, and whether the generator was late at it.
    broken: Option<(f64, bool)>,
}

impl Search {
    fn new(closed_loop_rate: f64) -> Self {
        let mut best = Visit::default();
        best.put("quality_rate", 0.0);
        let descent = Descent::from(closed_loop_rate * HIGHEST_MULTIPLE, RUNGS);
        Self { descent, best, kept: 0.0, tries: 0, broken: None }
    }

    /// Notes what came of a rate.
    fn note(&mut self, rate: f64, mut tried: Visit, load: &LoadShape) {
        let is_kept = tried.latency.quantile_us(load.quality_percentile) < load.quality_us;
        self.descent.told(rate, is_kept);
        self.tries += 1;
        if is_kept {
            tried.put("quality_rate", rate);
            (self.best, self.kept) = (tried, rate);
            self.broken = self.broken.filter(|(broken, _)| *broken > rate);
        } else if self.broken.is_none_or(|(broken, _)| rate < broken) {
            self.broken = Some((rate, !is_on_time(&tried, load)));
        }
    }
}

fn is_on_time(tried: &Visit, load: &LoadShape) -> bool {
    let lag = tried.figures.get("lag_p99").copied().unwrap_or(0.0);
    lag <= load.quality_us * CLIENT_LATE_SHARE
}

/// Offers a rate until the generator was on time, if it ever is.
fn ask(
    (spec, pool): &(LoadSpec, &RequestPool),
    rate: f64,
    load: &LoadShape,
) -> Result<Visit, LabError> {
    let offered = LoadSpec { pace: Pace::Open { rate }, ..spec.clone() };
    let mut tried = Visit::default();
    for _ in 0..WINDOWS_MAX {
        tried = match visit::measure(&offered, pool) {
            Err(LabError::Overload { .. }) => return Ok(overloaded()),
            other => other?,
        };
        if is_on_time(&tried, load) {
            break;
        }
    }
    Ok(tried)
}

/// One search of every store; another one begins in each repetition.
pub fn in_turns(
    stage: &mut Stage<'_>,
    combination: &Combination,
    labels: &[&str],
    loads: &[(LoadSpec, &RequestPool)],
    repetition: usize,
) -> Result<(), LabError> {
    let load = &combination.load;
    let (mut searches, mut closed) = (Vec::new(), Vec::new());
    for (spec, pool) in loads {
        let visit = visit::measure(spec, pool)?;
        let rate = visit.figures.get("rate").copied().unwrap_or(0.0);
        closed.push(rate);
        searches.push(Search::new(rate));
    }
    let mut is_searching = true;
    while is_searching {
        is_searching = false;
        for turn in 0..searches.len() {
            let place = (turn + repetition) % searches.len();
            let Some(rate) = searches[place].descent.next() else { continue };
            is_searching = true;
            if crate::interrupt::asked() {
                return Err(LabError::Interrupted);
            }
            stage.say(&format!("{} at {rate:.0} a second", labels[place]));
            let tried = ask(&loads[place], rate, load)?;
            searches[place].note(rate, tried, load);
        }
    }
    for (place, search) in searches.into_iter().enumerate() {
        let Search { mut best, tries, broken, .. } = search;
        best.put("closed_loop_rate", closed[place]);
        best.put("tries", tries as f64);
        if broken.is_some_and(|(_, is_late)| is_late) {
            stage.note(&format!(
                "{}: a rate above its highest was broken while the generator itself was late; that \
                 highest is a floor.",
                labels[place]
            ));
        }
        put(stage, combination, labels[place], &loads[place], best, repetition)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Counts;

    /// A visit whose every request waited so long, asked by a generator that was late by so much.
    fn waited(us: f64, late_us: f64) -> Visit {
        let latency = Counts(vec![((us * 1e3) as u64, 1000)]);
        let mut visit = Visit { latency, ..Visit::default() };
        visit.put("lag_p99", late_us);
        visit
    }

    /// A search by halves that was told once that a rate which is kept is not ended below it.
    #[test]
    fn one_disturbed_step_does_not_decide_the_search() {
        let load = LoadShape::default();
        let highest = |disturbed: usize| {
            let mut search = Search::new(80.0);
            while let Some(rate) = search.descent.next() {
                let kept = rate <= 57.0 && search.tries != disturbed;
                search.note(rate, waited(if kept { 200.0 } else { 5_000.0 }, 10.0), &load);
            }
            search.kept
        };
        let undisturbed = highest(usize::MAX);
        assert!((54.0..=57.0).contains(&undisturbed), "{undisturbed}");
        for step in 0..12 {
            let kept = highest(step);
            assert!(kept >= 0.8 * undisturbed, "{kept} where step {step} was disturbed");
        }
    }

    #[test]
    fn a_rate_that_was_broken_by_a_late_generator_is_said_to_be() {
        let load = LoadShape::default();
        let mut search = Search::new(80.0);
        search.note(90.0, waited(5_000.0, 4_000.0), &load);
        assert_eq!(search.broken, Some((90.0, true)));
        search.note(80.0, waited(5_000.0, 10.0), &load);
        assert_eq!(search.broken, Some((80.0, false)));
        search.note(85.0, waited(100.0, 10.0), &load);
        assert_eq!((search.kept, search.broken), (85.0, None));
        // Nobody was answered: nothing was kept.
        search.note(70.0, overloaded(), &load);
        assert_eq!((search.kept, search.best.figures["quality_rate"]), (85.0, 85.0));
    }
}
