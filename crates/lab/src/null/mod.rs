//! Servers that parse nothing: the kernel's floor for the CPU time of a request.
//!
//! They count requests by their line feeds (or by their length) and answer a constant to each.
//! Whatever a real server costs above them is its own work; whatever they cost is the kernel's.

mod busy;
mod epoll;
mod uring;

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::LabError;
use crate::generator::Target;
use crate::limits::NULL_BUFFER_BYTES;
use crate::workload::{Operation, Protocol, expected, wire};

/// How requests are told apart without being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// So many line feeds make a request.
    Newlines(usize),
    /// So many bytes make a request.
    Bytes(usize),
}

/// How the server waits for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Epoll,
    Uring,
}

/// A null server's whole knowledge.
#[derive(Clone, Debug)]
pub struct NullSpec {
    pub engine: Engine,
    pub counting: Counting,
    pub reply: Vec<u8>,
    /// Nanoseconds for which it is busy with each request, for want of work of its own (epoll
    /// only).
    pub busy_ns: f64,
}

impl NullSpec {
    /// A server that satisfies requests for one operation.
    pub fn answering(
        engine: Engine,
        protocol: Protocol,
        operation: Operation,
        key_bytes: usize,
        value_bytes: usize,
    ) -> Result<Self, LabError> {
        let asking = wire::Asking { protocol, id: 0, key_bytes, value_bytes, ttl: 0 };
        let (Some(lines), true) =
            (wire::newlines(protocol, operation), protocol.has_fixed_replies())
        else {
            let name = protocol.name();
            return Err(LabError::Options(format!("there is no null server for {name}")));
        };
        let reply = expected::good_reply(operation, asking);
        Ok(Self { engine, counting: Counting::Newlines(lines), reply, busy_ns: 0.0 })
    }
}

/// Serves at `target` until the process ends.
pub fn serve(spec: &NullSpec, target: &Target) -> Result<(), LabError> {
    if spec.reply.is_empty() {
        return Err(LabError::Options("a null server needs a reply to send".into()));
    }
    let listener = Listener::bind(target)?;
    match spec.engine {
        Engine::Epoll => epoll::serve(spec, &listener),
        Engine::Uring => uring::serve(spec, &listener),
    }
}

/// A listening socket of either family.
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn bind(target: &Target) -> Result<Self, LabError> {
        let failed = |error| LabError::system(format!("listen at {target}"), error);
        match target {
            Target::Tls(..) => Err(LabError::NoTls { program: "a null server".into() }),
            Target::Tcp(address) => Ok(Self::Tcp(TcpListener::bind(address).map_err(failed)?)),
            Target::Unix(path) => {
                remove_stale(path).map_err(failed)?;
                Ok(Self::Unix(UnixListener::bind(path).map_err(failed)?))
            }
        }
    }

    fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
        }
    }
}

fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Counts requests across the pieces in which they arrive on one connection.
#[derive(Clone, Copy, Default)]
struct Tail(usize);

impl Tail {
    /// How many requests end within `bytes`.
    #[inline]
    fn requests(&mut self, bytes: &[u8], counting: Counting) -> usize {
        let (units, per_request) = match counting {
            Counting::Newlines(n) => (memchr::memchr_iter(b'\n', bytes).count(), n),
            Counting::Bytes(n) => (bytes.len(), n),
        };
        let units = self.0 + units;
        self.0 = units % per_request;
        units / per_request
    }
}

/// A run of equal replies, of which any number up to its whole is sent from one place.
struct Replies {
    bytes: Vec<u8>,
    len: usize,
}

impl Replies {
    /// Enough replies for as many requests as one full input buffer may hold.
    fn new(spec: &NullSpec) -> Self {
        let shortest = match spec.counting {
            Counting::Newlines(n) | Counting::Bytes(n) => n.max(1),
        };
        // No request that the generator sends has fewer than 8 bytes.
        let most = NULL_BUFFER_BYTES / shortest.max(8) + 1;
        Self { bytes: spec.reply.repeat(most), len: spec.reply.len() }
    }

    /// Bytes of `count` replies, at most as many as are held; and how many that is.
    fn take(&self, count: usize) -> (&[u8], usize) {
        let count = count.min(self.bytes.len() / self.len);
        (&self.bytes[..count * self.len], count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_whatever_the_cuts() {
        let mut request = Vec::new();
        let asking = wire::Asking {
            protocol: Protocol::Resp,
            id: 1,
            key_bytes: 16,
            value_bytes: 100,
            ttl: 0,
        };
        wire::push_request(&mut request, Operation::Set, asking);
        let stream = request.repeat(37);
        for counting in [Counting::Newlines(7), Counting::Bytes(request.len())] {
            for piece in [1, 2, 13, 150, 4096] {
                let mut tail = Tail::default();
                let seen: usize =
                    stream.chunks(piece).map(|bytes| tail.requests(bytes, counting)).sum();
                assert_eq!((seen, tail.0), (37, 0), "{counting:?} in pieces of {piece}");
            }
        }
    }
}
