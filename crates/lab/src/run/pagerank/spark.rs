//! PageRank by Spark in local mode: the bundled formula over an RDD, in a Python process.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Graph;
use crate::LabError;
use crate::run::results::Visit;

const PROGRAM: &str = include_str!("pagerank.py");
const INSTALL: &str = "pip install pyspark, with a Java runtime";

/// Spark's version, if Python finds it.
pub fn version() -> Result<String, LabError> {
    let missing = || LabError::Missing { program: "pyspark".into(), how: INSTALL.into() };
    let said = Command::new("python3")
        .args(["-c", "import pyspark; print('Spark', pyspark.__version__)"])
        .stdin(Stdio::null())
        .output()
        .map_err(|_| missing())?;
    if said.status.success() {
        Ok(String::from_utf8_lossy(&said.stdout).trim().to_string())
    } else {
        Err(missing())
    }
}

/// Computes in Spark and reads what it says of itself.
pub fn run(graph: &Graph, iterations: usize, directory: &Path) -> Result<Visit, LabError> {
    let file = directory.join("edges.txt");
    let program = directory.join("pagerank.py");
    let save = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|error| LabError::system("write Spark's input", error))
    };
    save(&file, &graph.text())?;
    save(&program, PROGRAM)?;
    let said = Command::new("python3")
        .arg(&program)
        .arg(&file)
        .arg(iterations.to_string())
        // All of Spark's processes must agree where a text belongs.
        .env("PYTHONHASHSEED", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| LabError::system("run Spark", error))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let mut visit = Visit::default();
    for line in text.lines() {
        if let Some((name, value)) = line.split_once('=')
            && let Ok(value) = value.parse()
        {
            visit.put(name, value);
        }
    }
    let Some(bytes) = visit.figures.remove("rss_bytes") else {
        let why = String::from_utf8_lossy(&said.stderr);
        let last = why.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(LabError::Options(format!("Spark did not finish: {last}")));
    };
    visit.put("rss_mib", bytes / 1_048_576.0);
    visit.put("growth_of_disk", bytes / graph.text_bytes() as f64);
    Ok(visit)
}
