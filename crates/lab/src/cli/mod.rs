//! `dolium lab ...`: the options of every experiment, and what they print.

mod crowd;
mod difference;
mod experiments;
mod growth;
mod list;
mod load;
mod null;
mod reports;
mod returns;
mod run;
mod suite;
mod threads;
mod trust;
mod turns;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{LabError, output, report};

#[derive(Parser)]
#[command(name = "dolium lab", about = "Measure stores from outside, as a user does")]
struct Lab {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name every experiment
    List(list::Options),
    /// Run experiments and write a report
    Run(run::RunOptions),
    /// Write a run's report again from its results
    Report(reports::ReportOptions),
    /// Let stores take turns and compare CPU per operation; with two directories, compare two runs
    Compare(experiments::CompareOptions),
    /// Find the highest rate at which the 99th percentile stays under a bound
    Qos(experiments::QosOptions),
    /// Ask one store that runs already
    Load(load::Options),
    /// Serve as a store that parses nothing: the floor of network figures
    Null(null::Options),
    /// Measure the lab itself: its generator, its latencies, its verdicts
    Trust(trust::Options),
    /// Measure pairs of cache misses: the floor of reads from attached memory
    Misses(experiments::MissesOptions),
    /// Measure what a function that returns behind a system call costs
    Returns(returns::Options),
    /// Measure what a request costs a server of several threads, beside one of one thread
    Threads(threads::Options),
    /// Measure whether keys that are stored while the index grows more cost more than others
    Growth(growth::Options),
    /// Measure what idle, slow, unfinished and flooding clients do to the latency of others
    Crowd(crowd::Options),
}

/// Runs the experiment that `args` name; the first of them is the first word after `lab`.
pub fn run<I>(args: I) -> ExitCode
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let name = OsString::from("dolium lab");
    let words = std::iter::once(name).chain(args.into_iter().map(Into::into));
    let lab = match Lab::try_parse_from(words) {
        Ok(lab) => lab,
        Err(refused) if refused.use_stderr() => {
            // Nothing is left to do when even the message cannot be written.
            let _ = refused.print();
            return ExitCode::from(2);
        }
        // What was asked for: the help.
        Err(told) => return ended(output::print_with(|| told.print())),
    };
    let done = match lab.command {
        Command::List(options) => options.run(),
        Command::Run(options) => options.run(),
        Command::Report(options) => options.run(),
        Command::Compare(options) => options.run(),
        Command::Qos(options) => options.run(),
        Command::Load(options) => options.run(),
        Command::Null(options) => options.run(),
        Command::Trust(options) => options.run(),
        Command::Misses(options) => options.run(),
        Command::Returns(options) => options.run(),
        Command::Threads(options) => options.run(),
        Command::Growth(options) => options.run(),
        Command::Crowd(options) => options.run(),
    };
    ended(done)
}

fn ended(done: Result<(), LabError>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::note(format_args!("dolium lab: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Fails before anything is measured where `write_json` would fail after it.
fn may_write(path: &std::path::Path) -> Result<(), LabError> {
    report::place::may_write(path)
}

/// Writes a result as JSON to a file.
fn write_json(path: &std::path::Path, value: &impl serde::Serialize) -> Result<(), LabError> {
    let doing = || format!("write {}", path.display());
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| LabError::system(doing(), std::io::Error::from(error)))?;
    std::fs::write(path, text + "\n").map_err(|error| LabError::system(doing(), error))
}
