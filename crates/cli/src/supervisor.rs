//! What systemd is told: that the server is ready, and that it stops.
//!
//! One datagram for each, to the socket that `NOTIFY_SOCKET` names: by its path, or after an `@` by
//! its abstract name. sd_notify(3) describes it; a library of systemd's is not needed for that.

use dolium_server::config::Config;
use std::ffi::{OsStr, OsString};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

pub struct Supervisor {
    socket: Option<OsString>,
}

impl Supervisor {
    /// Whom `supervised` and the environment name.
    pub fn of(config: &Config) -> Supervisor {
        let named = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        let socket = match config.get("supervised").as_str() {
            "systemd" => {
                if named.is_none() {
                    tracing::warn!("systemd supervision requested, but NOTIFY_SOCKET not found");
                }
                named
            }
            "auto" => named,
            _ => None,
        };
        Supervisor { socket }
    }

    /// Says `READY=1`, or `STOPPING=1`. A server that cannot say so serves all the same.
    pub fn tell(&self, state: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = send(socket, state) {
            tracing::warn!(state, ?socket, %error, "systemd could not be told");
        }
    }
}

fn send(socket: &OsStr, state: &str) -> std::io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}
