//! EMS beside the servers: Node processes on its shared memory, which time their own operations.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::program::{Program, Said};
use super::results::Visit;
use crate::LabError;
use crate::experiment::sweep::Combination;
use crate::workload::Mix;

/// A visit that takes longer is stuck.
const LONGEST: Duration = Duration::from_secs(120);
static VISITS: AtomicU32 = AtomicU32::new(0);
const PROGRAM: &str = include_str!("ems.js");
const INSTALL: &str = "npm install ems (needs Node and a C++ compiler)";

/// EMS' version, if Node finds it.
pub fn version() -> Result<String, LabError> {
    let missing = || LabError::Missing { program: "ems".into(), how: INSTALL.into() };
    let ask = "require('ems'); console.log('ems', require('ems/package.json').version)";
    let said = Command::new("node").args(["-e", ask]).stdin(Stdio::null()).output();
    let said = said.map_err(|_| missing())?;
    if said.status.success() {
        Ok(String::from_utf8_lossy(&said.stdout).trim().to_string())
    } else {
        Err(missing())
    }
}

/// As many processes as the combination has connections, each with its share of the pairs.
pub fn run(one: &Combination, directory: &Path) -> Result<Visit, LabError> {
    let operation = match one.workload.operations.mix()? {
        Mix::Get => "read",
        Mix::Set => "write",
        _ => return Err(LabError::Options("EMS reads or writes here".into())),
    };
    let program = directory.join("ems.js");
    let failed = |error| LabError::system("run EMS", error);
    fs::write(&program, PROGRAM).map_err(failed)?;
    // Files of this visit alone: a process that comes late must not find those of another.
    let number = VISITS.fetch_add(1, Ordering::Relaxed);
    let region = directory.join(format!("ems-{number}.region"));
    let mut children = Vec::new();
    let processes = one.load.connections;
    for number in 0..processes {
        let mut command = Command::new("node");
        command
            .arg(&program)
            .args([operation, &number.to_string(), &processes.to_string()])
            .args([one.workload.keys.to_string(), one.workload.key.sizes().mean().to_string()])
            .arg(one.workload.value.sizes().mean().to_string())
            .arg(&region);
        children.push(Program::start(&mut command, directory)?);
    }
    let said: Result<Vec<Said>, LabError> =
        children.into_iter().map(|child| child.finish(LONGEST)).collect();
    // The directory goes at the end of the run; a region is large and goes now.
    let _ = fs::remove_file(&region);
    let (mut done, mut least) = (0.0, f64::INFINITY);
    let (mut begun, mut ended) = (f64::INFINITY, 0.0f64);
    for said in said? {
        let numbers: Vec<f64> =
            said.out.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [mine, shortest, from, to] = numbers[..] else {
            return Err(LabError::Options(format!(
                "a process of EMS did not finish: {}",
                said.complaint
            )));
        };
        done += mine;
        least = least.min(shortest);
        (begun, ended) = (begun.min(from), ended.max(to));
    }
    let mut visit = Visit::default();
    visit.put("rate", done / (ended - begun));
    visit.put("least", least);
    Ok(visit)
}
