//! What a run leaves on disk: JSON with everything, CSV with every round, SVG plots, and one HTML
//! page that holds all of them and needs nothing else.
//!
//! ```text
//! DIR/index.html                 the page, all experiments of the run
//! DIR/NAME.json                  everything that was measured, reports are made from it
//! DIR/NAME.csv                   one row a round
//! DIR/NAME-1.svg ...             the plots
//! KEPT/NAME.json.gz              what `keep` leaves: compact, and without names of places
//! ```

mod csv;
pub mod finding;
mod keep;
pub mod markdown;
mod method;
mod page;
mod phases;
pub mod place;
pub mod scale;
pub mod svg;
pub mod warnings;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::LabError;
use crate::run::results::Results;

/// How the name of compressed results ends.
const PACKED: &str = ".json.gz";
/// Name of the page.
const PAGE: &str = "index.html";

/// Writes everything of a run into a directory; returns the page's place.
pub fn write(directory: &Path, all: &[Results]) -> Result<PathBuf, LabError> {
    place::make(directory)?;
    for results in all {
        let name = &results.experiment.name;
        save(&directory.join(format!("{name}.json")), &json(results)?)?;
        save(&directory.join(format!("{name}.csv")), &csv::text(results))?;
        let drawings = results.experiment.plot.iter().flat_map(|plot| svg::draw(plot, results));
        for (number, drawing) in drawings.enumerate() {
            save(&directory.join(format!("{name}-{}.svg", number + 1)), &drawing.svg)?;
        }
    }
    let page = directory.join(PAGE);
    save(&page, &page::text(all))?;
    Ok(page)
}

/// Reads the results of a run, or of one file of it.
pub fn read(place: &Path) -> Result<Vec<Results>, LabError> {
    let mut files: Vec<PathBuf> = if place.is_dir() {
        let entries = fs::read_dir(place).map_err(|error| {
            LabError::system(format!("read the directory {}", place.display()), error)
        })?;
        let is_json = |path: &PathBuf| {
            let name = path.to_string_lossy();
            name.ends_with(".json") || name.ends_with(PACKED)
        };
        entries.flatten().map(|entry| entry.path()).filter(is_json).collect()
    } else {
        vec![place.to_path_buf()]
    };
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let doing = || format!("read the results {}", file.display());
        let failed = |error| LabError::system(doing(), error);
        let mut text = String::new();
        if file.to_string_lossy().ends_with(PACKED) {
            let packed = fs::File::open(&file).map_err(failed)?;
            GzDecoder::new(packed).read_to_string(&mut text).map_err(failed)?;
        } else {
            text = fs::read_to_string(&file).map_err(failed)?;
        }
        let results = serde_json::from_str(&text)
            .map_err(|error| LabError::system(doing(), std::io::Error::from(error)))?;
        all.push(results);
    }
    if all.is_empty() {
        return Err(LabError::Options(format!("{} holds no results", place.display())));
    }
    Ok(all)
}

/// Whether `keep` left whole results of an experiment in a directory.
pub fn is_kept(directory: &Path, name: &str) -> bool {
    read(&directory.join(format!("{name}{PACKED}")))
        .is_ok_and(|all| all.iter().all(|results| !results.interrupted))
}

/// Keeps a run's raw data compressed, one file an experiment; `read` takes them as they are.
pub fn keep(directory: &Path, all: &[Results]) -> Result<(), LabError> {
    let failed = |error| place::not_kept(directory, error);
    fs::create_dir_all(directory).map_err(failed)?;
    for results in all {
        let name = format!("{}{PACKED}", results.experiment.name);
        let file = fs::File::create(directory.join(name)).map_err(failed)?;
        let mut packer = GzEncoder::new(file, Compression::best());
        packer.write_all(json(&keep::compact(results))?.as_bytes()).map_err(failed)?;
        packer.finish().map_err(failed)?;
    }
    Ok(())
}

fn json(results: &Results) -> Result<String, LabError> {
    serde_json::to_string(results)
        .map_err(|error| LabError::system("write the results", std::io::Error::from(error)))
}

fn save(path: &Path, text: &str) -> Result<(), LabError> {
    fs::write(path, text)
        .map_err(|error| LabError::system(format!("write {}", path.display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Length, catalogue};
    use crate::machine::Machine;
    use crate::run::results::{Point, StoreEntry, Visit};

    /// A run of one experiment with made figures, all kinds of plots included.
    fn made() -> Results {
        let experiment = catalogue::find("epfl19-latency").unwrap().at(Length::Quick, 1.0);
        let mut points = Vec::new();
        for store in ["dolium", "redis", "memcached"] {
            for one in experiment.combinations().unwrap() {
                let visits = (0..6).map(|round| {
                    let mut visit = Visit::default();
                    let slower = if store == "redis" { 2.0 } else { 1.0 };
                    for (name, value) in [("mean", 100.0), ("p99", 900.0), ("busy", 0.5)] {
                        visit.put(name, value * slower + f64::from(round));
                    }
                    visit.latency.0 = (1..50).map(|n| (n * n * 1_000, 1_000 / n)).collect();
                    visit
                });
                let (store, settings) = (store.to_string(), one.settings);
                points.push(Point { store, settings, visits: visits.collect() });
            }
        }
        let entry = |label: &str| StoreEntry { label: label.into(), ..StoreEntry::default() };
        Results {
            experiment,
            length: Length::Quick,
            scale: 1.0,
            command: "dolium lab run epfl19-latency --quick".into(),
            began: "2026-11-21 08:30:00 UTC".into(),
            seconds: 60.0,
            dolium: "0.1.0".into(),
            method: crate::limits::METHOD,
            machine: Machine::read(),
            noise: Vec::new(),
            stores: ["dolium", "redis", "memcached"].map(entry).to_vec(),
            points,
            notes: vec!["a <remark> & more".into()],
            interrupted: false,
        }
    }

    #[test]
    fn a_page_is_whole_and_results_read_back_packed_or_not() {
        let directory =
            std::env::temp_dir().join(format!("dolium-lab-report-{}", std::process::id()));
        let page = write(&directory, &[made()]).unwrap();
        let text = fs::read_to_string(page).unwrap();
        assert!(text.contains("as published") && text.contains("a &lt;remark&gt; &amp; more"));
        assert!(text.matches("<svg").count() >= 7, "{}", text.matches("<svg").count());
        assert!(text.contains("dolium lab run epfl19-latency --quick"));
        for word in ["NaN", "inf\"", "http:", "https:", "<script"] {
            let fetched = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!fetched.contains(word), "{word} in the page");
        }
        assert_eq!(read(&directory).unwrap()[0].points.len(), 12);
        let packed = directory.join("kept");
        keep(&packed, &[made()]).unwrap();
        let back = read(&packed).unwrap();
        assert_eq!(finding::sentences(&back[0]), finding::sentences(&made()));
        assert!(
            finding::sentences(&back[0])[0].contains("0.5"),
            "{:?}",
            finding::sentences(&back[0])
        );
        let markdown = markdown::text(&back);
        assert!(markdown.contains("| set Zipf 0.99 scrambled |"), "{markdown}");
        fs::remove_dir_all(&directory).unwrap();
    }
}
