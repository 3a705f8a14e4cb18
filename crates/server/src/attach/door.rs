//! The attach socket: who comes, may they, and what they are handed.
//!
//! Whoever may connect to the socket may attach, and to attach is to read everything. The socket's
//! mode says who that is: the server's own user, unless `attach-socket-perm` says more.

use super::port::Port;
use crate::limits::{ATTACH_HELLO_WAIT_MS, ATTACH_STOP_LOOK_MS, ATTACHED_MAX};
use crate::listener::{self, Address, Door, Listener};
use crate::mailbox::Mail;
use crate::server::Server;
use crate::transport::Transport;
use dolium_engine::ring::RingMemory;
use dolium_engine::ring::hello::{self, HELLO_BYTES, Refusal, Welcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, sockopt,
};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The attach socket, open.
pub struct AttachDoor {
    listener: Listener,
    path: PathBuf,
    mode: u32,
    attached: Arc<AtomicUsize>,
    /// Thread that the next client goes to.
    next: usize,
}

impl AttachDoor {
    /// Opens the socket that `attach-socket` names. `None`: nowhere, or the place that `auto`
    /// means is taken by another server, which is no reason not to serve.
    pub fn open(directive: &str, mode: u32) -> Result<Option<AttachDoor>, (PathBuf, io::Error)> {
        let is_auto = directive == "auto";
        let path = match directive {
            "" => return Ok(None),
            "auto" => {
                let folder = std::env::var_os("XDG_RUNTIME_DIR");
                hello::default_path(folder.as_deref(), rustix::process::geteuid().as_raw())
            }
            named => PathBuf::from(named),
        };
        match listener::listen_unix(&path, Door::Redis, mode, ATTACHED_MAX as i32) {
            Ok(listener) => {
                let attached = Arc::default();
                Ok(Some(AttachDoor { listener, path, mode, attached, next: 0 }))
            }
            Err(error) if is_auto => {
                tracing::warn!(
                    path = %path.display(), %error,
                    "local processes cannot attach; name another place with --attach-socket PATH"
                );
                Ok(None)
            }
            Err(error) => Err((path, error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn address(&self) -> &Address {
        &self.listener.address
    }

    /// Lets clients in until the server stops.
    pub fn run(mut self, server: &Server) {
        let look = Timespec { tv_sec: 0, tv_nsec: ATTACH_STOP_LOOK_MS * 1_000_000 };
        let mut is_short = false;
        while !server.is_stopping() {
            let mut fds = [PollFd::new(&self.listener.socket, PollFlags::IN)];
            if poll(&mut fds, Some(&look)) != Ok(1) {
                continue;
            }
            match rustix::net::accept_with(&self.listener.socket, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    is_short = false;
                    self.admit(server, socket);
                }
                // Who knocked has gone again.
                Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => {}
                // No descriptor or no memory is left. Who knocked stands there still, so the next
                // poll would come back at once, and this thread would take a core to itself.
                Err(error) => {
                    if !is_short {
                        tracing::warn!(%error, "nobody can attach for a moment");
                    }
                    is_short = true;
                    std::thread::sleep(Duration::from_nanos(look.tv_nsec as u64));
                }
            }
        }
    }

    fn admit(&mut self, server: &Server, socket: OwnedFd) {
        if let Err(error) = self.introduce(server, socket) {
            tracing::debug!(%error, "a client that wanted to attach went away again");
        }
    }

    fn introduce(&mut self, server: &Server, socket: OwnedFd) -> io::Result<()> {
        let wait = Duration::from_millis(ATTACH_HELLO_WAIT_MS);
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(wait))?;
        let bytes = hear_hello(&socket, wait)?;
        let Some(hello) = hello::check_hello(&bytes) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a hello"));
        };
        let peer = sockopt::socket_peercred(&socket)?;
        let most = server.config.live.maxclients.load(Relaxed);
        let refusal = if let Err(why) = hello {
            Some(why)
        } else if !self.may_attach(peer.uid) {
            Some(Refusal::Permission)
        } else if self.attached.load(Relaxed) >= ATTACHED_MAX || !server.clients.admit(most) {
            Some(Refusal::TooMany)
        } else {
            None
        };
        if let Some(why) = refusal {
            tracing::warn!(pid = peer.pid.as_raw_pid(), %why, "a client may not attach");
            return say(&socket, Welcome::Refused(why), &[]);
        }
        let handed = RingMemory::create()
            .and_then(|(memory, ring)| Ok((memory, ring, server.engine.attach_fd()?)));
        let (memory, ring, arena) = match handed {
            Ok(handed) => handed,
            Err(error) => {
                server.clients.dismiss();
                tracing::warn!(%error, "a ring for a client cannot be made");
                return say(&socket, Welcome::Refused(Refusal::NoMemory), &[]);
            }
        };
        // Before the client knows of the ring: from its first request on it finds it listened to.
        let welcome = Welcome::Come { server_pid: u64::from(std::process::id()) };
        let sent = rustix::io::dup(&socket).map_err(io::Error::from).and_then(|own| {
            let port = Port::new(own, memory, self.attached.clone());
            say(&socket, welcome, &[arena.as_fd(), ring.as_fd()])?;
            Ok(port)
        });
        let port = match sent {
            Ok(port) => port,
            Err(error) => {
                server.clients.dismiss();
                return Err(error);
            }
        };
        let addr = format!("attached:{}", peer.pid.as_raw_pid());
        let laddr = format!("{}:0", self.path.display());
        self.next = (self.next + 1) % server.posts.len();
        let transport = Transport::Ring(Box::new(port));
        server.posts[self.next].post(Mail::Adopt { transport, door: Door::Redis, addr, laddr });
        Ok(())
    }

    /// The socket's mode has let them in, or they slipped in before it was set.
    fn may_attach(&self, user: rustix::process::Uid) -> bool {
        user.is_root() || user == rustix::process::geteuid() || self.mode & 0o066 != 0
    }
}

/// Takes in a hello, for which all of its bytes have `wait` together: were it for each of them, one
/// client that sends them singly would keep all others before the door for seconds.
fn hear_hello(socket: &OwnedFd, wait: Duration) -> io::Result<[u8; HELLO_BYTES]> {
    let deadline = Instant::now() + wait;
    let mut bytes = [0; HELLO_BYTES];
    let mut filled = 0;
    while filled < HELLO_BYTES {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, Some(left))?;
        match rustix::net::recv(socket, &mut bytes[filled..], RecvFlags::empty()) {
            Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((n, _)) => filled += n,
            // Out of time, or about to be: the deadline says which.
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

fn say(socket: &OwnedFd, welcome: Welcome, fds: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = welcome.encode();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("no room for the descriptors"));
    }
    let iov = [IoSlice::new(&bytes)];
    let sent = rustix::net::sendmsg(socket, &iov, &mut control, SendFlags::NOSIGNAL)?;
    if sent < bytes.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType, socketpair};

    /// Each byte had the whole time for itself, and meanwhile nobody else came in.
    #[test]
    fn a_hello_in_single_bytes_has_no_more_time_than_one_in_a_piece() {
        let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
        let (ours, theirs) = socketpair(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        let wait = Duration::from_millis(100);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for byte in hello::hello() {
                    std::thread::sleep(wait / 4);
                    if rustix::net::send(&theirs, &[byte], SendFlags::NOSIGNAL).is_err() {
                        break;
                    }
                }
            });
            let heard = hear_hello(&ours, wait);
            assert_eq!(heard.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
        let (ours, theirs) = socketpair(family, kind, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::send(&theirs, &hello::hello(), SendFlags::NOSIGNAL).unwrap();
        assert_eq!(hear_hello(&ours, Duration::from_secs(20)).unwrap(), hello::hello());
    }
}
