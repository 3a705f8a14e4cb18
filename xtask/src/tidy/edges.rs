//! Which crate may depend on which. The design stands on these edges: the engine and the protocols
//! are leaves, and only the server knows sockets and threads.

use super::Source;
use crate::Result;
use std::collections::BTreeMap;

const PREFIX: &str = "dolium-";

/// A crate and the crates of ours that it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("protocol", &[]),
    ("commands", &["engine", "protocol"]),
    ("server", &["engine", "protocol", "commands"]),
    ("attach", &["engine", "protocol"]),
    // The C library, in bindings/c.
    ("c", &["attach"]),
    ("lab", &["protocol"]),
    ("cli", &["server", "attach", "lab"]),
    ("xtask", &[]),
];

pub fn check(sources: &[Source]) -> Result<Vec<String>> {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.path.ends_with("/Cargo.toml")) {
        let manifest: toml::Table =
            source.text.parse().map_err(|why| format!("{}: {why}", source.path))?;
        let package = manifest.get("package").and_then(|package| package.get("name"));
        let Some(package) = package.and_then(toml::Value::as_str) else { continue };
        let package = package.strip_prefix(PREFIX).unwrap_or(package);
        let Some(allowed) = allowed.get(package) else {
            if source.path.starts_with("crates/") {
                findings.push(format!("{package} is in no list of edges: add it to edges.rs"));
            }
            continue;
        };
        for used in dependencies(&manifest) {
            if !allowed.contains(&used.as_str()) {
                findings.push(format!("{}: {package} must not use {used}", source.path));
            }
        }
    }
    Ok(findings)
}

/// Our crates among the normal and build dependencies. Tests may use any of them.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let tables = ["dependencies", "build-dependencies"].into_iter();
    let tables = tables.filter_map(|name| manifest.get(name)?.as_table());
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = tables.chain(targets.filter_map(|target| target.get("dependencies")?.as_table()));
    let names = tables.flat_map(toml::Table::keys);
    names.filter_map(|name| name.strip_prefix(PREFIX)).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Source;

    #[test]
    fn a_wrong_edge_is_found() {
        let manifest = |uses: &str| Source {
            path: "crates/engine/Cargo.toml".into(),
            text: format!("[package]\nname = \"dolium-engine\"\n[dependencies]\n{uses} = \"1\"\n"),
        };
        assert!(super::check(&[manifest("rustix")]).expect("parses").is_empty());
        assert_eq!(super::check(&[manifest("dolium-server")]).expect("parses").len(), 1);
    }
}
