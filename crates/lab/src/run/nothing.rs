//! A run that found nothing: an error that says why, and who could have taken part.

use super::results::Results;
use crate::LabError;
use crate::experiment::{Experiment, Kind};

/// Why nothing was measured, and whom to ask in place of who took no part.
pub(super) fn why(experiment: &Experiment, results: &Results) -> LabError {
    if experiment.kind == Kind::Misses {
        return LabError::Options(format!("nothing was measured: {}", results.notes.join("; ")));
    }
    let absent = results.stores.iter().filter_map(|entry| {
        let why = entry.absent.as_ref()?;
        Some(format!("{} takes no part ({why})", entry.label))
    });
    let mut reasons: Vec<String> = absent.collect();
    if reasons.is_empty() {
        reasons.push("no store that was named has a part in it".into());
    }
    LabError::Options(format!(
        "nothing was measured: {}. The experiment's own stores are {}; --stores names others",
        reasons.join("; "),
        experiment.stores.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Length, catalogue};
    use crate::run::live::Live;
    use crate::run::{self, Order};
    use crate::stores::Surroundings;

    /// It was said once, above a table without columns, and the run ended well.
    #[test]
    fn a_run_in_which_no_store_takes_part_is_an_error_that_says_why_and_who_could() {
        let order = Order {
            experiment: catalogue::find("zhang14-fig5").unwrap(),
            length: Length::Quick,
            scale: 1.0,
            budget: None,
            stores: Some(vec!["redis-lua".parse().unwrap()]),
            command: String::new(),
            graph: None,
        };
        let around = Surroundings::new(false, 1, None).unwrap();
        let (results, error) = run::run(&order, around, &mut Live::new()).unwrap();
        assert!(results.points.is_empty());
        let said = error.unwrap().to_string();
        let why = "redis-lua takes no part (this experiment has no part for it)";
        assert!(said.contains(why) && said.contains("dolium, redis, memcached"), "{said}");
    }
}
