//! What each kind of a crowd consists of, and one thing that it does.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};

use super::{ACTIVE, HALF_OPEN, IDLE, Kind, SLOW};

/// What slow readers ask for: so many times the value, in one pipeline.
const SLOW_GETS: usize = 64;
const SLOW_VALUE_BYTES: usize = 64 << 10;
const SLOW_READ_BYTES: usize = 1024;
const SLOW_RECEIVE_BUFFER: usize = 4096;
/// Of a value of a megabyte that never comes to its end.
const HALF_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) enum Act {
    Hold {
        _connections: Vec<TcpStream>,
    },
    Ask {
        connections: Vec<TcpStream>,
        at: usize,
    },
    Read {
        connections: Vec<TcpStream>,
        at: usize,
    },
    /// One that has been begun asks and is reset when next something is done: both together would
    /// take twice as long from who measures.
    Reset {
        address: SocketAddr,
        begun: Option<OwnedFd>,
    },
    Flood {
        socket: UdpSocket,
    },
}

/// What came of an act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Done,
    /// The other half of it is to be done as soon as there is time.
    Begun,
    /// It could not be done.
    Failed,
}

impl Act {
    pub fn gather(kind: Kind, address: SocketAddr, datagrams: SocketAddr) -> std::io::Result<Act> {
        Ok(match kind {
            Kind::Idle => Act::Hold { _connections: connect(address, IDLE)? },
            Kind::HalfOpen => Act::Hold { _connections: half_open(address)? },
            Kind::Active => {
                let connections = connect(address, ACTIVE)?;
                connections.iter().try_for_each(|one| one.set_nonblocking(true))?;
                Act::Ask { connections, at: 0 }
            }
            Kind::Slow => Act::Read { connections: slow(address)?, at: 0 },
            Kind::Resets => Act::Reset { address, begun: None },
            Kind::Datagrams => {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                socket.connect(datagrams)?;
                socket.set_nonblocking(true)?;
                Act::Flood { socket }
            }
        })
    }

    /// Nothing here waits.
    pub fn once(&mut self) -> Outcome {
        let mut some = [0; SLOW_READ_BYTES];
        let done = match self {
            Act::Hold { .. } => false,
            Act::Ask { connections, at } => {
                *at = (*at + 1) % connections.len();
                let connection = &mut connections[*at];
                // The last answer has had a tenth of a second to come.
                let _ = connection.read(&mut some);
                connection.write(b"get crowd:active\r\n").is_ok()
            }
            Act::Read { connections, at } => {
                *at = (*at + 1) % connections.len();
                connections[*at].read(&mut some).is_ok()
            }
            Act::Reset { address, begun } => match begun.take() {
                Some(socket) => ask_and_reset(socket).is_ok(),
                None => {
                    *begun = begin(address).ok();
                    if begun.is_some() {
                        return Outcome::Begun;
                    }
                    false
                }
            },
            Act::Flood { socket } => {
                let request = b"\x00\x07\x00\x00\x00\x01\x00\x00get crowd:datagram\r\n";
                socket.send(request).is_ok()
            }
        };
        if done { Outcome::Done } else { Outcome::Failed }
    }
}

fn begin(address: &SocketAddr) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, address) {
        // On loopback it stands by now, or the server has too many that wait.
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Asks twice, the second time for half of a request, and is gone before there is an answer.
fn ask_and_reset(socket: OwnedFd) -> rustix::io::Result<()> {
    let request = b"get crowd:reset\r\nset crowd:reset 0 0 100\r\n";
    let sent = rustix::net::send(&socket, request, SendFlags::NOSIGNAL);
    set_socket_linger(&socket, Some(Duration::ZERO))?;
    sent.map(|_| ())
}

/// Connections that end with a reset. Closed in order, ten thousand of them would wait in the kernel
/// for a minute (TIME_WAIT), and it would throw them all away in the middle of another window.
fn connect(address: SocketAddr, many: usize) -> std::io::Result<Vec<TcpStream>> {
    let one = || -> std::io::Result<TcpStream> {
        let connection = TcpStream::connect(address)?;
        set_socket_linger(&connection, Some(Duration::ZERO))?;
        Ok(connection)
    };
    (0..many).map(|_| one()).collect()
}

fn half_open(address: SocketAddr) -> std::io::Result<Vec<TcpStream>> {
    let mut large = b"set crowd:half 0 0 1000000\r\n".to_vec();
    large.resize(large.len() + HALF_BYTES, b'h');
    let parts: [&[u8]; 4] = [&large, b"get crowd:", &large, b"\x80\x01\x00\x05\x08"];
    let mut connections = connect(address, HALF_OPEN)?;
    for (number, connection) in connections.iter_mut().enumerate() {
        // Who waits for room in the server's buffers takes no more than the kernel's: no matter.
        connection.set_nonblocking(true)?;
        match connection.write(parts[number % parts.len()]) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
    Ok(connections)
}

fn slow(address: SocketAddr) -> std::io::Result<Vec<TcpStream>> {
    let mut first = TcpStream::connect(address)?;
    let mut set = format!("set crowd:slow 0 0 {SLOW_VALUE_BYTES}\r\n").into_bytes();
    set.resize(set.len() + SLOW_VALUE_BYTES, b's');
    set.extend_from_slice(b"\r\n");
    first.write_all(&set)?;
    let mut reply = [0; 8];
    first.read_exact(&mut reply)?;
    let mut connections = connect(address, SLOW)?;
    for connection in &mut connections {
        set_socket_recv_buffer_size(&*connection, SLOW_RECEIVE_BUFFER)?;
        connection.write_all(&b"get crowd:slow\r\n".repeat(SLOW_GETS))?;
        connection.set_nonblocking(true)?;
    }
    Ok(connections)
}
