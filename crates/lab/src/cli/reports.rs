//! `dolium lab report`: what was measured, as a page, as raw data that are kept, or as Markdown.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{LabError, report};

/// Lines of a document between which `--into` writes.
const BEGIN: &str = "<!-- dolium lab report --into: begin -->";
const END: &str = "<!-- dolium lab report --into: end -->";

#[derive(Args)]
pub(super) struct ReportOptions {
    /// A directory that `dolium lab run` or `--keep` wrote
    directory: PathBuf,
    /// Write the raw data compressed into this directory, in place of the page
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "lab/results")]
    keep: Option<PathBuf>,
    /// Print the results in Markdown, a section an experiment, in place of the page
    #[arg(long)]
    markdown: bool,
    /// Write one line an experiment into this document, between the two comments that say so
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
}

impl ReportOptions {
    pub fn run(&self) -> Result<(), LabError> {
        let all = report::read(&self.directory)?;
        if let Some(directory) = &self.keep {
            report::keep(directory, &all)?;
        }
        if self.markdown {
            print!("{}", report::markdown::text(&all));
        }
        if let Some(document) = &self.into {
            put(document, &report::markdown::summary(&all))?;
        }
        if self.keep.is_some() || self.markdown || self.into.is_some() {
            return Ok(());
        }
        let page = report::write(&self.directory, &all)?;
        println!("{}", page.display());
        Ok(())
    }
}

fn put(document: &Path, text: &str) -> Result<(), LabError> {
    let failed =
        |error| LabError::system(format!("write results into {}", document.display()), error);
    let old = fs::read_to_string(document).map_err(failed)?;
    let (Some(begin), Some(end)) = (old.find(BEGIN), old.find(END)) else {
        return Err(LabError::Options(format!(
            "{} lacks the lines {BEGIN} and {END}, between which the results go",
            document.display()
        )));
    };
    let new = format!("{}{BEGIN}\n{text}{}", &old[..begin], &old[end..]);
    fs::write(document, new).map_err(failed)
}
