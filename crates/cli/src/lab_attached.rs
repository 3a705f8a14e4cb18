//! `dolium lab-attached TASK`: one process of the lab that is attached to a store's memory. The lab
//! starts it; it brings the lab's loop and the memory's verbs together, which only this binary may.

use crate::output;
use std::process::ExitCode;

use dolium_attach::Store;
use dolium_lab::attached::{self, Memory, Task};

struct Attached(Store);

impl Memory for Attached {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        out.clear();
        self.0.get_into(key, out).map_err(|error| error.to_string())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
        self.0.execute(&[b"SET", key, value]).map(|_| ()).map_err(|error| error.to_string())
    }
}

/// Runs the task and prints what came of it.
pub fn run(task: &str) -> ExitCode {
    match measure(task) {
        Ok(outcome) => output::finish(format!("{outcome}\n").as_bytes()),
        Err(why) => {
            output::note(why);
            ExitCode::FAILURE
        }
    }
}

fn measure(task: &str) -> Result<String, String> {
    let task: Task = dolium_lab::attached::task(task).map_err(|error| error.to_string())?;
    let store = Store::attach(&task.socket).map_err(|error| error.to_string())?;
    let outcome = attached::run(&task, &mut Attached(store)).map_err(|error| error.to_string())?;
    Ok(attached::text(&outcome))
}
