//! A store's way to its server: commands, how long they may take, and whether the server is there.

use crate::channel::{Channel, is_running};
use crate::error::Error;
use crate::store::Store;
use dolium_protocol::resp::Value;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub struct Link {
    channel: Mutex<Channel>,
    /// The channel's, beside its lock: whether the server is there must not be asked behind a command that
    /// waits for it.
    socket: Arc<UnixStream>,
    server_pid: u64,
    /// The process that attached. Beside the lock as well: another thread of the parent may have held it
    /// at the fork, and then nobody in the child ever gives it back.
    own_pid: u32,
}

impl Link {
    pub fn new(socket: UnixStream, ring: OwnedFd, server_pid: u64) -> Result<Link, Error> {
        let socket = Arc::new(socket);
        let channel = Mutex::new(Channel::new(socket.clone(), ring, server_pid)?);
        Ok(Link { channel, socket, server_pid, own_pid: std::process::id() })
    }
}

impl Store {
    /// Has the server execute a command: any one that answers once. A WATCH or MULTI is of the
    /// attached process, not of a thread or clone: while it is open, handles of other databases are
    /// refused, and a read that would have to ask the server fails as [`Error::Contended`].
    ///
    /// It runs in the database of this handle. Another one is chosen by [`Store::db`]; SELECT is refused as
    /// [`Error::Selects`], except within MULTI, where it is of the commands up to EXEC.
    ///
    /// It waits for the reply however long that takes: of a server that is stopped (SIGSTOP, a
    /// debugger, a frozen container) for ever, unless there is a [time limit](Store::with_time_limit).
    pub fn execute(&self, args: &[&[u8]]) -> Result<Value, Error> {
        self.channel()?.execute(self.number(), args, self.time_limit())
    }

    /// Is the connection to the server there? One system call.
    ///
    /// If not, the server has ended and reads go on in what it left; or it goes on, and has closed the
    /// connection of this process: attach again to find out which. A server that is stopped for a while
    /// is there. Reads never ask.
    pub fn is_served(&self) -> bool {
        let Some(link) = self.link() else { return false };
        let mut fds = [PollFd::new(&*link.socket, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let has_end = poll(&mut fds, Some(&now)) == Ok(1) && fds[0].revents().intersects(ends);
        !has_end
    }

    /// Does the server's process go on? For who finds that [it is not served](Store::is_served), as far as
    /// can be seen from here: of a server in a container it is a guess. It may take a fifth of a second.
    pub fn is_server_running(&self) -> bool {
        self.server_pid().is_some_and(is_running)
    }

    /// The server's process, if this store was attached through one.
    pub fn server_pid(&self) -> Option<u64> {
        self.link().map(|link| link.server_pid)
    }

    /// The ring, for a moment of its own.
    pub(crate) fn channel(&self) -> Result<MutexGuard<'_, Channel>, Error> {
        let link = self.link().ok_or(Error::NoServer)?;
        if std::process::id() != link.own_pid {
            return Err(Error::Forked);
        }
        Ok(link.channel.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
