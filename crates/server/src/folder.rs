//! Folders in which a file is to be made: what to say where there is none, or one that may not be written to.
//!
//! The system says of both that there is no such file, or that permission is denied, which is about the file to whoever
//! reads it: and that is what is to be made.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Why a file could not be made, if that is for its folder.
pub fn why_not_made(path: &Path, error: &io::Error) -> Option<String> {
    let folder = folder_of(path);
    match error.kind() {
        ErrorKind::NotFound if !folder.exists() => {
            Some(format!("there is no folder {}: make it, or name another file", folder.display()))
        }
        // A file that is there may have a mode of its own to blame.
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            if path.symlink_metadata().is_err() =>
        {
            Some(why_unwritable(path))
        }
        _ => None,
    }
}

/// Removes a file that is in the way. Whether that is allowed, its folder says.
pub fn vacate(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path).map_err(|error| match error.kind() {
        kind @ ErrorKind::PermissionDenied => io::Error::new(kind, why_unwritable(path)),
        _ => error,
    })
}

fn why_unwritable(path: &Path) -> String {
    format!(
        "this user may not write to the folder {}: allow it, or name another file",
        folder_of(path).display()
    )
}

/// The path and why no file could be made there.
pub fn named(path: &Path, error: &io::Error) -> String {
    let why = why_not_made(path, error).unwrap_or_else(|| error.to_string());
    format!("{}: {why}", path.display())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_only_where_it_is_to_blame() {
        let here = std::env::current_exe().expect("a program");
        let beside = here.with_file_name("no such file");
        let say = |path: &Path, kind: ErrorKind| named(path, &kind.into());
        let absent = say(Path::new("/no/such/file"), ErrorKind::NotFound);
        assert_eq!(
            absent,
            "/no/such/file: there is no folder /no/such: make it, or name another file"
        );
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
            let unwritable = say(&beside, kind);
            let folder = beside.parent().expect("a folder").display();
            let told = format!(": this user may not write to the folder {folder}: allow it");
            assert!(unwritable.contains(&told), "{unwritable}");
        }
        let other = say(Path::new("file"), ErrorKind::PermissionDenied);
        assert!(other.contains("may not write to the folder .:"), "{other}");
        for (path, kind) in [(&here, ErrorKind::PermissionDenied), (&beside, ErrorKind::NotFound)] {
            assert!(!say(path, kind).contains("folder"), "{path:?}");
        }
    }
}
