//! Fetches the peers' Debian source packages into `target/peers/`, for their test suites. They are
//! used where they lie and never become part of this repository.
//!
//! `apt-get source` needs `deb-src` entries. The machine's own list is copied into a private folder
//! with `deb` turned into `deb-src`, so no address is written down here and the system's lists
//! stay as they are.

use crate::{Result, commands, install, paths};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);
const SYSTEM_LISTS: &str = "/etc/apt/sources.list.d";
const SYSTEM_LIST: &str = "/etc/apt/sources.list";

/// Where a peer's sources lie once fetched.
pub struct Sources {
    pub redis: PathBuf,
    pub memcached: PathBuf,
}

/// Fetches and unpacks both peers unless that was done before.
pub fn fetch() -> Result<Sources> {
    let folder = paths::peers();
    let sources = Sources { redis: folder.join("redis"), memcached: folder.join("memcached") };
    if !sources.redis.join("runtest").is_file() || !sources.memcached.join("t").is_dir() {
        install::packages(install::REDIS_SUITE)?;
        paths::create(&folder)?;
        println!("fetching the source packages of Redis and Memcached");
        download(&folder)?;
        for name in ["redis", "memcached"] {
            unpack(&folder, name)?;
        }
    }
    link_programs(&sources.redis.join("src"))?;
    Ok(sources)
}

fn download(folder: &Path) -> Result<()> {
    let lists = folder.join("apt");
    let parts = lists.join("sources");
    paths::create(&lists.join("lists/partial"))?;
    paths::create(&parts)?;
    write_source_lists(&parts)?;
    let options = [
        "Dir::Etc::SourceList=/dev/null".to_string(),
        format!("Dir::Etc::SourceParts={}", parts.display()),
        format!("Dir::State::Lists={}", lists.join("lists").display()),
        "APT::Sandbox::User=root".to_string(),
    ];
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.current_dir(folder);
        for option in &options {
            command.arg("-o").arg(option);
        }
        command.args(words);
        command
    };
    commands::run("peers-update", &mut apt(&["update", "-q"]), LIMIT)?.require("apt-get update")?;
    let mut source = apt(&["source", "-q", "--download-only", "redis", "memcached"]);
    commands::run("peers-source", &mut source, LIMIT)?.require("apt-get source").map(|_| ())
}

/// Copies each list of the machine, with source packages in place of binary ones.
fn write_source_lists(parts: &Path) -> Result<()> {
    let mut lists = vec![PathBuf::from(SYSTEM_LIST)];
    if let Ok(entries) = std::fs::read_dir(SYSTEM_LISTS) {
        lists.extend(entries.flatten().map(|entry| entry.path()));
    }
    for list in lists {
        let known = list.extension().is_some_and(|end| end == "list" || end == "sources");
        let Ok(text) = std::fs::read_to_string(&list) else { continue };
        let Some(name) = list.file_name().filter(|_| known) else { continue };
        let lines: Vec<String> = text.lines().map(as_source_line).collect();
        std::fs::write(parts.join(name), lines.join("\n") + "\n")
            .map_err(|why| format!("cannot write a list of source packages: {why}"))?;
    }
    Ok(())
}

fn as_source_line(line: &str) -> String {
    if let Some(rest) = line.strip_prefix("deb ") {
        format!("deb-src {rest}")
    } else if line.starts_with("Types:") {
        "Types: deb-src".to_string()
    } else {
        line.to_string()
    }
}

fn unpack(folder: &Path, name: &str) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|why| format!("no peers: {why}"))?;
    let description = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|file| file.starts_with(&format!("{name}_")) && file.ends_with(".dsc"))
        .ok_or(format!("apt-get source did not bring {name}"))?;
    let _ = std::fs::remove_dir_all(folder.join(name));
    let mut extract = Command::new("dpkg-source");
    extract.current_dir(folder).args(["--no-check", "-x", &description, name]);
    commands::run(&format!("peers-unpack-{name}"), &mut extract, LIMIT)?
        .require("dpkg-source")
        .map(|_| ())
}

/// Redis' suite starts programs from its `src/`: they are the installed ones.
fn link_programs(src: &Path) -> Result<()> {
    for program in ["redis-cli", "redis-benchmark", "redis-server"] {
        let link = src.join(program);
        // The link itself: it may be there while the program is not, and lead to it later.
        if link.symlink_metadata().is_err() {
            std::os::unix::fs::symlink(Path::new("/usr/bin").join(program), &link)
                .map_err(|why| format!("cannot link {program}: {why}"))?;
        }
    }
    Ok(())
}
