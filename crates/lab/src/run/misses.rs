//! `kind = "misses"`: the floor of a read from attached memory, over the number of items.

use super::Stage;
use super::results::Visit;
use crate::LabError;
use crate::experiment::Setting;
use crate::misses::{Floor, Pages};

/// Key and value of an item.
const SIZES: [(usize, usize); 2] = [(16, 32), (24, 100)];
/// The column in which the figures stand; no store takes part.
const LABEL: &str = "this machine";

/// Measures every size at every number of items, with small pages and with huge ones.
pub fn run(stage: &mut Stage<'_>) -> Result<(), LabError> {
    let experiment = stage.results.experiment.clone();
    let combinations = experiment.combinations()?;
    stage.live.expect(combinations.len() * SIZES.len() * 2);
    stage.results.stores.push(super::StoreEntry { label: LABEL.into(), ..Default::default() });
    for combination in combinations {
        for (key, value) in SIZES {
            for pages in [Pages::Small, Pages::Huge] {
                if crate::interrupt::asked() {
                    return Err(LabError::Interrupted);
                }
                let floor =
                    match Floor::prepare(combination.workload.keys as usize, key, value, pages) {
                        Ok(floor) => floor,
                        Err(error) => {
                            stage.note(&format!("{pages:?} pages: {error}"));
                            continue;
                        }
                    };
                let mut settings = combination.settings.clone();
                settings.push(("pages".into(), Setting::Text(format!("{pages:?} pages"))));
                settings.push(("item".into(), Setting::Text(format!("{key}+{value} B"))));
                for _ in 0..experiment.load.repetitions {
                    let found = floor.measure();
                    let mut visit = Visit::default();
                    visit.put("dependent_ns", found.dependent_ns);
                    visit.put("batch16_ns", found.batch16_ns);
                    visit.put("batch32_ns", found.batch32_ns);
                    stage.put(LABEL, &settings, visit);
                }
            }
        }
    }
    Ok(())
}
