//! A file that takes another's place when it is whole: no moment without one of the two.
//!
//! ```text
//!   FILE.writing   written, synced, moved over FILE; taken away again if that fails
//! ```
//! The end is put behind the whole name: files that differ in what follows the last dot have not the
//! same one beside them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Of a new file: what is in it, items or passwords, is the server's own business.
pub const OWNER_ONLY: u32 = 0o600;

#[derive(Debug)]
pub struct Beside {
    file: File,
    path: PathBuf,
    beside: PathBuf,
}

impl Beside {
    /// Whoever may read and write the file that is there may do so with the new one.
    pub fn create(path: &Path, end: &str) -> io::Result<Beside> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".");
        beside.push(end);
        let beside = PathBuf::from(beside);
        // What a process left that was killed; a link that somebody put there is not followed either.
        match std::fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(OWNER_ONLY).open(&beside)?;
        let beside = Beside { file, path: path.into(), beside };
        match std::fs::metadata(path) {
            Ok(old) => beside.file.set_permissions(old.permissions())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(beside)
    }

    pub fn replace(self) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.beside, &self.path)
    }
}

impl Write for Beside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Beside {
    /// After the move there is nothing of that name.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.beside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dolium-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// `mc.17101` and `mc.17102` had `mc.writing` in common: two servers that stopped at once threw
    /// one's items away and gave the other's to the wrong one.
    #[test]
    fn names_that_differ_behind_the_last_dot_do_not_meet() {
        let folder = folder("beside-names");
        let paths = [folder.join("mc.1"), folder.join("mc.2")];
        let mut both = paths.each_ref().map(|path| Beside::create(path, "writing").unwrap());
        for (number, beside) in both.iter_mut().enumerate() {
            write!(beside, "{number}").unwrap();
        }
        for beside in both {
            beside.replace().unwrap();
        }
        for (number, path) in paths.iter().enumerate() {
            assert_eq!(std::fs::read_to_string(path).unwrap(), number.to_string());
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// On a full disk, half of a file stayed there for ever.
    #[test]
    fn what_was_not_finished_is_taken_away() {
        let folder = folder("beside-failed");
        let path = folder.join("file");
        std::fs::write(&path, "old").unwrap();
        let mut beside = Beside::create(&path, "writing").unwrap();
        beside.write_all(b"half of it").unwrap();
        drop(beside);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        // Nor does what a killed process left get in the way.
        std::fs::write(folder.join("file.writing"), "left by another").unwrap();
        let mut beside = Beside::create(&path, "writing").unwrap();
        beside.write_all(b"new").unwrap();
        beside.replace().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Every user of the machine could read the items of a cache that had stopped, and the password
    /// in a configuration that was rewritten.
    #[test]
    fn only_those_can_read_it_who_could_read_what_was_there() {
        let folder = folder("beside-mode");
        let path = folder.join("file");
        for mode in [None, Some(0o640), Some(0o400)] {
            if let Some(mode) = mode {
                std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            }
            Beside::create(&path, "writing").unwrap().replace().unwrap();
            let now = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(now & 0o777, mode.unwrap_or(0o600));
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
