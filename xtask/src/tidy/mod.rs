//! Checks of the source tree that the compiler does not make: which crate may use which, that each
//! file says what it is, which calls a crate must not make, what must not be left in a commit, and
//! that the list of decisions names them all.

mod banned;
mod decisions;
mod edges;
mod headers;
mod leftovers;

use crate::tally::Tally;
use crate::{Result, paths};
use std::path::Path;
use std::process::Command;

/// A file that git knows, by its path from the root.
pub struct Source {
    pub path: String,
    pub text: String,
}

pub fn check() -> Result<Tally> {
    let sources = sources(&paths::root())?;
    let mut tally = Tally::default();
    let checks: [(&str, Vec<String>); 5] = [
        ("crate edges", edges::check(&sources)?),
        ("file headers", headers::check(&sources)),
        ("banned calls", banned::check(&sources)),
        ("leftovers", leftovers::check(&sources)),
        ("list of decisions", decisions::check(&sources)),
    ];
    for (name, findings) in checks {
        let outcome = if findings.is_empty() { Ok(()) } else { Err(findings.join("\n")) };
        tally.check(name, outcome);
    }
    Ok(tally)
}

/// Every text file that is committed or about to be (not what git ignores).
fn sources(root: &Path) -> Result<Vec<Source>> {
    let mut list = Command::new("git");
    list.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = list.output().map_err(|why| format!("cannot run git: {why}"))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut sources = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        // A deleted file is still listed, and a picture is not text: both are passed over.
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            sources.push(Source { path: path.to_string(), text });
        }
    }
    if sources.is_empty() {
        return Err("git lists no files here".to_string());
    }
    Ok(sources)
}
