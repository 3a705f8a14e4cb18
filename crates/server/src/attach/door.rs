//! The attach socket: who comes, may they, and what they are handed.
//!
//! Whoever may connect to the socket may attach, and to attach is to read everything. The socket's
//! mode says who that is: the server's own user, unless `attach-socket-perm` says more.
//!
//! Who has connected says hello first. Many are heard at once (`knocker`): one that connects and
//! says nothing holds nobody up.

use super::knocker::{Heard, Knocker};
use super::port::Port;
use crate::limits::{ATTACH_STOP_LOOK_MS, ATTACHED_MAX, DESCRIPTORS_RESERVED};
use crate::listener::{self, Address, Door, Listener};
use crate::mailbox::Mail;
use crate::server::Server;
use crate::transport::Transport;
use dolium_engine::ring::RingMemory;
use dolium_engine::ring::hello::{self, HELLO_BYTES, Refusal, Welcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, sockopt};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How many are heard at once: half of the descriptors that are reserved for other things than clients.
/// Who comes when so many are silent waits until one of them has had its time.
const KNOCKERS_MAX: usize = (DESCRIPTORS_RESERVED / 2) as usize;

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
                    "local processes cannot attach; name another place with --attach-socket PATH (of \
                     dolium memcached: another folder by XDG_RUNTIME_DIR)"
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
        let mut knockers: Vec<Knocker> = Vec::new();
        let mut is_short = false;
        while !server.is_stopping() {
            let mut fds: Vec<PollFd<'_>> =
                knockers.iter().map(|one| PollFd::new(one.socket(), PollFlags::IN)).collect();
            if knockers.len() < KNOCKERS_MAX {
                fds.push(PollFd::new(&self.listener.socket, PollFlags::IN));
            }
            let wait = until_next_look(&knockers);
            // Interrupted: nobody is ready, and the next look is soon.
            let _ = poll(&mut fds, Some(&wait));
            let is_ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let somebody_knocks = is_ready.get(knockers.len()).is_some_and(|ready| *ready);
            self.hear(server, &mut knockers, &is_ready);
            if !somebody_knocks {
                continue;
            }
            match rustix::net::accept_with(&self.listener.socket, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    is_short = false;
                    knockers.push(Knocker::new(socket));
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
                    std::thread::sleep(Duration::from_millis(ATTACH_STOP_LOOK_MS as u64));
                }
            }
        }
    }

    /// Hears those that have said something, and sends away those that have had their time.
    fn hear(&mut self, server: &Server, knockers: &mut Vec<Knocker>, is_ready: &[bool]) {
        let mut still = Vec::with_capacity(knockers.len() + 1);
        for (mut one, is_ready) in knockers.drain(..).zip(is_ready) {
            match if *is_ready { one.hear() } else { one.wait() } {
                Heard::NotYet => still.push(one),
                Heard::Hello(bytes) => self.admit(server, one.into_socket(), &bytes),
                Heard::Nothing(error) => went_away(&error),
            }
        }
        *knockers = still;
    }

    fn admit(&mut self, server: &Server, socket: OwnedFd, hello: &[u8; HELLO_BYTES]) {
        if let Err(error) = self.introduce(server, socket, hello) {
            went_away(&error);
        }
    }

    fn introduce(
        &mut self,
        server: &Server,
        socket: OwnedFd,
        bytes: &[u8; HELLO_BYTES],
    ) -> io::Result<()> {
        let Some(hello) = hello::check_hello(bytes) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a hello"));
        };
        let peer = sockopt::socket_peercred(&socket)?;
        let most = server.config.live.maxclients.load(Relaxed);
        let refusal = if let Err(why) = hello {
            Some(why)
        } else if !self.may_attach(peer.uid) {
            Some(Refusal::Permission)
        } else if self.attached.load(Relaxed) >= ATTACHED_MAX {
            Some(Refusal::TooManyAttached)
        } else if !server.clients.admit(most) {
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
            let port = Port::new(own, memory, peer.pid.as_raw_pid(), self.attached.clone());
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

/// How long to wait for somebody to speak: until the first has had its time, or until it is to be
/// seen whether the server stops.
fn until_next_look(knockers: &[Knocker]) -> Timespec {
    let now = Instant::now();
    let ends = knockers.iter().map(|one| one.until().saturating_duration_since(now));
    let wait = ends.fold(Duration::from_millis(ATTACH_STOP_LOOK_MS as u64), Duration::min);
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
}

fn went_away(error: &io::Error) {
    tracing::debug!(%error, "a client that wanted to attach went away again");
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

    /// The engine has the sentence, and the server the number.
    #[test]
    fn the_refusal_names_the_limit() {
        let said = Refusal::TooManyAttached.to_string();
        assert!(said.starts_with(&format!("{ATTACHED_MAX} processes")), "{said}");
    }
}
