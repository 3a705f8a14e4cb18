//! Clients that are hard on a Memcached server: many, slow, unfinished, reset, or a flood of
//! datagrams. What they do to the latency of others is measured in [`measure`].
//!
//! ```text
//!   idle        10,000 connections that say nothing
//!   active      1,000 connections that ask in turn, at most 10,000 times a second
//!   slow        100 connections that ask for 4 MB each and read at most 10 kB of it a second
//!   half-open   1,000 connections that have sent a part of a request, half of them of a large value
//!   resets      at most 1,000 connections a second that ask and are reset
//!   datagrams   at most 20,000 requests a second by UDP, whose replies nobody reads
//! ```
//! Each kind is spread evenly over time by a thread of its own, which gives way to the thread that
//! measures: what the crowd does is to burden the server, not who looks at it. Where one core has to do
//! for both, less than the most is done; what was done is counted.

pub mod measure;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{LabError, cpu};

pub const IDLE: usize = 10_000;
pub const ACTIVE: usize = 1_000;
pub const SLOW: usize = 100;
pub const HALF_OPEN: usize = 1_000;
/// In each step of [`STEP`].
const ASKED_A_STEP: usize = 10;
const RESETS_A_STEP: usize = 1;
const DATAGRAMS_A_STEP: usize = 20;
const STEP: Duration = Duration::from_millis(1);
/// What slow readers ask for: so many times the value, in one pipeline.
const SLOW_GETS: usize = 64;
pub const SLOW_VALUE_BYTES: usize = 64 << 10;
/// What one of them reads each time its turn has come, once in [`SLOW`] steps.
const SLOW_READ_BYTES: usize = 1024;
const SLOW_RECEIVE_BUFFER: usize = 4096;
/// Of a value of a megabyte that never comes to its end.
const HALF_BYTES: usize = 64 << 10;
/// Descriptors that this process takes beside the crowd's.
const DESCRIPTORS_BESIDES: u64 = 2048;
/// How far the crowd's threads stand back.
const NICENESS: i32 = 15;

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Idle,
    Active,
    Slow,
    HalfOpen,
    Resets,
    Datagrams,
}

pub const KINDS: [Kind; 6] =
    [Kind::Idle, Kind::Active, Kind::Slow, Kind::HalfOpen, Kind::Resets, Kind::Datagrams];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Active => "active",
            Self::Slow => "slow",
            Self::HalfOpen => "half-open",
            Self::Resets => "resets",
            Self::Datagrams => "datagrams",
        }
    }
}

/// Lets this process, and servers that it starts, have as many connections as a crowd takes.
pub fn raise_descriptors() -> Result<(), LabError> {
    let wanted = (IDLE + ACTIVE + SLOW + HALF_OPEN) as u64 + DESCRIPTORS_BESIDES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|now| now >= wanted) {
        return Ok(());
    }
    let maximum = limit.maximum.map(|most| most.max(wanted));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
        .map_err(|error| LabError::system("allow as many descriptors as a crowd takes", error))
}

/// One kind of client, until it is dropped.
pub struct Crowd {
    stop: Arc<AtomicBool>,
    /// Requests, connections or datagrams so far.
    acts: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    /// Gathers the connections and begins; `cores` is where its thread runs.
    pub fn gather(
        kind: Kind,
        address: SocketAddr,
        datagrams: SocketAddr,
        cores: Vec<usize>,
    ) -> Result<Crowd, LabError> {
        let failed = |error| LabError::system(format!("gather the {} crowd", kind.name()), error);
        let mut act = match kind {
            Kind::Idle => Act::Hold { _connections: connect(address, IDLE).map_err(failed)? },
            Kind::HalfOpen => Act::Hold { _connections: half_open(address).map_err(failed)? },
            Kind::Active => {
                let connections = connect(address, ACTIVE).map_err(failed)?;
                connections.iter().try_for_each(|one| one.set_nonblocking(true)).map_err(failed)?;
                Act::Ask { connections, at: 0 }
            }
            Kind::Slow => Act::Read { connections: slow(address).map_err(failed)?, at: 0 },
            Kind::Resets => Act::Reset { address },
            Kind::Datagrams => {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
                socket.connect(datagrams).map_err(failed)?;
                Act::Flood { socket }
            }
        };
        let (stop, acts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (stop.clone(), acts.clone());
        let thread = std::thread::spawn(move || {
            // Where this is not allowed the figures say that the generator was late.
            let _ = cpu::pin(&cores);
            stand_back();
            let mut due = Instant::now();
            while !stopped.load(Relaxed) {
                counted.fetch_add(act.step(), Relaxed);
                due += STEP;
                // What could not be done in time is not made up for: that would come in bursts.
                due = due.max(Instant::now());
                std::thread::sleep(due - Instant::now());
            }
        });
        Ok(Crowd { stop, acts, thread: Some(thread) })
    }

    pub fn acts(&self) -> u64 {
        self.acts.load(Relaxed)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A crowd that failed has said so by a panic's message.
            let _ = thread.join();
        }
    }
}

/// Lets this thread run only where its core has nothing else to do. A thread that is merely nice
/// runs on for a millisecond when the one that measures is due.
fn stand_back() {
    let _ = rustix::process::setpriority_process(None, NICENESS);
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let mut command = Command::new("chrt");
    command.args(["--idle", "--pid", "0", &thread]).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.status();
}

fn connect(address: SocketAddr, many: usize) -> std::io::Result<Vec<TcpStream>> {
    (0..many).map(|_| TcpStream::connect(address)).collect()
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

/// What a kind does in each step.
enum Act {
    Hold { _connections: Vec<TcpStream> },
    Ask { connections: Vec<TcpStream>, at: usize },
    Read { connections: Vec<TcpStream>, at: usize },
    Reset { address: SocketAddr },
    Flood { socket: UdpSocket },
}

impl Act {
    /// How many acts that was.
    fn step(&mut self) -> u64 {
        let mut some = [0; SLOW_READ_BYTES];
        match self {
            Act::Hold { .. } => 0,
            Act::Ask { connections, at } => {
                for _ in 0..ASKED_A_STEP {
                    *at = (*at + 1) % connections.len();
                    let connection = &mut connections[*at];
                    // The last answer has had a tenth of a second to come.
                    let _ = connection.read(&mut some);
                    let _ = connection.write(b"get crowd:active\r\n");
                }
                ASKED_A_STEP as u64
            }
            Act::Read { connections, at } => {
                *at = (*at + 1) % connections.len();
                u64::from(connections[*at].read(&mut some).is_ok())
            }
            Act::Reset { address } => {
                let begun = (0..RESETS_A_STEP).filter_map(|_| TcpStream::connect(*address).ok());
                begun
                    .map(|mut connection| {
                        let _ = connection.write(b"get crowd:reset\r\nset crowd:reset 0 0 100\r\n");
                        let _ = set_socket_linger(&connection, Some(Duration::ZERO));
                    })
                    .count() as u64
            }
            Act::Flood { socket } => {
                let request = b"\x00\x07\x00\x00\x00\x01\x00\x00get crowd:datagram\r\n";
                (0..DATAGRAMS_A_STEP).filter(|_| socket.send(request).is_ok()).count() as u64
            }
        }
    }
}
