//! Which files an `include` means: one, or all that match a pattern.
//!
//! ```text
//!   include more.conf     from the working directory, or beside the file that says so; it has to be there
//!   include conf.d/*.conf those that match, at the one or the other place, in order; there may be none
//! ```

use std::path::{Path, PathBuf};

/// The files that an `include` names: one, which has to be there, or those that match, be it none.
pub fn files(includer: &Path, name: &str) -> Result<Vec<PathBuf>, String> {
    if !name.contains(['*', '?', '[']) {
        return Ok(vec![relative_to(includer, name)]);
    }
    let found = matching(name)?;
    if !found.is_empty() || Path::new(name).is_absolute() {
        return Ok(found);
    }
    // What the folder is called is no pattern.
    let folder = includer.parent().unwrap_or(Path::new("")).to_str();
    let folder =
        folder.ok_or("files that match are not looked for in a folder whose name is not UTF-8")?;
    let beside = Path::new(&glob::Pattern::escape(folder)).join(name);
    matching(&beside.to_string_lossy())
}

/// In the order of their names. A hidden file is not meant by a star, as in a shell.
fn matching(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let options = glob::MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let found = glob::glob_with(pattern, options)
        .map_err(|error| format!("'{pattern}' is no pattern for files: {error}"))?;
    found.map(|path| path.map_err(|error| error.to_string())).collect()
}

/// An included file is named from the working directory, as in Redis, or beside its includer.
fn relative_to(includer: &Path, name: &str) -> PathBuf {
    let named = PathBuf::from(name);
    if named.is_absolute() || named.exists() {
        return named;
    }
    includer.parent().map_or(named.clone(), |dir| dir.join(&named))
}

#[cfg(test)]
mod tests {
    use crate::config::file::tests::Folder;

    #[test]
    fn all_files_that_match_are_included_in_order() {
        let folder = Folder::with(
            "matching[0]",
            &[
                ("b.conf", b"port 2\n"),
                ("a.conf", b"port 1\n"),
                (".c.conf", b"port 3\n"),
                ("d.cfg", b"port 4\n"),
                ("beside", b"include [ab].conf\ninclude nothing*\nhz 1\n"),
                ("missing", b"include nothing\n"),
                ("neither", b"include [z\n"),
            ],
        );
        assert_eq!(folder.read("beside").unwrap(), ["port 1", "port 2", "hz 1"]);
        let pattern = format!("{}/*.conf", glob::Pattern::escape(folder.0.to_str().unwrap()));
        std::fs::write(folder.0.join("absolute"), format!("include \"{pattern}\"\n")).unwrap();
        assert_eq!(folder.read("absolute").unwrap(), ["port 1", "port 2"]);
        assert!(folder.read("missing").unwrap_err().contains("cannot be read"));
        assert!(folder.read("neither").unwrap_err().contains("neither:1: '[z' is no pattern"));
    }
}
