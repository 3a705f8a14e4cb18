//! EMS beside the servers: Node processes on its shared memory, which time their own operations.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::results::Visit;
use crate::LabError;
use crate::experiment::sweep::Combination;
use crate::workload::Mix;

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
    let region = directory.join("ems.region");
    let mut children = Vec::new();
    let processes = one.load.connections;
    for number in 0..processes {
        let mut command = Command::new("node");
        command
            .arg(&program)
            .args([operation, &number.to_string(), &processes.to_string()])
            .args([one.workload.keys.to_string(), one.workload.key.sizes().mean().to_string()])
            .arg(one.workload.value.sizes().mean().to_string())
            .arg(&region)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        children.push(command.spawn().map_err(failed)?);
    }
    let said: Result<Vec<String>, LabError> = children.into_iter().map(output).collect();
    let _ = fs::remove_file(&region);
    let (mut rate, mut least) = (0.0, f64::INFINITY);
    for line in said? {
        let numbers: Vec<f64> =
            line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [mine, shortest] = numbers[..] else {
            return Err(LabError::Options("a process of EMS did not finish".into()));
        };
        rate += mine;
        least = least.min(shortest);
    }
    let mut visit = Visit::default();
    visit.put("rate", rate);
    visit.put("least", least);
    Ok(visit)
}

fn output(mut child: Child) -> Result<String, LabError> {
    let mut text = String::new();
    if let Some(out) = &mut child.stdout {
        // What a process says before it fails is looked at by the caller.
        let _ = out.read_to_string(&mut text);
    }
    child.wait().map_err(|error| LabError::system("wait for EMS", error))?;
    Ok(text)
}
