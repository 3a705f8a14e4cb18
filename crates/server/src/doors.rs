//! From a configuration to listeners: ports, the Unix socket, the attach socket.
//!
//! ```text
//!   port, memcached-port, http-port, tls-port   one listener for each address of `bind` and each thread
//!   unixsocket                                  one, which all threads accept from
//!   attach-socket                               one, of a thread of its own
//! ```

use crate::attach::AttachDoor;
use crate::config::{Config, ConfigFailure};
use crate::lifecycle::StartFailure;
use crate::listener::{self, Address, Door, DoorFailure, Listener};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

pub fn open_attach(config: &Config) -> Result<Option<AttachDoor>, StartFailure> {
    let mode = u32::from_str_radix(&config.get("attach-socket-perm"), 8).unwrap_or(0o600);
    AttachDoor::open(&config.get("attach-socket"), mode).map_err(|(path, error)| {
        let (address, flag) = (Address::Unix(path), "--attach-socket");
        StartFailure::Door(DoorFailure { address, flag, error })
    })
}

/// Directives that name a port each, and such that name a socket's path.
const PORTS: [&str; 4] = ["port", "memcached-port", "http-port", "tls-port"];
const PATHS: [&str; 2] = ["unixsocket", "attach-socket"];

/// Refuses doors at the same place. The second would find it in use, by another program as it seems.
pub fn refuse_shared_places(config: &Config) -> Result<(), ConfigFailure> {
    // Without an address there is no port at all.
    let ports = if config.get("bind").trim().is_empty() { &[] } else { &PORTS[..] };
    for (directives, none) in [(ports, "0"), (&PATHS, "\"\"")] {
        for (n, first) in directives.iter().enumerate() {
            let place = config.get(first);
            if place.is_empty() || place == "0" {
                continue;
            }
            if let Some(second) = directives[n + 1..].iter().find(|&name| config.get(name) == place)
            {
                let reason = format!(
                    "{place} is what {first} names as well: choose another for one of them with \
                     --{first} or --{second}, or none with {none}"
                );
                return Err(ConfigFailure::new(second, reason));
            }
        }
    }
    Ok(())
}

/// All listeners, one list for each address.
pub fn open_doors(config: &Config, threads: usize) -> Result<Vec<Vec<Listener>>, StartFailure> {
    let mut doors = Vec::new();
    let backlog = config.number("tcp-backlog") as i32;
    // Behind Memcached's command line a port has another name, and --port is that of Memcached.
    let redis_and_http = match config.memcached {
        None => ["--port", "--http-port"],
        Some(_) => ["-o redis_port", "-o http_port"],
    };
    let ports = [
        (Door::Redis, "port", redis_and_http[0]),
        (Door::Memcached, "memcached-port", "--memcached-port"),
        (Door::Http, "http-port", redis_and_http[1]),
    ];
    for (door, directive, flag) in ports {
        let port = config.number(directive) as u16;
        // 0 means none, as in Redis; tests ask for a free port by `auto`.
        if port == 0 && !config.takes_free_ports {
            continue;
        }
        doors.extend(open_ports(&config.get("bind"), door, flag, port, threads, backlog)?);
    }
    let path = PathBuf::from(config.get("unixsocket"));
    if !path.as_os_str().is_empty() {
        let mode = u32::from_str_radix(&config.get("unixsocketperm"), 8).unwrap_or(0);
        match listener::listen_unix(&path, Door::Redis, mode, backlog) {
            Ok(listener) => doors.push(vec![listener]),
            Err(error) => {
                let address = Address::Unix(path);
                let flag = "--unixsocket";
                return Err(StartFailure::Door(DoorFailure { address, flag, error }));
            }
        }
    }
    Ok(doors)
}

/// The listeners of `tls-port`.
pub fn open_secured(
    config: &Config,
    threads: usize,
) -> Result<Option<Vec<Vec<Listener>>>, StartFailure> {
    let port = config.number("tls-port") as u16;
    if port == 0 || config.memcached.is_some() {
        return Ok(None);
    }
    let backlog = config.number("tcp-backlog") as i32;
    let bind = config.get("bind");
    let mut doors = open_ports(&bind, Door::Redis, "--tls-port", port, threads, backlog)?;
    doors.iter_mut().flatten().for_each(|listener| listener.is_tls = true);
    Ok(Some(doors))
}

/// The listeners of one door, which `flag` asks for: a list for each address that `bind` names.
pub fn open_ports(
    bind: &str,
    door: Door,
    flag: &'static str,
    port: u16,
    threads: usize,
    backlog: i32,
) -> Result<Vec<Vec<Listener>>, StartFailure> {
    let mut doors = Vec::new();
    for word in bind.split_whitespace() {
        let (is_optional, host) = match word.strip_prefix('-') {
            Some(host) => (true, host),
            None => (false, word),
        };
        let ip = parse_host(host).map_err(|reason| ConfigFailure::new("bind", reason))?;
        let address = SocketAddr::new(ip, port);
        match listener::listen_tcp(address, door, threads, backlog) {
            Ok(listeners) => doors.push(listeners),
            Err(error) if is_optional && is_no_address(&error) => {}
            Err(error) => {
                let address = Address::Tcp(address);
                return Err(StartFailure::Door(DoorFailure { address, flag, error }));
            }
        }
    }
    Ok(doors)
}

/// The machine has no such address, or not even its family.
fn is_no_address(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let code = error.raw_os_error();
    [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL].iter().any(|e| code == Some(e.raw_os_error()))
}

/// An address that `bind` names.
pub fn parse_host(host: &str) -> Result<IpAddr, String> {
    match host {
        "*" => Ok(IpAddr::from([0, 0, 0, 0])),
        "::*" => Ok(IpAddr::from([0u16; 8])),
        "localhost" => Ok(IpAddr::from([127, 0, 0, 1])),
        _ => host
            .parse()
            .map_err(|_| format!("'{host}' is no IP address, and names are not looked up")),
    }
}
