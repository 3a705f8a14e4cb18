//! Lookups in Spark beside the gets of servers: a Python process that times itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::results::Visit;
use crate::LabError;

const PROGRAM: &str = include_str!("lookup.py");

/// Lookups a second in so many records: with Spark's index, and without.
pub fn run(records: u32, seconds: f64, directory: &Path) -> Result<(Visit, Visit), LabError> {
    let program = directory.join("lookup.py");
    fs::write(&program, PROGRAM)
        .map_err(|error| LabError::system("write a program for Spark", error))?;
    let said = Command::new("python3")
        .arg(&program)
        .args([records.to_string(), seconds.to_string()])
        // All of Spark's processes must agree where a text belongs.
        .env("PYTHONHASHSEED", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| LabError::system("run Spark", error))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let find = |name: &str| -> Result<Visit, LabError> {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let rate: f64 = value.and_then(|value| value.parse().ok()).ok_or_else(|| {
            let why = String::from_utf8_lossy(&said.stderr);
            let last = why.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            LabError::Options(format!("Spark did not finish: {last}"))
        })?;
        let mut visit = Visit::default();
        visit.put("rate", rate);
        visit.put("mean", 1e6 / rate);
        Ok(visit)
    };
    Ok((find("indexed")?, find("plain")?))
}
