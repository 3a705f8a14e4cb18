//! What a store is started with: the words of its command line, and the version of the program.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};

use super::ports::free_port;
use super::surroundings::Surroundings;
use super::tls::{self, Certificate};
use super::{Role, Store};
use crate::LabError;
use crate::limits::STORE_MIB;

/// The directive by which a store is a cache.
const POLICY: &str = "maxmemory-policy";

/// A command as a person would type it.
pub(super) fn words(command: &Command) -> String {
    let quoted = |word: &std::ffi::OsStr| {
        let word = word.to_string_lossy();
        if word.is_empty() || word.contains(' ') { format!("'{word}'") } else { word.into_owned() }
    };
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.map(quoted).collect::<Vec<_>>().join(" ")
}

pub(super) fn command(
    role: &Role,
    around: &Surroundings,
    place: (IpAddr, u16),
    tls: Option<(&Certificate, u16)>,
    unix: &Path,
    operation: &str,
) -> Result<Command, LabError> {
    let (address, port_text) = (place.0.to_string(), place.1.to_string());
    let threads = around.server_threads.to_string();
    let plain = SocketAddr::new(place.0, place.1);
    let mut command = match role.store {
        Store::External { .. } => {
            return Err(LabError::Options("a store elsewhere is not started here".into()));
        }
        Store::Redis | Store::Valkey => {
            let mut command = Command::new(program(role.store, around));
            command.args(["--save", "", "--appendonly", "no", "--bind", &address]);
            command.args(["--port", &port_text, "--protected-mode", "no"]);
            if around.server_threads > 1 {
                command.args(["--io-threads", &threads]);
            }
            command
        }
        Store::Memcached => {
            let mut command = Command::new("memcached");
            memcached_options(&mut command, role, &threads);
            command.args(["-U", "0"]);
            match tls {
                Some((certificate, port)) => certificate.tell_memcached(&mut command, plain, port),
                None if around.unix => {
                    command.arg("-s").arg(unix);
                }
                None => {
                    command.args(["-l", &address, "-p", &port_text]);
                }
            }
            command
        }
        // Beside Memcached at a limit, as whoever swaps the binaries starts it; and over TLS,
        // because Redis' directives have no TLS port where `set` means Memcached's.
        Store::DoliumMemcached if (limit(role).is_some() || tls.is_some()) && !around.unix => {
            let mut command = Command::new(&around.dolium);
            command.arg("memcached");
            memcached_options(&mut command, role, &threads);
            command.args(["-U", "0"]);
            match tls {
                Some((certificate, port)) => certificate.tell_memcached(&mut command, plain, port),
                None => {
                    command.args(["-l", "127.0.0.1", "-p", &port_text]);
                }
            }
            return Ok(command);
        }
        Store::Dolium | Store::DoliumMemcached => {
            let other = port()?.to_string();
            let (redis, memcached) = match role.store {
                Store::Dolium => (port_text, other),
                _ => (other, port_text),
            };
            let mut command = Command::new(&around.dolium);
            command.args(["serve", "--port", &redis, "--memcached-port", &memcached]);
            command.args(["--threads", &threads, "--http-port", "0"]);
            // In Memcached's place its threads are where the system puts them, as Memcached's are.
            if role.store == Store::DoliumMemcached || !around.pinned {
                command.args(["--pin-threads", "no"]);
            }
            if !place.0.is_loopback() {
                // Nobody else reaches the addresses of a namespace.
                command.args(["--bind", &address, "--protected-mode", "no"]);
            }
            // A store of the lab must not take the place where the user's own one is attached.
            let usual = format!("{STORE_MIB}mb");
            for (name, value) in [("maxmemory", usual.as_str()), ("attach-socket", "")] {
                if !role.settings.iter().any(|(known, _)| known == name) {
                    command.arg(format!("--{name}")).arg(value);
                }
            }
            command
        }
        Store::Null | Store::NullUring => {
            let (key, value) = (role.key_bytes.to_string(), role.value_bytes.to_string());
            let mut command = Command::new(&around.itself);
            command.args(["lab", "null", "--op", operation, "--key", &key, "--value", &value]);
            if role.store == Store::NullUring {
                command.arg("--io-uring");
            }
            if let Some((_, ns)) = role.settings.iter().find(|(name, _)| name == "busy-ns") {
                command.args(["--busy-ns", ns]);
            }
            if around.unix {
                command.arg("--unix").arg(unix);
            } else {
                command.args(["--port", &port_text, "--bind", &address]);
            }
            command
        }
    };
    let redis_language =
        matches!(role.store, Store::Redis | Store::Valkey | Store::Dolium | Store::DoliumMemcached);
    if around.unix && redis_language {
        command.arg("--unixsocket").arg(unix);
    }
    if redis_language {
        if let Some((certificate, port)) = tls {
            certificate.tell_redis(&mut command, port);
        }
        for (name, value) in &role.settings {
            command.arg(format!("--{name}")).arg(value);
        }
    }
    Ok(command)
}

