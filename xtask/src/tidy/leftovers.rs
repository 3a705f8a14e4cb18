//! What must not be left in a commit: markers of unfinished work, debug output, paths of somebody's
//! machine and addresses of package registries (lock files name packages and hashes only).

use super::Source;

/// Files that this check may not read as code: it would find its own list.
const SELF: &str = "xtask/src/tidy/leftovers.rs";

const IN_CODE: &[&str] = &["TODO", "FIXME", "XXX", "dbg!(", "todo!(", "unimplemented!("];
const IN_ANY_FILE: &[&str] = &["/home/", "/root/", "/Users/"];
/// A lock file names packages and hashes: no address of any kind.
const IN_LOCK_FILES: &[&str] = &["\"resolved\"", "registry+http", "sparse+http"];

/// Cargo writes this name of its default registry into every lock file by itself.
const CARGO_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub fn check(sources: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.path != SELF) {
        let is_lock = source.path.ends_with("package-lock.json") || source.path.ends_with(".lock");
        let is_code = source.path.ends_with(".rs");
        for (index, line) in source.text.lines().enumerate() {
            let mut find = |words: &[&str], line: &str| {
                for word in words.iter().filter(|word| line.contains(**word)) {
                    findings.push(format!("{}:{}: {word}", source.path, index + 1));
                }
            };
            find(IN_ANY_FILE, line);
            if is_code {
                find(IN_CODE, line);
            }
            if is_lock {
                find(IN_LOCK_FILES, &line.replace(CARGO_REGISTRY, ""));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::Source;

    fn findings(path: &str, text: &str) -> usize {
        super::check(&[Source { path: path.into(), text: text.into() }]).len()
    }

    #[test]
    fn markers_and_addresses_are_found() {
        assert_eq!(findings("a.rs", "// TODO: later"), 1);
        assert_eq!(findings("package-lock.json", "\"resolved\": \"x\""), 1);
        assert_eq!(findings("Cargo.lock", super::CARGO_REGISTRY), 0);
        assert_eq!(findings("a.rs", "fn fine() {}"), 0);
    }
}
