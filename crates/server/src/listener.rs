//! Doors: the sockets on which clients come in.
//!
//! Each thread has its own TCP socket on every address (SO_REUSEPORT), so the kernel spreads
//! connections and no thread hands one to another. A Unix socket exists once; its first thread
//! accepts and hands connections round.

mod place;

pub use dolium_protocol::detect::Listener as Door;
use place::Place;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "{address}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A socket that listens, and what its door is named for.
#[derive(Debug)]
pub struct Listener {
    /// A Unix socket's file. Before the socket, so that it is dropped, and removed, first.
    _place: Option<Place>,
    pub socket: OwnedFd,
    pub door: Door,
    pub address: Address,
    /// What comes in speaks TLS first.
    pub is_tls: bool,
}

/// Ports below this one are for who may have them.
const FIRST_PORT_FOR_ALL: u16 = 1024;

/// Why a door could not be opened, and what to do.
#[derive(Debug)]
pub struct DoorFailure {
    pub address: Address,
    /// How it was asked for on the command line: `--port`, `-p`, `-o redis_port`.
    pub flag: &'static str,
    pub error: io::Error,
}

impl fmt::Display for DoorFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, flag, error) = (&self.address, self.flag, &self.error);
        // Memcached's extended options.
        let sign = if flag.starts_with("-o ") { '=' } else { ' ' };
        match (address, error.kind()) {
            (Address::Tcp(_), io::ErrorKind::AddrInUse) => write!(
                f,
                "{address} is in use by another program: choose another with {flag}{sign}N, \
                 or none with {flag}{sign}0"
            ),
            (Address::Unix(_), io::ErrorKind::AddrInUse) => {
                write!(f, "{address} is in use by another program: choose another with {flag} PATH")
            }
            (Address::Tcp(address), io::ErrorKind::AddrNotAvailable) => {
                let bind = if flag.starts_with("--") { "--bind" } else { "-l" };
                write!(f, "{} is no address of this machine ({bind})", address.ip())
            }
            (Address::Tcp(address), io::ErrorKind::PermissionDenied)
                if (1..FIRST_PORT_FOR_ALL).contains(&address.port()) =>
            {
                write!(
                    f,
                    "cannot listen on {address} ({flag}): ports below {FIRST_PORT_FOR_ALL} need root or \
                     CAP_NET_BIND_SERVICE; choose another with {flag}{sign}N"
                )
            }
            _ => write!(f, "cannot listen on {address} ({flag}): {error}"),
        }
    }
}

impl std::error::Error for DoorFailure {}

/// One socket per thread on a TCP address. Port 0: one that is free, the same for all.
pub fn listen_tcp(
    address: SocketAddr,
    door: Door,
    threads: usize,
    backlog: i32,
) -> io::Result<Vec<Listener>> {
    // A socket without SO_REUSEPORT first: it fails if anybody listens there, be it another Dolium
    // with which the port would otherwise be shared in silence. It does not listen itself: who
    // connected to it would be let in and thrown out, and the next refused. A free port is not asked for so:
    // another server could be given it before it is taken. The first thread's socket keeps the one that
    // it is given, which the system gives to nobody else.
    if address.port() != 0 {
        drop(bind_tcp(address, false)?);
    }
    let mut address = address;
    (0..threads)
        .map(|_| {
            let socket = bind_tcp(address, true)?;
            address = local_address(&socket)?;
            if address.ip().is_loopback() {
                // Within one machine there is no path whose width has to be found out, so the plainest
                // algorithm does, which every system has: those that measure and pace cost more. Here and
                // not at a connection, which would have begun with another, pace, and go on pacing.
                let _ = sockopt::set_tcp_congestion(&socket, "reno");
            }
            rustix::net::listen(&socket, backlog)?;
            let address = Address::Tcp(address);
            Ok(Listener { _place: None, socket, door, address, is_tls: false })
        })
        .collect()
}

fn bind_tcp(address: SocketAddr, share: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if share {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

fn local_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let any = rustix::net::getsockname(socket)?;
    SocketAddr::try_from(any).map_err(|_| io::Error::other("no IP address"))
}

/// A Unix socket, as [`place::take`] says.
pub fn listen_unix(path: &Path, door: Door, mode: u32, backlog: i32) -> io::Result<Listener> {
    let (place, socket) = place::take(path, mode, backlog)?;
    let address = Address::Unix(path.into());
    Ok(Listener { _place: Some(place), socket, door, address, is_tls: false })
}

/// A connection that came in: its socket and the names of both ends.
pub struct Accepted {
    pub socket: OwnedFd,
    pub addr: String,
    pub laddr: String,
    /// It came from another machine.
    pub is_remote: bool,
}

pub fn accept(listener: &Listener, keepalive_s: u64) -> rustix::io::Result<Accepted> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match &listener.address {
        Address::Unix(path) => {
            let socket = rustix::net::accept_with(&listener.socket, flags)?;
            let name = format!("{}:0", path.display());
            Ok(Accepted { socket, addr: name.clone(), laddr: name, is_remote: false })
        }
        Address::Tcp(_) => {
            let (socket, peer) = rustix::net::acceptfrom_with(&listener.socket, flags)?;
            sockopt::set_tcp_nodelay(&socket, true)?;
            set_keepalive(&socket, keepalive_s);
            let peer = peer.and_then(|any| SocketAddr::try_from(any).ok());
            let own = local_address(&socket).ok();
            let text = |a: Option<SocketAddr>| a.map_or(String::from("?:0"), |a| a.to_string());
            let is_remote = peer.is_some_and(|a| !a.ip().is_loopback());
            Ok(Accepted { addr: text(peer), laddr: text(own), socket, is_remote })
        }
    }
}

