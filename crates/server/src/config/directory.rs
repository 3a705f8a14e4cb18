//! `dir`, the working directory: where relative paths of the other directives lead.

use super::file::Line;
use super::{Config, ConfigFailure, SetFailure};
use std::path::PathBuf;

impl Config {
    /// Changes to the directory that was given, if one was. Before anything else is opened by its
    /// path, and once all files of directives have been read: their paths are relative to where the
    /// server was started.
    pub fn enter_dir(&self, lines: &[Line]) -> Result<(), ConfigFailure> {
        // What nobody gave is where we are; another server of this process may have left it since.
        let Some(line) = lines.iter().rfind(|line| line.name.eq_ignore_ascii_case("dir")) else {
            return Ok(());
        };
        let dir = self.get("dir");
        if dir.is_empty() {
            return Ok(());
        }
        std::env::set_current_dir(&dir).map_err(|error| {
            let reason = format!("'dir': the server cannot change to '{dir}': {error}");
            ConfigFailure::new(&line.place, reason)
        })?;
        self.store_dir();
        Ok(())
    }

    /// From the root, whatever was written: what CONFIG REWRITE writes is read from another place the
    /// next time.
    pub fn store_dir(&self) {
        if let Ok(here) = std::env::current_dir() {
            self.store("dir", here.display().to_string());
        }
    }
}

/// The directory that CONFIG SET names has been entered, if it names one. It is left again unless it is
/// to stay so: another parameter may still be refused.
#[must_use]
#[derive(Debug)]
pub struct Entered {
    left: Option<PathBuf>,
}

impl Entered {
    pub fn of(pairs: &[(&str, &str)]) -> Result<Entered, SetFailure> {
        let Some((name, dir)) = pairs.iter().find(|(name, _)| name.eq_ignore_ascii_case("dir"))
        else {
            return Ok(Entered { left: None });
        };
        let left = std::env::current_dir().ok();
        match std::env::set_current_dir(dir) {
            Ok(()) => Ok(Entered { left }),
            Err(error) => {
                // Redis says no more than the system's sentence.
                let sentence = error.to_string();
                let reason = sentence.split(" (os error").next().unwrap_or_default().into();
                Err(SetFailure::Refused { name: (*name).into(), reason })
            }
        }
    }

    pub fn stay(mut self) {
        self.left = None;
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(left) = &self.left
            && let Err(error) = std::env::set_current_dir(left)
        {
            tracing::warn!(%error, "the working directory could not be changed back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::from_arguments;

    /// `dir` used to be looked at and then forgotten. That it is entered is tested with a process
    /// that may leave its own: crates/cli/tests/service.rs.
    #[test]
    fn a_directory_that_cannot_be_entered_names_its_directive() {
        let lines = from_arguments(&["--dir=/no/such/place".to_string()]).unwrap();
        let config = Config::new();
        config.load(&lines).unwrap();
        let failure = config.enter_dir(&lines).unwrap_err().to_string();
        let start = "the command line: 'dir': the server cannot change to '/no/such/place': ";
        assert!(failure.starts_with(start), "{failure}");
        assert!(Config::new().enter_dir(&[]).is_ok());
    }

    /// Only what fails, as a test shares the directory of its process with others.
    #[test]
    fn a_directory_that_cannot_be_entered_is_refused_in_the_words_of_redis() {
        for (dir, expected) in [
            ("", "No such file or directory"),
            ("/no/such/place", "No such file or directory"),
            ("/dev/null", "Not a directory"),
        ] {
            let refused = Entered::of(&[("timeout", "1"), ("DIR", dir)]).unwrap_err();
            let reason = expected.to_string();
            assert_eq!(refused, SetFailure::Refused { name: "DIR".into(), reason }, "{dir}");
        }
        assert!(Entered::of(&[("timeout", "1")]).is_ok());
    }

    #[test]
    fn the_directory_is_protected_unless_the_configuration_says_otherwise() {
        for (word, from_here, from_elsewhere) in
            [("no", false, false), ("local", true, false), ("yes", true, true)]
        {
            let config = Config::new();
            config.store("enable-protected-configs", word.into());
            let may_set = |is_local| {
                let set = config.set_with(&[("dir", "/")], is_local, |_| Ok(()));
                if let Err(refused) = &set {
                    let reason = "can't set protected config".to_string();
                    assert_eq!(*refused, SetFailure::Refused { name: "dir".into(), reason });
                }
                set.is_ok()
            };
            assert_eq!((may_set(true), may_set(false)), (from_here, from_elsewhere), "{word}");
        }
    }
}
