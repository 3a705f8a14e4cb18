//! `dolium lab report`: what was measured, as a page, as raw data that are kept, or as Markdown.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{LabError, output, report};

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
    /// Write one line an experiment, or with --markdown its section, into this document, between
    /// the two comments that say so
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
}

impl ReportOptions {
    pub fn run(&self) -> Result<(), LabError> {
        let all = report::read(&self.directory)?;
        if let Some(directory) = &self.keep {
            report::keep(directory, &all)?;
        }
        match (&self.into, self.markdown) {
            (Some(document), true) => put(document, &report::markdown::text(&all))?,
            (Some(document), false) => put(document, &report::markdown::summary(&all))?,
            (None, true) => output::print(report::markdown::text(&all))?,
            (None, false) => {}
        }
        if self.keep.is_some() || self.markdown || self.into.is_some() {
            return Ok(());
        }
        let page = report::write(&self.directory, &all)?;
        output::print(format_args!("{}\n", page.display()))
    }
}

fn put(document: &Path, text: &str) -> Result<(), LabError> {
    let failed =
        |error| LabError::system(format!("write results into {}", document.display()), error);
    let old = fs::read_to_string(document).map_err(failed)?;
    let Some(new) = report::markdown::put(&old, text) else {
        return Err(LabError::Options(format!(
            "{} lacks the lines {} and {}, between which the results go",
            document.display(),
            report::markdown::BEGIN,
            report::markdown::END
        )));
    };
    fs::write(document, new).map_err(failed)
}
