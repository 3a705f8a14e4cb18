//! Memcached's own tests (`t/*.t` of its source package), each against servers that it starts
//! itself through a program named `memcached-debug`: here a script that execs ours.
//!
//! `tests/memcached-suite.toml` names the files that are left out, with the reason and what Dolium
//! does instead, and those that skip themselves. Many files wait for fixed times: one that fails
//! beside others is run once more alone, and the list says so; only the second verdict counts.
//! Against the peer nothing is left out: the real
//! Memcached must pass every other file, which shows that this runner judges right.

use super::Against;
use crate::tally::Tally;
use crate::{Result, commands, install, paths, peers, servers};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The slowest file takes half a minute on a quiet machine, most of it asleep.
const LIMIT: Duration = Duration::from_secs(300);
/// Files at a time: they sleep more than they work.
const AT_A_TIME: usize = 4;
const BUILD_LIMIT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Plan {
    /// Files that the real Memcached passes.
    files: usize,
    /// File to what it needs that no release build has.
    not_counted: BTreeMap<String, String>,
    /// Files that want a build with TLS, which the real one as packaged is not.
    tls: Vec<String>,
    /// File to why it skips itself.
    skips: BTreeMap<String, String>,
    /// File to why Dolium does not pass it, and what it does instead.
    left_out: BTreeMap<String, String>,
}

/// What the tests' own clients and servers speak.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Plain,
    Tls,
}

pub fn run(against: Against) -> Result<Tally> {
    install::packages(install::MEMCACHED)?;
    install::packages(install::MEMCACHED_SUITE)?;
    let sources = peers::fetch()?.memcached;
    let file = paths::root().join("tests/memcached-suite.toml");
    let text = std::fs::read_to_string(&file).map_err(|why| format!("no plan: {why}"))?;
    let plan: Plan = toml::from_str(&text).map_err(|why| format!("memcached-suite.toml: {why}"))?;
    let folder = prepare(&sources, against)?;
    let names = names(&sources.join("t"))?;
    let listed = plan.not_counted.keys().chain(plan.skips.keys()).chain(plan.left_out.keys());
    for name in listed.chain(&plan.tls) {
        if !names.contains(name) {
            return Err(format!("memcached-suite.toml names {name}, which there is not"));
        }
    }
    let mut tally = Tally::default();
    let mut chosen = Vec::new();
    for name in names {
        let is_left_out = against == Against::Dolium && plan.left_out.contains_key(&name);
        if plan.not_counted.contains_key(&name) {
            continue;
        }
        if is_left_out || plan.skips.contains_key(&name) || plan.tls.contains(&name) {
            tally.skipped += 1;
        } else {
            chosen.push(name);
        }
    }
    tally.add(all(&folder, &chosen, Over::Plain));
    let left_out = if against == Against::Dolium { plan.left_out.len() } else { 0 };
    let seen = tally.passed + tally.failures.len() + left_out;
    if seen != plan.files {
        let numbers = format!("{seen} files came up, the suite has {}", plan.files);
        tally.fail("memcached-suite.toml", numbers);
    }
    if against == Against::Dolium {
        tally.skipped -= plan.tls.len();
        tally.add(all(&folder, &plan.tls, Over::Tls));
    }
    Ok(tally)
}

/// The test files, but for those of the proxy, which is a program of its own.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).map_err(|why| format!("no test files: {why}"))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".t") && !name.starts_with("proxy")).collect();
    names.sort();
    Ok(names)
}

/// A folder as the tests expect it: their files, and the programs that `make` would have built.
fn prepare(sources: &Path, against: Against) -> Result<PathBuf> {
    let folder = sources.with_file_name(format!("memcached-run-{}", against.memcached().name()));
    paths::create(&folder)?;
    for name in ["t", "doc"] {
        let (link, to) = (folder.join(name), sources.join(name));
        // A folder of builds that was moved has links to where it was.
        if std::fs::read_link(&link).is_ok_and(|old| old != to) {
            let _ = std::fs::remove_file(&link);
        }
        if link.symlink_metadata().is_err() {
            std::os::unix::fs::symlink(to, &link)
                .map_err(|why| format!("cannot link {name}: {why}"))?;
        }
    }
    let mut build = Command::new("gcc");
    build.arg("-o").arg(folder.join("timedrun")).arg(sources.join("timedrun.c"));
    commands::run("memcached-timedrun", &mut build, BUILD_LIMIT)?.require("timedrun")?;
    let script = match against {
        Against::Dolium => {
            let program = servers::dolium()?;
            format!("#!/bin/sh\nexec {} memcached \"$@\"\n", program.display())
        }
        Against::Peers => PEER_SCRIPT.to_string(),
    };
    let path = folder.join("memcached-debug");
    std::fs::write(&path, script).map_err(|why| format!("cannot write the wrapper: {why}"))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode)
        .map_err(|why| format!("cannot make the wrapper executable: {why}"))?;
    Ok(folder)
}

/// Release builds of Memcached do not know this option of its debug build, which changes nothing.
const PEER_SCRIPT: &str = "#!/bin/bash
words=()
while [ $# -gt 0 ]; do
  if [ \"$1\" = -o ] && [ \"$2\" = relaxed_privileges ]; then shift 2; else words+=(\"$1\"); shift; fi
done
exec memcached \"${words[@]}\"
";

fn all(folder: &Path, names: &[String], over: Over) -> Tally {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match one(folder, name, over) {
                        Ok(()) => println!("   {name:<24} ok"),
                        Err(why) => {
                            println!("   {name:<24} failed beside others: {}", first_line(&why));
                            failed.lock().expect("no holder panics").push(name.as_str());
                        }
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no holder panics");
    tally.passed += names.len() - failed.len();
    for name in failed {
        let outcome = one(folder, name, over);
        println!("   {name:<24} {}", if outcome.is_ok() { "ok, alone" } else { "FAILED" });
        tally.check(name, outcome);
    }
    tally
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn one(folder: &Path, name: &str, over: Over) -> Result<()> {
    let mut command = Command::new("perl");
    command.current_dir(folder).args(["-It/lib", &format!("t/{name}")]);
    if over == Over::Tls {
        command.env("SSL_TEST", "1");
    }
    let finished = commands::run(&format!("memcached-{name}"), &mut command, LIMIT)?;
    let failed: Vec<&str> =
        finished.output.lines().filter(|line| line.starts_with("not ok")).take(5).collect();
    if !finished.success || !failed.is_empty() {
        return Err(format!("{}\nsee {}", failed.join("\n"), finished.log.display()));
    }
    if finished.output.starts_with("1..0") {
        return Err("it skips itself and is not listed as doing so".into());
    }
    Ok(())
}
