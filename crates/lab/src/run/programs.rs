//! Programs of other systems in a `load` experiment: they run after the servers, each by itself, since each
//! takes all cores. No turns with the servers would be fair, and none are taken.

use super::Stage;
use super::attached::Attached;
use super::choice::Player;
use super::{ems, lookup};
use crate::LabError;
use crate::experiment::sweep::Combination;

/// The second column of Spark.
const PLAIN: &str = "spark without index";

/// Every combination on every program that takes part; who fails takes no further part.
pub fn run(stage: &mut Stage<'_>, combinations: &[Combination]) -> Result<(), LabError> {
    'choices: for choice in stage.choices.clone() {
        let mut memory = match choice.player {
            Player::Attached => match Attached::start(stage, &choice, &combinations[0]) {
                Ok(memory) => {
                    stage.note_started(memory.fleet());
                    Some(memory)
                }
                Err(error) => {
                    stage.leave_out(&choice.label, &error.to_string());
                    continue;
                }
            },
            _ => None,
        };
        for combination in combinations {
            for _ in 0..combination.load.repetitions {
                if crate::interrupt::asked() {
                    return Err(LabError::Interrupted);
                }
                let directory = stage.around.directory().to_path_buf();
                let directory = directory.as_path();
                let done = match (choice.player, &mut memory) {
                    (Player::Attached, Some(memory)) => {
                        memory.visit(stage, combination).map(|one| (one, None))
                    }
                    (Player::Ems, _) => ems::run(combination, directory).map(|one| (one, None)),
                    (Player::Spark, _) => {
                        let (keys, seconds) = (combination.workload.keys, combination.load.seconds);
                        lookup::run(keys, seconds, directory)
                            .map(|(indexed, plain)| (indexed, Some(plain)))
                    }
                    _ => break,
                };
                match done {
                    Ok((visit, other)) => {
                        stage.put(&choice.label, &combination.settings, visit);
                        if let Some(other) = other {
                            stage.companion(PLAIN);
                            stage.put(PLAIN, &combination.settings, other);
                        }
                    }
                    Err(error) => {
                        stage.leave_out(&choice.label, &error.to_string());
                        continue 'choices;
                    }
                }
            }
        }
    }
    Ok(())
}
