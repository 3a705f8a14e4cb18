//! Where a store listens, and a connection to it.

use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::io::ioctl_fionbio;
use rustix::net::sockopt;

use crate::LabError;
use crate::workload::Protocol;

/// An address to ask at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Target {
    /// A connected socket: blocking, without Nagle's delay.
    pub fn connect(&self) -> Result<OwnedFd, LabError> {
        let failed = |error| LabError::system(format!("connect to {self}"), error);
        match self {
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                if address.ip().is_loopback() {
                    // Nothing is lost on this way: an algorithm that paces its packets by timers
                    // only costs the client time. Without the simple one, the usual one serves.
                    let _ = sockopt::set_tcp_congestion(&stream, "reno");
                }
                Ok(stream.into())
            }
            Self::Unix(path) => Ok(UnixStream::connect(path).map_err(failed)?.into()),
        }
    }

    /// A connected socket that has been greeted and whose calls return in place of waiting.
    pub fn connect_nonblocking(&self, protocol: Protocol) -> Result<OwnedFd, LabError> {
        let socket = self.connect()?;
        super::greet(&socket, protocol)?;
        ioctl_fionbio(&socket, true)
            .map_err(|error| LabError::system("make a socket non-blocking", error))?;
        Ok(socket)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
