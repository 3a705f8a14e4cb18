//! Whether what a run finds can be left where the user wants it: found out before anything is
//! measured, in the sentence that would otherwise come hours later.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use super::{PACKED, PAGE};
use crate::LabError;

/// Makes the directory of a report, if it is not there.
pub fn make(directory: &Path) -> Result<(), LabError> {
    fs::create_dir_all(directory).map_err(|error| {
        LabError::system(format!("make the directory {}", directory.display()), error)
    })
}

/// Makes the directory of a report; an error if a report cannot be written there.
pub fn prepare(directory: &Path) -> Result<(), LabError> {
    make(directory)?;
    may_write(&directory.join(PAGE))
}

/// Makes a directory in which results are kept; an error if those of an experiment cannot be.
pub fn prepare_kept(directory: &Path, name: &str) -> Result<(), LabError> {
    fs::create_dir_all(directory)
        .and_then(|()| probe(&directory.join(format!("{name}{PACKED}"))))
        .map_err(|error| not_kept(directory, error))
}

/// What is said where results cannot be kept.
pub(super) fn not_kept(directory: &Path, error: io::Error) -> LabError {
    LabError::system(format!("keep the results in {}", directory.display()), error)
}

/// An error if a file cannot be written. Nothing is changed.
pub fn may_write(path: &Path) -> Result<(), LabError> {
    probe(path).map_err(|error| LabError::system(format!("write {}", path.display()), error))
}

/// Opens a file as who writes it would, and leaves it as it was. A pipe or a device is left alone:
/// who reads from it would take the closing for the end.
fn probe(path: &Path) -> io::Result<()> {
    let is_there = path.symlink_metadata().is_ok();
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    OpenOptions::new().append(true).create(true).open(path)?;
    if is_there { Ok(()) } else { fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file stands for a disk that is full, or a directory of somebody else: nothing can be made below it.
    #[test]
    fn a_place_that_cannot_be_written_is_known_and_one_that_can_is_left_as_it_was() {
        let directory = std::env::temp_dir().join(format!("dolium-place-{}", std::process::id()));
        prepare(&directory.join("new")).unwrap();
        let left = fs::read_dir(directory.join("new")).unwrap().count();
        assert_eq!(left, 0, "a look leaves no file");

        let old = directory.join("old.json");
        fs::write(&old, "what an earlier run found").unwrap();
        may_write(&old).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "what an earlier run found");

        let below = old.join("new");
        for (found, says) in [
            (prepare(&below), format!("could not make the directory {}: ", below.display())),
            (may_write(&below), format!("could not write {}: ", below.display())),
            (
                prepare_kept(&below, "x"),
                format!("could not keep the results in {}", below.display()),
            ),
            (may_write(&directory), format!("could not write {}: ", directory.display())),
        ] {
            let error = found.unwrap_err().to_string();
            assert!(error.starts_with(&says), "{error}");
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
