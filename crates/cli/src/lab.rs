//! `dolium lab ...`: hands the words after `lab` to the lab.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs one experiment.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    dolium_lab::cli::run(args)
}
