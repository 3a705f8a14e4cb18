//! Where things are: the checkout, and the folders under `target/` that chores may write to.

use std::path::{Path, PathBuf};

/// The root of the checkout: the parent of this crate.
pub fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().unwrap_or(crate_folder).to_path_buf()
}

pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// The peers' unpacked source packages.
pub fn peers() -> PathBuf {
    target().join("peers")
}

/// What the client tests install: a Python environment, Node packages, compiled Java.
pub fn clients() -> PathBuf {
    target().join("clients")
}

/// Output of the commands that suites run, one file each.
pub fn logs() -> PathBuf {
    target().join("test-logs")
}

pub fn create(folder: &Path) -> crate::Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|why| format!("cannot create {}: {why}", folder.display()))
}
