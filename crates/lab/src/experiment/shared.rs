//! Experiments that look at one set of measurements: a study that drew throughput, CPU and memory
//! of one run in three figures measured once, and so does the lab when all three are asked for.

use super::{Experiment, LoadShape};

/// Whether what was measured for `rich` is all that `poor` needs. Both are at the same length.
pub fn covers(rich: &Experiment, poor: &Experiment) -> bool {
    let parts = |one: &Experiment| {
        // What the study's figures have in common; how long and how often is compared apart.
        let load = LoadShape {
            seconds: 0.0,
            warm_up: 0.0,
            repetitions: 0,
            count_calls: false,
            ..one.load.clone()
        };
        serde_json::to_string(&(one.kind, &one.workload, load, &one.sweep, &one.record, &one.graph))
            .unwrap_or_default()
    };
    let has_case = |case: &super::FillCase| {
        let same = |other: &super::FillCase| {
            other.settings == case.settings
                && other.half_way == case.half_way
                && other.memory_share == case.memory_share
                && other.name == case.name
                && case.only.iter().all(|store| other.only.contains(store))
        };
        rich.fill.iter().any(same)
    };
    parts(rich) == parts(poor)
        && poor.fill.iter().all(has_case)
        && poor.stores.iter().all(|store| rich.stores.contains(store))
        && (rich.load.count_calls || !poor.load.count_calls)
        && rich.load.seconds >= poor.load.seconds
        && rich.load.repetitions >= poor.load.repetitions
}

/// Who measures for whom: for each experiment the place of the one whose measurements it uses, its
/// own if it measures itself.
pub fn measured_by(all: &[Experiment]) -> Vec<usize> {
    // The richest first, so that nobody who measures could have used another's.
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_key(|&place| {
        let one = &all[place];
        std::cmp::Reverse((one.fill.len(), one.stores.len(), one.load.count_calls))
    });
    let mut owners: Vec<usize> = Vec::new();
    let mut by = vec![0; all.len()];
    for place in places {
        let owner = owners.iter().copied().find(|&owner| covers(&all[owner], &all[place]));
        by[place] = owner.unwrap_or_else(|| {
            owners.push(place);
            place
        });
    }
    by
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Length, catalogue};

    #[test]
    fn figures_of_one_run_are_measured_once_and_others_are_not() {
        let all: Vec<Experiment> =
            catalogue::all().unwrap().iter().map(|one| one.at(Length::Full, 1.0)).collect();
        let by = measured_by(&all);
        let place = |name: &str| all.iter().position(|one| one.name == name).unwrap();
        let together = |names: &[&str]| {
            let owners: Vec<usize> = names.iter().map(|name| by[place(name)]).collect();
            assert!(owners.windows(2).all(|pair| pair[0] == pair[1]), "{names:?}");
        };
        together(&["cao16-table1", "cao16-fig1", "cao16-fig2", "cao16-fig4", "cao16-fig6"]);
        together(&["cao16-table2", "cao16-fig7", "cao16-fig8"]);
        together(&["pavlik16-fig1", "pavlik16-fig2", "pavlik16-fig3"]);
        together(&["zhang14-table1", "zhang14-fig2", "zhang14-memory"]);
        together(&["ems-latency-read", "ems-throughput-read"]);
        for alone in ["ycsb-a", "ycsb-c", "epfl19-latency", "zhang14-fig3", "limit-null"] {
            assert_eq!(by[place(alone)], place(alone), "{alone}");
        }
        assert!(by[place("cao16-table1")] != by[place("cao16-table2")]);
    }
}
