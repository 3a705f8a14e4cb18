//! Where a store listens, and a connection to it.

use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::sockopt;

use super::link::{Link, Secured};
use super::tls::Tls;
use crate::LabError;
use crate::workload::Protocol;

/// An address to ask at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
    Tls(SocketAddr, Tls),
}

impl Target {
    /// A connected socket: blocking, without Nagle's delay, and nothing said on it yet.
    pub fn connect(&self) -> Result<OwnedFd, LabError> {
        let failed = |error| LabError::system(format!("connect to {self}"), error);
        match self {
            Self::Tcp(address) | Self::Tls(address, _) => {
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

    /// A connection on which TLS is agreed, if it is to be, and what the protocol needs is said.
    pub(super) fn link(&self, protocol: Protocol) -> Result<Link, LabError> {
        let socket = self.connect()?;
        let mut link = match self {
            Self::Tcp(_) | Self::Unix(_) => Link::Plain(socket),
            Self::Tls(address, tls) => Link::Tls(Secured::agree(socket, tls, *address)?),
        };
        super::greet(&mut link, protocol)?;
        Ok(link)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Tls(address, _) => write!(f, "{address} over TLS"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
