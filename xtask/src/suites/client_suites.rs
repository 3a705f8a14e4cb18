//! Client projects' own tests, unmodified, beside a server on the ports that they know.
//!
//! ```text
//!   tests/client-suites/suites.toml       which, and how many pass beside the real Memcached
//!   tests/client-suites/beside-a-server.sh   namespaces of their own: 11211 is free, nothing outlives them
//!   target/client-suites                  what the package registries gave
//! ```
//! The tests find a program `memcached`: a script that execs Dolium, or the real one.

use super::Against;
use crate::tally::Tally;
use crate::{Result, commands, install, paths, servers};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
struct Suite {
    source: String,
    tests: Vec<String>,
    #[serde(default)]
    server: Vec<String>,
    passed: usize,
    skipped: usize,
    #[serde(default)]
    skips: BTreeMap<String, String>,
    #[serde(default)]
    left_out: BTreeMap<String, String>,
}

pub fn run(against: Against) -> Result<Tally> {
    install::packages(install::MEMCACHED)?;
    install::packages(install::CLIENT_SUITES)?;
    let folder = paths::root().join("tests/client-suites");
    let text = std::fs::read_to_string(folder.join("suites.toml"))
        .map_err(|why| format!("no list of suites: {why}"))?;
    let suites: BTreeMap<String, Suite> =
        toml::from_str(&text).map_err(|why| format!("suites.toml: {why}"))?;
    let programs = programs(against)?;
    let mut tally = Tally::default();
    for (name, suite) in &suites {
        let counted = one(&folder, &programs, name, suite, against).unwrap_or_else(|why| {
            let mut counted = Tally::default();
            counted.fail(name, why);
            counted
        });
        println!("   {name:<24} {}", counted.line());
        tally.add(counted);
    }
    Ok(tally)
}

/// A folder with the `memcached` that tests start. In a user namespace the user is root.
fn programs(against: Against) -> Result<PathBuf> {
    let program = match against {
        Against::Dolium => format!("{} memcached", servers::dolium()?.display()),
        Against::Peers => "/usr/bin/memcached".to_string(),
    };
    let folder = home().join(format!("programs-{}", against.memcached().name()));
    paths::create(&folder)?;
    let path = folder.join("memcached");
    std::fs::write(&path, format!("#!/bin/sh\nexec {program} -u root \"$@\"\n"))
        .map_err(|why| format!("cannot write the wrapper: {why}"))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode)
        .map_err(|why| format!("cannot make the wrapper executable: {why}"))?;
    Ok(folder)
}

fn home() -> PathBuf {
    paths::target().join("client-suites")
}

fn one(
    folder: &Path,
    programs: &Path,
    name: &str,
    suite: &Suite,
    against: Against,
) -> Result<Tally> {
    let mut skipped = suite.skipped;
    if suite.skips.is_empty() != (skipped == 0) {
        return Err("suites.toml counts what skips itself and says why, or neither".to_string());
    }
    let words = match suite.source.contains("==") {
        true => python(folder, &suite.source)?,
        false => go(folder, name, &suite.source)?,
    };
    let (root, mut words) = words;
    words.extend(suite.tests.iter().cloned());
    let mut expected = suite.passed;
    if against == Against::Peers {
        expected -= suite.left_out.len();
        skipped += suite.left_out.len();
        for test in suite.left_out.keys() {
            words.push(format!("--deselect={test}"));
        }
    }
    let fresh = std::env::temp_dir().join(format!("dolium-suite-{}-{name}", std::process::id()));
    paths::create(&fresh)?;
    let mut command = Command::new("unshare");
    command.args(["-rnmp", "--fork", "--kill-child", "--mount-proc"]);
    command.arg(folder.join("beside-a-server.sh"));
    command.env("SERVER_FLAGS", suite.server.join(" "));
    command.arg(paths::root()).arg(&fresh).arg(programs).args(&words).current_dir(root);
    let finished = commands::run(&format!("client-suite-{name}"), &mut command, LIMIT);
    // What is mounted there is mounted in the namespace alone, which is gone.
    let _ = std::fs::remove_dir_all(&fresh);
    let finished = finished?;
    let passed = count(&finished.output, "passed", "--- PASS: ");
    let mut tally = Tally { passed, skipped, ..Tally::default() };
    if !finished.success || passed != expected {
        let said = what_failed(&finished);
        tally.fail(name, format!("{passed} passed, {expected} pass beside Memcached\n{said}"));
    }
    Ok(tally)
}

/// The end of the output without Go's lines about tests that began, went on or passed.
fn what_failed(finished: &commands::Finished) -> String {
    let is_said = |line: &&str| {
        let line = line.trim_start();
        !["=== RUN", "=== PAUSE", "=== CONT", "--- PASS"].iter().any(|head| line.starts_with(head))
    };
    finished.tail_of(is_said)
}

/// `3 passed` in pytest's last line, or Go's lines that begin with a mark.
fn count(output: &str, word: &str, mark: &str) -> usize {
    let marked = output.lines().filter(|line| line.starts_with(mark)).count();
    if marked != 0 {
        return marked;
    }
    let last = output.lines().rev().find(|line| line.contains(word)).unwrap_or_default();
    let words: Vec<&str> = last.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|&found| found == word).unwrap_or(0);
    words.get(at.wrapping_sub(1)).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The unpacked source package of a Python project, and how its tests are started.
fn python(folder: &Path, source: &str) -> Result<(PathBuf, Vec<String>)> {
    let interpreter = install::python_with("suites", &folder.join("requirements.txt"))?;
    let (project, version) = source.split_once("==").unwrap_or((source, ""));
    let root = home().join(format!("{}-{version}", project.replace('-', "_")));
    if !root.is_dir() {
        paths::create(&home())?;
        let mut download = Command::new(&interpreter);
        download.args(["-m", "pip", "download", "-q", "--disable-pip-version-check"]);
        download.args(["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d"]);
        download.arg(home()).arg(source);
        commands::run("suite-download", &mut download, DOWNLOAD_LIMIT)?.require("pip download")?;
        // In a folder of its own first: what a cut-off unpacking leaves is not taken for the whole.
        let unpacking = home().join("unpacking");
        paths::create(&unpacking)?;
        let name = root.file_name().unwrap_or_default();
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(home().join(format!("{}.tar.gz", name.to_string_lossy())));
        unpack.arg("-C").arg(&unpacking);
        commands::run("suite-unpack", &mut unpack, DOWNLOAD_LIMIT)?.require("tar")?;
        std::fs::rename(unpacking.join(name), &root)
            .map_err(|why| format!("cannot keep the tests of {source}: {why}"))?;
    }
    if root.join("test").is_dir() {
        std::fs::copy(folder.join("conftest.py"), root.join("test/conftest.py"))
            .map_err(|why| format!("cannot add conftest.py: {why}"))?;
    }
    let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="];
    let mut command = vec![interpreter.display().to_string()];
    command.extend(words.map(String::from));
    Ok((root, command))
}

/// A Go module's tests, compiled.
fn go(folder: &Path, name: &str, source: &str) -> Result<(PathBuf, Vec<String>)> {
    paths::create(&home())?;
    let program = home().join(format!("{name}.test"));
    let mut build = Command::new("go");
    build.current_dir(folder.join("go")).args(["test", "-mod=readonly", "-c", "-o"]);
    build.arg(&program).arg(source);
    commands::run("suite-go-build", &mut build, DOWNLOAD_LIMIT)?.require("go test -c")?;
    Ok((home(), vec![program.display().to_string()]))
}
