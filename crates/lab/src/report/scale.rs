//! At which scale an experiment was run, in one sentence for every report: what was cut before it
//! began, and what is missing of what was begun.

use crate::experiment::{FillCase, Kind, cuts};
use crate::run::results::{Point, Results};

/// "as published", or everything that was not.
pub fn sentence(results: &Results) -> String {
    let missing = lacks(results);
    if !missing.is_empty() {
        return missing.join(", ");
    }
    // Nobody published our own experiments.
    if results.experiment.study == "Ours" { "in full".into() } else { "as published".into() }
}

/// Everything in which the run is less than what was published; empty if nothing.
pub fn lacks(results: &Results) -> Vec<String> {
    let mut lacks = cuts::cuts(&results.experiment);
    lacks.extend(rounds(results));
    lacks.extend(settings(results));
    lacks
}

/// A store without what tells it from a second one of its kind.
fn name(label: &str) -> &str {
    label.split('#').next().unwrap_or_default()
}

/// Repetitions that are missing at some settings: a store failed in them.
fn rounds(results: &Results) -> Option<String> {
    let repetitions = results.experiment.load.repetitions;
    // A store that did nothing besides has no times inside of it.
    let counts =
        |point: &&Point| point.setting("when").is_none_or(|when| when.to_string() == "outside");
    let least = results.points.iter().filter(counts).map(|point| point.visits.len()).min()?;
    // The kinds that measure memory or the machine once say so by their own number.
    let is_repeated = !matches!(results.experiment.kind, Kind::Memory | Kind::Misses);
    (is_repeated && least < repetitions)
        .then(|| format!("{least} of {repetitions} repetitions at some settings"))
}

/// Stores that were not measured, or not at all settings; not those that the study's question passes over.
fn settings(results: &Results) -> Vec<String> {
    let asked = &results.experiment;
    let combinations = asked.combinations().map_or(0, |all| all.len());
    let takes_part = |case: &&FillCase, store: &str| {
        case.only.is_empty() || case.only.iter().any(|only| only == name(store))
    };
    let cells = |store: &str| match asked.kind {
        Kind::Load | Kind::Quality | Kind::Program | Kind::Hits => (combinations, "settings"),
        Kind::Fill | Kind::Mixed => {
            (asked.fill.iter().filter(|case| takes_part(case, store)).count(), "cases")
        }
        Kind::Memory => (asked.record.iter().map(|one| one.sizes.len()).sum(), "records"),
        Kind::Commands => {
            let cells = asked.record.iter().map(|one| one.sizes.len() * one.command.len());
            (cells.sum(), "commands")
        }
        Kind::Pagerank | Kind::Misses => (1, "settings"),
    };
    let mut lacks = Vec::new();
    let entries = results.stores.iter().map(|entry| entry.label.as_str());
    for store in entries.filter(|label| !asked.cannot.contains_key(name(label))) {
        let is_cell = |point: &&Point| {
            let inside = point.setting("when").is_some_and(|when| when.to_string() == "inside");
            point.store == store && !inside
        };
        let (all, what) = cells(store);
        let there = results.points.iter().filter(is_cell).count();
        if all > 0 && there == 0 {
            lacks.push(format!("without {store}"));
        } else if there < all {
            lacks.push(format!("{store} in {there} of {all} {what}"));
        }
    }
    lacks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Length, catalogue};
    use crate::run::results::{StoreEntry, Visit};

    /// A run of an experiment at full length in which every store was measured everywhere.
    fn whole(name: &str, stores: &[&str]) -> Results {
        let experiment = catalogue::find(name).unwrap().at(Length::Full, 1.0);
        let entry = |label: &&str| StoreEntry { label: (*label).into(), ..StoreEntry::default() };
        let visits = vec![Visit::default(); experiment.load.repetitions];
        let points = experiment.combinations().unwrap().into_iter().flat_map(|one| {
            let (settings, visits) = (one.settings, visits.clone());
            stores.iter().map(move |store| Point {
                store: (*store).into(),
                settings: settings.clone(),
                visits: visits.clone(),
            })
        });
        Results {
            points: points.collect(),
            stores: stores.iter().map(entry).collect(),
            ..Results::bare(experiment, Length::Full)
        }
    }

    #[test]
    fn a_run_is_as_published_only_if_nothing_of_it_is_missing() {
        let stores = ["dolium", "redis", "memcached"];
        let mut run = whole("zhang14-fig4", &stores);
        assert_eq!(sentence(&run), "as published");
        assert_eq!(sentence(&whole("limit-null", &stores)), "in full");
        run.points.pop();
        assert_eq!(sentence(&run), "memcached in 4 of 5 settings");
        run.points.retain(|point| point.store != "memcached");
        run.points[0].visits.pop();
        let told = "9 of 10 repetitions at some settings, without memcached";
        assert_eq!(sentence(&run), told);
        run.experiment.load.seconds = 0.35;
        assert_eq!(sentence(&run), format!("0.35 s of 2 s, {told}"));
        run.experiment.cannot.insert("memcached".into(), "of a reason".into());
        assert!(!sentence(&run).contains("memcached"));
    }
}
