//! Starts a store, waits until it accepts, and ends it by its process number.
//!
//! The child is told to die with its parent, so that even a killed lab leaves no server behind.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::command::{command, port, version, words};
use super::namespace::Namespace;
use super::surroundings::{Directory, Surroundings};
use super::{Role, Store};
use crate::generator::Target;
use crate::limits::START;
use crate::workload::Operation;
use crate::{LabError, cpu};

/// Tells apart what several processes of one store leave in the directory.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A store that runs and listens. Dropping it ends it, unless somebody else started it.
pub struct Running {
    child: Option<Child>,
    /// What was started, to be repeated by hand.
    pub command: String,
    pub role: Role,
    pub target: Target,
    /// Its TLS listener, if it has one.
    secured: Option<Target>,
    pub version: String,
    /// Its snapshots and logs: at full scale they are gigabytes, and the disk holds those of one
    /// store. Gone after the child.
    _home: Option<Directory>,
    /// Where it runs, if not where everything does; gone after the child.
    _namespace: Option<Namespace>,
}

impl Running {
    /// Starts the store of `role` and waits until it accepts connections.
    pub fn start(role: Role, around: &Surroundings) -> Result<Self, LabError> {
        if let Store::External { address, .. } = role.store {
            let running = Self {
                child: None,
                command: format!("started by somebody else at {address}"),
                role,
                target: Target::Tcp(address),
                secured: None,
                version: "version unknown".into(),
                _home: None,
                _namespace: None,
            };
            return running.target.connect().map(|_| running);
        }
        let operation = if role.operation == Operation::Set { "set" } else { "get" };
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{operation}-{number}", role.store.name());
        let home = around.directory().join(&name);
        fs::create_dir_all(&home)
            .map_err(|error| LabError::system("make a store's directory", error))?;
        let _home = Some(Directory(home.clone()));
        let at = port()?;
        let unix_path = around.directory().join(format!("{name}.sock"));
        let namespace = match around.namespaces {
            Some(gigabits) if !around.unix => Some(Namespace::new(gigabits)?),
            _ => None,
        };
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let address = namespace.as_ref().map_or(loopback, Namespace::address);
        let target = if around.unix {
            Target::Unix(unix_path.clone())
        } else {
            Target::Tcp(SocketAddr::new(address, at))
        };
        let secured = match &around.certificate {
            Some(certificate) if !around.unix && !role.store.is_null() => {
                Some((certificate.clone(), SocketAddr::new(address, port()?)))
            }
            _ => None,
        };
        let tls = secured.as_ref().map(|(certificate, at)| (&**certificate, at.port()));
        let mut command = command(&role, around, (address, at), tls, &unix_path, operation)?;
        let secured = secured.map(|(certificate, at)| certificate.target(at));
        let said = words(&command);
        if let Some(namespace) = &namespace {
            command = namespace.inside(&command);
        }
        let version = version(role.store, around)?;
        let log = around.directory().join(format!("{name}.log"));
        let output =
            File::create(&log).map_err(|error| LabError::system("keep a store's log", error))?;
        let errors =
            output.try_clone().map_err(|error| LabError::system("keep a store's log", error))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors).current_dir(&home);
        let pinned = if around.pinned { around.server_cores.clone() } else { Vec::new() };
        tie(&mut command, pinned);
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LabError::Missing {
                program: command.get_program().display().to_string(),
                how: role.store.install().unwrap_or("install it").into(),
            },
            _ => LabError::system(format!("start {}", role.store.name()), error),
        })?;
        let (child, _namespace) = (Some(child), namespace);
        let mut running =
            Self { child, command: said, role, target, secured, version, _home, _namespace };
        running.await_ready(&log)?;
        Ok(running)
    }

    /// Where it is asked, with TLS or without. What has no TLS listener is a server that parses
    /// nothing, which is the floor of both.
    pub fn door(&self, tls: bool) -> &Target {
        self.secured.as_ref().filter(|_| tls).unwrap_or(&self.target)
    }

    /// The process whose CPU time is the store's; none if somebody else started it.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    fn await_ready(&mut self, log: &Path) -> Result<(), LabError> {
        const STEP: Duration = Duration::from_millis(10);
        let begun = Instant::now();
        while self.target.connect().is_err() || self.door(true).connect().is_err() {
            let ended =
                self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))));
            if ended || begun.elapsed() > START {
                let said = fs::read_to_string(log).unwrap_or_default();
                let said = said.trim();
                return Err(LabError::NotReady {
                    store: self.role.store.name().into(),
                    waited: begun.elapsed(),
                    said: if said.is_empty() { "nothing".into() } else { said.to_string() },
                });
            }
            thread::sleep(STEP);
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It keeps nothing that is worth a graceful end; an error means that it has ended.
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Ties a store to this process: it runs on these cores, if any are named, does not get the
/// terminal's Ctrl-C, which is the lab's to handle, and is killed when the lab is.
pub(crate) fn tie(command: &mut Command, cores: Vec<usize>) {
    command.process_group(0);
    // SAFETY: the closure runs in the child between fork and exec and makes only the two system
    // calls that it names; it takes no lock, and the text of an error is made only when the child
    // is about to end anyway.
    unsafe {
        command.pre_exec(move || {
            let signal = Some(rustix::process::Signal::KILL);
            rustix::process::set_parent_process_death_signal(signal)?;
            cpu::pin(&cores).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where Redis is installed; elsewhere there is nothing to be started.
    #[test]
    fn what_a_store_wrote_is_gone_with_it() {
        let around = Surroundings::new(false, 1, None).unwrap();
        let (store, operation) = (Store::Redis, Operation::Get);
        let role = Role { store, operation, key_bytes: 1, value_bytes: 1, settings: Vec::new() };
        let Ok(running) = Running::start(role, &around) else { return };
        let homes = || {
            let entries = fs::read_dir(around.directory()).unwrap().flatten();
            entries.filter(|entry| entry.path().is_dir()).count()
        };
        assert_eq!(homes(), 1);
        drop(running);
        assert_eq!(homes(), 0);
    }
}