/// The memory that a store is told to keep to.
fn limit(role: &Role) -> Option<u64> {
    let limit = role.settings.iter().find(|(name, _)| name == "maxmemory")?;
    limit.1.parse().ok()
}

/// What is said to Memcached, and to Dolium in its place.
fn memcached_options(command: &mut Command, role: &Role, threads: &str) {
    command.args(["-t", threads, "-c", "4096"]);
    if rustix::process::geteuid().is_root() {
        command.args(["-u", "root"]);
    }
    let mib = limit(role).map_or(STORE_MIB, |bytes| (bytes >> 20).max(1));
    command.arg("-m").arg(mib.to_string());
    // Unless it is measured as a cache, running out is an error to be seen, as it is in the others.
    if !role.settings.iter().any(|(name, value)| name == POLICY && value != "noeviction") {
        command.arg("-M");
    }
}

/// The file that is run for a store.
fn program(store: Store, around: &Surroundings) -> &Path {
    match store {
        Store::Redis => Path::new("redis-server"),
        Store::Valkey => Path::new("valkey-server"),
        Store::Memcached => Path::new("memcached"),
        Store::Dolium | Store::DoliumMemcached => &around.dolium,
        _ => &around.itself,
    }
}

/// An error if the store as it is installed has no TLS.
pub fn has_tls(store: Store, around: &Surroundings) -> Result<(), LabError> {
    tls::look(store, program(store, around))
}

/// What the store says of itself, in its first line. An error if it is not installed.
pub fn version(store: Store, around: &Surroundings) -> Result<String, LabError> {
    match store {
        Store::Null => return Ok("parses nothing, epoll".into()),
        Store::NullUring => return Ok("parses nothing, io_uring".into()),
        Store::External { .. } => return Ok("version unknown".into()),
        _ => {}
    }
    let program = program(store, around);
    let said = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let said = said.map_err(|error| match (error.kind(), store.install()) {
        (io::ErrorKind::NotFound, Some(how)) => {
            LabError::Missing { program: program.display().to_string(), how: how.into() }
        }
        _ => LabError::system(format!("run {}", program.display()), error),
    })?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let line = said.lines().next().unwrap_or_default().to_string();
    Ok(if line.is_empty() { "version unknown".into() } else { line })
}

/// A port for a store.
pub(super) fn port() -> Result<u16, LabError> {
    free_port().map_err(|error| LabError::system("find a port", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Operation;

    fn told(settings: &[(&str, &str)]) -> String {
        let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let role = Role {
            store: Store::Memcached,
            operation: Operation::Get,
            key_bytes: 1,
            value_bytes: 1,
            settings: settings.collect(),
        };
        let mut command = Command::new("memcached");
        memcached_options(&mut command, &role, "1");
        words(&command)
    }

    /// A bound alone makes no cache of a store: a full one refuses, as the others do.
    #[test]
    fn memcached_refuses_at_its_bound_unless_it_is_measured_as_a_cache() {
        assert!(told(&[("maxmemory", "17179869184")]).ends_with("-m 16384 -M"));
        assert!(told(&[]).ends_with("-m 8192 -M"));
        let cache = told(&[("maxmemory", "16777216"), ("maxmemory-policy", "allkeys-lru")]);
        assert!(cache.ends_with("-m 16"), "{cache}");
    }
}
