//! `dolium lab list`: the names of all experiments, and the file of one.

use clap::Args;

use crate::experiment::{Kind, Length, STUDIES, catalogue};
use crate::run::live::duration;
use crate::{LabError, output};

#[derive(Args)]
pub(super) struct Options {
    /// Print this experiment's file, to be copied and changed
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
}

impl Options {
    pub fn run(&self) -> Result<(), LabError> {
        if let Some(name) = &self.show {
            let experiment = catalogue::find(name)?;
            return output::print(catalogue::text(&experiment.name).unwrap_or_default());
        }
        let all = catalogue::all()?;
        let width = all.iter().map(|one| one.name.len()).max().unwrap_or_default();
        let mut lines = Vec::new();
        for study in STUDIES {
            lines.push(study.to_string());
            for experiment in all.iter().filter(|one| one.study == study) {
                let stores = experiment.stores.len().max(1);
                let quick = catalogue::seconds(experiment, Length::Quick, stores);
                let takes = match experiment.kind {
                    Kind::Load => format!("quick: {}", duration(quick)),
                    _ => String::new(),
                };
                let (name, title) = (&experiment.name, &experiment.title);
                let line = format!("  {name:<width$} {title:<62} {takes}");
                lines.push(line.trim_end().to_string());
            }
        }
        let how = "`dolium lab run NAME... --quick` runs them; `--show NAME` prints a file.";
        output::print(format_args!("{}\n\n{how}\n", lines.join("\n")))
    }
}
