//! Installs what the tests need and the machine lacks: Debian packages system-wide (only as root),
//! everything else under `target/`.

use crate::{Result, commands, paths};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(600);

/// What shows that a Debian package is there, and the package. It is a program, a Perl module (it has
/// `::` in its name), or a Python module (`import NAME`).
type Need = (&'static str, &'static str);

pub const REDIS: &[Need] = &[("redis-server", "redis-server"), ("redis-cli", "redis-tools")];
pub const MEMCACHED: &[Need] = &[("memcached", "memcached"), ("memccapable", "libmemcached-tools")];
pub const REDIS_SUITE: &[Need] = &[("tclsh", "tcl"), ("dpkg-source", "dpkg-dev")];
pub const MEMCACHED_SUITE: &[Need] =
    &[("perl", "perl"), ("gcc", "gcc"), ("dpkg-source", "dpkg-dev"), TLS_OF_PERL];
const TLS_OF_PERL: Need = ("IO::Socket::SSL", "libio-socket-ssl-perl");
/// Debian's python3 alone can make no environments: the module that puts pip into one is what the
/// package brings.
const VENV: Need = ("import ensurepip", "python3-venv");
pub const CLIENT_SUITES: &[Need] =
    &[VENV, ("go", "golang-go"), ("ip", "iproute2"), ("unshare", "util-linux")];
pub const BROWSER: &[Need] = &[("chromium", "chromium")];
/// What builds the server's allocator and the C example.
pub const NATIVE: &[Need] = &[("gcc", "gcc"), ("make", "make")];
/// What the workspace's own tests start beside the server: the tracer that lists the system calls of
/// attached reads, and the Memcached that judges our answers to its requests.
pub const RUST: &[Need] = &[("strace", "strace"), ("memcached", "memcached")];
pub const CLIENTS: &[Need] = &[
    VENV,
    ("npm", "npm"),
    ("go", "golang-go"),
    ("mvn", "maven"),
    ("javac", "default-jdk-headless"),
];

/// Makes sure that each program is there, by `apt-get install` of the missing packages.
pub fn packages(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !is_there(need.0)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|need| need.1).collect();
    if !rustix::process::geteuid().is_root() {
        return Err(format!("please install these Debian packages: {}", names.join(" ")));
    }
    println!("installing {}", names.join(" "));
    // The lists of a new machine are empty. RUNLEVEL=1 keeps the package scripts from starting the
    // servers that they install: the ports 6379 and 11211 are the user's.
    let mut update = Command::new("apt-get");
    commands::run("apt-update", update.args(["update", "-q"]), LIMIT)?.require("apt-get update")?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
    install.args(["install", "-q", "-y", "--no-install-recommends"]).args(names);
    commands::run("apt-install", &mut install, LIMIT)?.require("apt-get install").map(|_| ())
}

fn is_there(name: &str) -> bool {
    let output = if name.contains("::") {
        Command::new("perl").arg(format!("-M{name}")).args(["-e", "1"]).output()
    } else if name.starts_with("import ") {
        Command::new("python3").args(["-c", name]).output()
    } else {
        return commands::on_path(name);
    };
    output.is_ok_and(|output| output.status.success())
}

/// A Python environment with the pinned clients; answers its interpreter.
pub fn python() -> Result<PathBuf> {
    python_with("python", &paths::root().join("tests/clients/python/requirements.txt"))
}

/// A Python environment of that name with what a file pins; answers its interpreter.
pub fn python_with(name: &str, pinned: &Path) -> Result<PathBuf> {
    let folder = paths::clients().join(name);
    let interpreter = folder.join("bin/python");
    // Written last: a folder whose making was cut off has an interpreter already, and no pip.
    let whole = folder.join("whole");
    if !whole.is_file() {
        paths::create(&paths::clients())?;
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(&folder);
        commands::run("python-venv", &mut create, LIMIT)?.require("python3 -m venv")?;
        std::fs::write(&whole, "").map_err(|why| format!("cannot mark {name}: {why}"))?;
    }
    let mut install = Command::new(&interpreter);
    install.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r"]).arg(pinned);
    commands::run("python-packages", &mut install, LIMIT)?.require("pip install")?;
    Ok(interpreter)
}

/// A folder with the Node client test and its packages beside it.
pub fn node() -> Result<PathBuf> {
    let source = paths::root().join("tests/clients/node");
    let folder = paths::clients().join("node");
    paths::create(&folder)?;
    for name in ["package.json", "package-lock.json", "client.js"] {
        std::fs::copy(source.join(name), folder.join(name))
            .map_err(|why| format!("cannot copy {name}: {why}"))?;
    }
    let mut install = Command::new("npm");
    install.current_dir(&folder).args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
    commands::run("node-packages", &mut install, LIMIT)?.require("npm ci")?;
    Ok(folder)
}

/// The compiled Go client test.
pub fn go() -> Result<PathBuf> {
    let program = paths::clients().join("go-client");
    paths::create(&paths::clients())?;
    let mut build = Command::new("go");
    build.current_dir(paths::root().join("tests/clients/go"));
    build.args(["build", "-mod=readonly", "-o"]).arg(&program).arg(".");
    commands::run("go-build", &mut build, LIMIT)?.require("go build")?;
    Ok(program)
}

/// The class path of the compiled Java client tests.
pub fn java() -> Result<String> {
    let folder = paths::clients().join("java");
    paths::create(&folder)?;
    let list = folder.join("classpath");
    let mut build = Command::new("mvn");
    build.current_dir(paths::root().join("tests/clients/java"));
    build.args(["-q", "-B"]).arg(format!("-Dbuild.dir={}", folder.display()));
    build.args(["compile", "dependency:build-classpath"]);
    build.arg(format!("-Dmdep.outputFile={}", list.display()));
    commands::run("java-build", &mut build, LIMIT)?.require("mvn compile")?;
    let libraries =
        std::fs::read_to_string(&list).map_err(|why| format!("no class path: {why}"))?;
    Ok(format!("{}:{}", folder.join("classes").display(), libraries.trim()))
}
