//! `dir`, the working directory: where relative paths of the other directives lead.

use super::file::Line;
use super::{Config, ConfigFailure};

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
        // From the root: what CONFIG REWRITE writes is read from another place the next time.
        if let Ok(here) = std::env::current_dir() {
            self.store("dir", here.display().to_string());
        }
        Ok(())
    }
}

/// CONFIG SET says so before anything is changed, in Redis' words.
pub fn refuse_missing(name: &str, value: &str) -> Result<(), String> {
    match name == "dir" && !value.is_empty() && !std::path::Path::new(value).is_dir() {
        true => Err("No such file or directory".into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SetFailure;
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
        let refused = Config::new().set(&[("dir", "/no/such/place")]).unwrap_err();
        assert!(matches!(refused, SetFailure::Refused { ref name, .. } if name == "dir"));
    }
}