/// Probes after `seconds` of silence; a client that is gone is noticed after twice that.
/// Failure costs only the probing, so it is not one of the connection.
pub fn set_keepalive(socket: &impl AsFd, seconds: u64) {
    if seconds == 0 {
        return;
    }
    let idle = std::time::Duration::from_secs(seconds);
    let between = std::time::Duration::from_secs((seconds / 3).max(1));
    let _ = sockopt::set_socket_keepalive(socket, true);
    let _ = sockopt::set_tcp_keepidle(socket, idle);
    let _ = sockopt::set_tcp_keepintvl(socket, between);
    let _ = sockopt::set_tcp_keepcnt(socket, 3);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    /// A test waited until it could connect, and was refused when it connected again: the socket
    /// that tried the address had let it in, and was closed.
    #[test]
    fn an_address_that_is_being_tried_lets_nobody_in() {
        let probe = bind_tcp("127.0.0.1:0".parse().unwrap(), false).expect("a port");
        let address = local_address(&probe).expect("it is bound");
        let refused = TcpStream::connect(address).expect_err("nobody listens yet");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// Whoever mistyped the path of a socket lost the file that had the name.
    #[test]
    fn only_a_socket_is_replaced_by_a_socket() {
        let dir = std::env::temp_dir().join(format!("dolium-socket-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let listen = |path: &Path| listen_unix(path, Door::Redis, 0, 16);
        let file = dir.join("work");
        std::fs::write(&file, "precious").expect("a file");
        let refused = listen(&file).expect_err("it is no socket");
        assert!(refused.to_string().contains("left alone"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "precious");
        let link = dir.join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        listen(&link).expect_err("nor is a link");
        let path = dir.join("socket");
        let first = listen(&path).expect("a socket");
        let busy = listen(&path).expect_err("it answers");
        assert_eq!(busy.kind(), io::ErrorKind::AddrInUse);
        drop(first);
        listen(&path).expect("whoever had it is gone");
        std::fs::remove_dir_all(&dir).expect("the folder");
    }

    #[test]
    fn failures_name_the_option_that_was_given() {
        let say = |address: Address, flag, kind: io::ErrorKind| {
            DoorFailure { address, flag, error: kind.into() }.to_string()
        };
        let tcp = Address::Tcp("1.2.3.4:6379".parse().expect("an address"));
        let low = Address::Tcp("1.2.3.4:80".parse().expect("an address"));
        let unix = Address::Unix("/run/x.sock".into());
        for (text, told) in [
            (say(tcp.clone(), "--port", io::ErrorKind::AddrInUse), "--port 0"),
            (say(tcp.clone(), "-p", io::ErrorKind::AddrInUse), "none with -p 0"),
            (say(tcp.clone(), "-o http_port", io::ErrorKind::AddrInUse), "-o http_port=N, or none"),
            (say(tcp.clone(), "--port", io::ErrorKind::AddrNotAvailable), "(--bind)"),
            (say(tcp.clone(), "-p", io::ErrorKind::AddrNotAvailable), "1.2.3.4 is no address"),
            (say(tcp, "--port", io::ErrorKind::PermissionDenied), "(--port): permission denied"),
            (say(low, "-p", io::ErrorKind::PermissionDenied), "need root or CAP_NET_BIND_SERVICE;"),
            (say(unix.clone(), "--unixsocket", io::ErrorKind::AddrInUse), "--unixsocket PATH"),
            (say(unix, "-s", io::ErrorKind::NotFound), "cannot listen on /run/x.sock (-s): "),
        ] {
            assert!(text.contains(told), "{text}");
        }
    }

    #[test]
    fn connections_within_the_machine_are_not_paced() {
        let system = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
        let system = system.expect("the system's default");
        for (address, expected) in [("127.0.0.1:0", "reno"), ("0.0.0.0:0", system.trim())] {
            let listener =
                listen_tcp(address.parse().unwrap(), Door::Redis, 1, 16).expect("a port").remove(0);
            let Address::Tcp(address) = listener.address else { panic!("a TCP address") };
            let _client = TcpStream::connect(("127.0.0.1", address.port())).expect("a connection");
            let accepted = loop {
                match accept(&listener, 0) {
                    Err(rustix::io::Errno::AGAIN) => std::thread::yield_now(),
                    accepted => break accepted.expect("the connection"),
                }
            };
            let used = sockopt::tcp_congestion(&accepted.socket).expect("its algorithm");
            assert_eq!(used, expected, "a listener on {address}");
        }
    }

    #[test]
    fn an_address_where_somebody_listens_is_refused() {
        let first = listen_tcp("127.0.0.1:0".parse().unwrap(), Door::Redis, 2, 16).expect("a port");
        let Address::Tcp(address) = first[0].address else { panic!("a TCP address") };
        let refused = listen_tcp(address, Door::Redis, 2, 16).map(|_| ()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        drop(first);
        listen_tcp(address, Door::Redis, 2, 16).expect("it is free again");
    }
}
