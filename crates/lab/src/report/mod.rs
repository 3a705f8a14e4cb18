//! What a run leaves on disk: JSON with everything, CSV with every round, SVG plots, and one HTML
//! page that holds all of them and needs nothing else.
//!
//! ```text
//! DIR/index.html                 the page, all experiments of the run
//! DIR/NAME.json                  everything that was measured, reports are made from it
//! DIR/NAME.csv                   one row a round
//! DIR/NAME-1.svg ...             the plots
//! ```

mod csv;
pub mod finding;
mod page;
pub mod svg;

use std::fs;
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::run::results::Results;

/// Name of the page.
const PAGE: &str = "index.html";

/// Writes everything of a run into a directory; returns the page's place.
pub fn write(directory: &Path, all: &[Results]) -> Result<PathBuf, LabError> {
    fs::create_dir_all(directory).map_err(|error| {
        LabError::system(format!("make the directory {}", directory.display()), error)
    })?;
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
        let is_json = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
        entries.flatten().map(|entry| entry.path()).filter(is_json).collect()
    } else {
        vec![place.to_path_buf()]
    };
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let doing = || format!("read the results {}", file.display());
        let text = fs::read_to_string(&file).map_err(|error| LabError::system(doing(), error))?;
        let results = serde_json::from_str(&text)
            .map_err(|error| LabError::system(doing(), std::io::Error::from(error)))?;
        all.push(results);
    }
    if all.is_empty() {
        return Err(LabError::Options(format!("{} holds no results", place.display())));
    }
    Ok(all)
}

fn json(results: &Results) -> Result<String, LabError> {
    serde_json::to_string(results)
        .map_err(|error| LabError::system("write the results", std::io::Error::from(error)))
}

fn save(path: &Path, text: &str) -> Result<(), LabError> {
    fs::write(path, text)
        .map_err(|error| LabError::system(format!("write {}", path.display()), error))
}
