//! The loop of a process that is attached to a store's memory. It knows the workload and the clock
//! and not the memory: who links both hands it the verbs.
//!
//! The lab measures from outside and so depends on no store; the program that holds both starts
//! this loop in processes of their own (`run/attached.rs` asks it to).

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::generator::{Counts, histogram};
use crate::workload::{Distribution, Sizes, value, wire};

/// One operation in so many is timed: reading the clock twice costs a third of a read.
const TIMED_ONE_IN: usize = 8;
/// Operations between two looks at how late it is.
const BETWEEN_LOOKS: usize = 64;
/// Keys drawn beforehand; then they are asked for again in the same order.
const DRAWN: usize = 1 << 20;

/// What one process does, as its parent tells it in one word of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Where the store hands out its memory.
    pub socket: String,
    /// Writes in place of reads.
    pub write: bool,
    pub keys: u32,
    pub key_bytes: Sizes,
    pub value_bytes: Sizes,
    pub order: Distribution,
    pub seed: u64,
    /// When to begin, in seconds since 1970: all processes of a visit begin together.
    pub begin: f64,
    pub warm_up: f64,
    pub seconds: f64,
    pub verify: bool,
}

/// What one process brings home.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Of the window, as all others.
    pub operations: u64,
    pub seconds: f64,
    pub misses: u64,
    pub latency: Counts,
}

/// The verbs of attached memory.
pub trait Memory {
    /// Puts the value of a key into `out`; `false` if there is none.
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, String>;
    /// Stores a value.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), String>;
}

/// Asks until the time is over.
pub fn run(task: &Task, memory: &mut dyn Memory) -> Result<Outcome, LabError> {
    let ids = task.order.draw(task.keys, DRAWN.min(task.keys as usize * 4), task.seed);
    let failed = |why: String| LabError::Refused { reply: why };
    let seconds = |number: f64| Duration::try_from_secs_f64(number).unwrap_or_default();
    let mut latency = histogram();
    let mut outcome = Outcome::default();
    let (mut key, mut out) = (Vec::new(), Vec::new());
    let wait = task.begin - now();
    if wait > 0.0 {
        std::thread::sleep(seconds(wait));
    }
    let begun = Instant::now();
    let from = begun + seconds(task.warm_up);
    let to = from + seconds(task.seconds);
    let mut measuring = None;
    for (number, &id) in ids.iter().cycle().enumerate() {
        if number.is_multiple_of(BETWEEN_LOOKS) {
            let now = Instant::now();
            if now >= to {
                break;
            }
            if measuring.is_none() && now >= from {
                measuring = Some((now, number));
            }
        }
        key.clear();
        wire::push_key(&mut key, id, task.key_bytes.of(id));
        if task.write {
            out.clear();
            value::push(&mut out, id, task.value_bytes.of(id));
        }
        // The making of a value and its check are the workload's, and take as long as the operation.
        let timed = number.is_multiple_of(TIMED_ONE_IN).then(Instant::now);
        let found = if task.write {
            memory.set(&key, &out).map_err(failed)?;
            true
        } else {
            memory.get(&key, &mut out).map_err(failed)?
        };
        if let (Some(timed), Some(_)) = (timed, measuring) {
            latency.saturating_record(timed.elapsed().as_nanos() as u64);
        }
        if !found {
            outcome.misses += u64::from(measuring.is_some());
        } else if !task.write && task.verify && !value::matches(&out, id) {
            let key = String::from_utf8_lossy(&key).into_owned();
            return Err(LabError::WrongValue { key });
        }
        outcome.operations = number as u64 + 1;
    }
    let (since, before) = measuring.unwrap_or((begun, 0));
    outcome.operations = outcome.operations.saturating_sub(before as u64);
    outcome.seconds = since.elapsed().as_secs_f64();
    outcome.latency = Counts::of(&latency);
    Ok(outcome)
}

/// Seconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Reads the task that a parent gave.
pub fn task(text: &str) -> Result<Task, LabError> {
    serde_json::from_str(text).map_err(|error| LabError::Options(format!("no task: {error}")))
}

/// What a parent reads.
pub fn text(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    struct Map(HashMap<Vec<u8>, Vec<u8>>);

    impl Memory for Map {
        fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
            out.clear();
            Ok(self.0.get(key).inspect(|value| out.extend_from_slice(value)).is_some())
        }

        fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
            self.0.insert(key.to_vec(), value.to_vec());
            Ok(())
        }
    }

    fn task(write: bool) -> Task {
        Task {
            socket: String::new(),
            write,
            keys: 500,
            key_bytes: 16.into(),
            value_bytes: 40.into(),
            order: Distribution::Uniform,
            seed: 1,
            begin: 0.0,
            warm_up: 0.01,
            seconds: 0.05,
            verify: true,
        }
    }

    #[test]
    fn what_is_written_is_read_and_checked_and_a_changed_value_is_noticed() {
        let mut map = Map(HashMap::new());
        assert!(run(&task(true), &mut map).unwrap().operations > 1_000);
        assert_eq!(map.0.len(), 500);
        let read = run(&task(false), &mut map).unwrap();
        assert_eq!(read.misses, 0);
        assert!(read.latency.total() >= read.operations / 16);
        map.0.values_mut().for_each(|value| value[3] ^= 1);
        assert!(matches!(run(&task(false), &mut map), Err(LabError::WrongValue { .. })));
    }
}
