//! PageRank by Spark in local mode: the bundled formula over an RDD, in a Python process.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Graph;
use crate::LabError;
use crate::limits::{SPARK_DRIVER_MEMORY, SPARK_LONGEST, SPARK_WORKER_MEMORY};
use crate::run::program::Program;
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

/// A Python program that starts Spark. The size of a driver's heap is said before Java begins: from
/// within the program it would come too late.
pub fn python(program: &Path) -> Command {
    let mut command = Command::new("python3");
    command
        .arg(program)
        .env(
            "PYSPARK_SUBMIT_ARGS",
            format!(
                "--driver-memory {SPARK_DRIVER_MEMORY} \
                 --conf spark.python.worker.memory={SPARK_WORKER_MEMORY} pyspark-shell"
            ),
        )
        // All of Spark's processes must agree where a text belongs.
        .env("PYTHONHASHSEED", "0");
    command
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
    let mut command = python(&program);
    command.arg(&file).arg(iterations.to_string());
    let said = Program::start(&mut command, directory)?.finish(SPARK_LONGEST)?;
    let mut visit = Visit::default();
    for line in said.out.lines() {
        if let Some((name, value)) = line.split_once('=')
            && let Ok(value) = value.parse()
        {
            visit.put(name, value);
        }
    }
    let Some(bytes) = visit.figures.remove("rss_bytes") else {
        return Err(LabError::Options(format!("Spark did not finish: {}", said.complaint)));
    };
    visit.put("rss_mib", bytes / 1_048_576.0);
    visit.put("growth_of_disk", bytes / graph.text_bytes() as f64);
    Ok(visit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spark_is_told_of_its_memory_before_it_begins() {
        let command = python(Path::new("pagerank.py"));
        let told = command.get_envs().find(|(name, _)| *name == "PYSPARK_SUBMIT_ARGS");
        let told = told.and_then(|(_, value)| value).map(|value| value.to_string_lossy());
        assert_eq!(
            told.as_deref(),
            Some("--driver-memory 8g --conf spark.python.worker.memory=4g pyspark-shell")
        );
    }
}
