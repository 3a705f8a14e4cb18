//! Ports for servers that are about to start.
//!
//! A port that the kernel chooses is of those that it also gives to connections that go out, and it
//! may choose one twice in a row: a server then finds its port taken a moment later. These lie below
//! those, and one process does not give the same twice until it has given all.

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the first port that Linux gives to those who do not choose, 32,768 unless told otherwise.
const PORTS: Range<u16> = 12_000..32_000;

/// A port of loopback that nobody listens at now.
///
/// ```
/// let (one, other) = (dolium_lab::stores::free_port()?, dolium_lab::stores::free_port()?);
/// assert_ne!(one, other);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn free_port() -> io::Result<u16> {
    static NEXT: OnceLock<AtomicU32> = OnceLock::new();
    // Processes side by side begin far from each other: their numbers are near.
    let next = NEXT.get_or_init(|| AtomicU32::new(std::process::id().wrapping_mul(7919)));
    let mut refused = None;
    for _ in PORTS {
        let place = next.fetch_add(1, Ordering::Relaxed) % PORTS.len() as u32;
        let port = PORTS.start + place as u16;
        match bind(port) {
            Ok(_) => return Ok(port),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.map_or_else(|| io::ErrorKind::AddrInUse.into(), io::Error::from))
}

/// Fails if anybody listens there. It does not listen itself: a program that another thread starts
/// at this very moment has the socket too until it begins, and who waited for a server would be let
/// in by that one, and find nobody a moment later.
fn bind(port: u16) -> rustix::io::Result<OwnedFd> {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_port_that_is_looked_at_is_not_listened_at() {
        let port = free_port().unwrap();
        let bound = bind(port).unwrap();
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
        // And is no hindrance to who does.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(bind(port).is_err());
        drop((bound, listener));
    }
}
