//! The runs that are kept beside the source, and the documents that are made from them.

use std::fs;
use std::path::PathBuf;

use dolium_lab::experiment::catalogue;
use dolium_lab::experiment::cuts::cuts;
use dolium_lab::report::{self, markdown};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn kept() -> Vec<dolium_lab::run::results::Results> {
    report::read(&root().join("lab/results")).unwrap()
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The five studies' experiments and those that complete them have been run and kept.
#[test]
fn every_experiment_of_a_study_has_a_run_that_is_kept() {
    let kept = kept();
    let names: Vec<&str> = kept.iter().map(|one| one.experiment.name.as_str()).collect();
    for experiment in catalogue::all().unwrap() {
        let study = ["ZHANG14", "CAO16", "PAVLIK16", "EMS", "EPFL19"];
        if study.contains(&experiment.study.as_str()) {
            assert!(names.contains(&experiment.name.as_str()), "{} is not kept", experiment.name);
        }
    }
    let full = report::read(&root().join("lab/results/full")).unwrap();
    for results in kept.iter().chain(&full) {
        assert!(!results.interrupted, "{} did not run to its end", results.experiment.name);
        assert!(!results.points.is_empty(), "{} found nothing", results.experiment.name);
    }
}

#[test]
fn the_page_on_experiments_is_what_the_kept_runs_make() {
    let text = document("docs/experiments.md");
    let made = markdown::put(&text, &markdown::summary(&kept())).unwrap();
    let command = "dolium lab report lab/results --into docs/experiments.md";
    assert!(text == made, "docs/experiments.md is not what the runs say: {command}");
}

#[test]
fn every_kept_figure_is_readable_without_the_lab() {
    for place in ["lab/results", "lab/results/full"] {
        let page = format!("{place}/README.md");
        let text = document(&page);
        let all = report::read(&root().join(place)).unwrap();
        let made = markdown::put(&text, &markdown::text(&all)).unwrap();
        let command = format!("dolium lab report {place} --markdown --into {page}");
        assert!(text == made, "{page} is not what the runs say: {command}");
    }
}

/// What is said to have been run at the published scale was cut in nothing but rounds.
#[test]
fn runs_at_the_published_scale_lack_rounds_at_most() {
    for results in report::read(&root().join("lab/results/full")).unwrap() {
        let name = &results.experiment.name;
        let lacks = cuts(&results.experiment);
        let others: Vec<_> = lacks.iter().filter(|cut| !cut.ends_with(" repetitions")).collect();
        assert!(others.is_empty(), "{name} lacks {others:?}");
    }
}
