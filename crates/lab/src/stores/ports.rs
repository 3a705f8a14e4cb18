//! Ports for servers that are about to start.
//!
//! A port that the kernel chooses is of those that it also gives to connections that go out, and it
//! may choose one twice in a row: a server then finds its port taken a moment later. These lie below
//! those, and one process does not give the same twice until it has given all.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
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
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => return Ok(port),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}
