//! Lookups in Spark beside the gets of servers: a Python process that times itself.

use std::fs;
use std::path::Path;

use super::pagerank::spark::python;
use super::program::Program;
use super::results::Visit;
use crate::LabError;
use crate::limits::SPARK_LONGEST;

const PROGRAM: &str = include_str!("lookup.py");

/// Lookups a second in so many records: with Spark's index, and without.
pub fn run(records: u32, seconds: f64, directory: &Path) -> Result<(Visit, Visit), LabError> {
    let program = directory.join("lookup.py");
    fs::write(&program, PROGRAM)
        .map_err(|error| LabError::system("write a program for Spark", error))?;
    let mut command = python(&program);
    command.args([records.to_string(), seconds.to_string()]);
    let said = Program::start(&mut command, directory)?.finish(SPARK_LONGEST)?;
    let find = |name: &str| -> Result<Visit, LabError> {
        let value = said.out.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let rate: f64 = value.and_then(|value| value.parse().ok()).ok_or_else(|| {
            LabError::Options(format!("Spark did not finish: {}", said.complaint))
        })?;
        let mut visit = Visit::default();
        visit.put("rate", rate);
        visit.put("mean", 1e6 / rate);
        Ok(visit)
    };
    Ok((find("indexed")?, find("plain")?))
}
